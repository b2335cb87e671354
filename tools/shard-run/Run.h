//===- Run.h - The run of shard-run -----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_RUN_H
#define WEFT_TOOLS_SHARD_RUN_RUN_H

#include "Arguments.h"

namespace weft::tools {

/// Does what the command line says; returns the exit code. Messages go to
/// standard error.
int run(const Arguments &arguments);

/// The exit code after `code`: a failure when standard output lost something.
/// Ends the process at once when the run has failed.
int finish(int code);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_RUN_H
