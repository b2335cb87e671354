//===- OutputFile.h - Where a result goes -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results replace regular files, whole or not at all, and are written to
// devices and pipes.

#ifndef WEFT_TOOLS_SHARDCOMPILE_OUTPUTFILE_H
#define WEFT_TOOLS_SHARDCOMPILE_OUTPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace weft {

/// The file to write for `-o <path>`: `path`, symbolic links followed. An error
/// if that is a folder or the input itself. "-" is the standard output and
/// input.
llvm::Expected<std::string> resolveOutput(llvm::StringRef path,
                                          llvm::StringRef input);

/// Writes a whole regular file, or leaves the one that exists; writes to what
/// is no regular file as it is. "-" is the standard output.
llvm::Error writeOutput(llvm::StringRef path, llvm::StringRef text);

/// Whether all that was printed on the standard output has arrived.
llvm::Error flushStandardOutput();

} // namespace weft

#endif // WEFT_TOOLS_SHARDCOMPILE_OUTPUTFILE_H
