//===- OutputFiles.h - Where written files end up ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime writes a file under another name in the same folder, and renames
// it when it is complete. What a tool needs to know of that.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_OUTPUTFILES_H
#define WEFT_RUNTIME_OUTPUTFILES_H

#include <string>

namespace weft::runtime {

/// The file that is written when `path` is: what it links to in the end,
/// whether that exists or not.
std::string behindLinks(const std::string &path);

/// From now on SIGHUP, SIGINT and SIGTERM, unless they are ignored, remove what
/// is not complete before they end the process. For the `main` of a tool.
void removeUnfinishedFilesOnSignals();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_OUTPUTFILES_H
