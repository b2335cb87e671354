//===- Files.h - Files and messages -----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Input files and messages of the tool.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_SIM_FILES_H
#define WEFT_TOOLS_SHARD_SIM_FILES_H

#include "Command.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::tools {

/// All of a file, or of the standard input for "-"; none after a message that
/// it cannot be read.
std::optional<std::string> readFile(const std::string &path);

/// Replaces the file; fails after a message.
int writeFile(const std::string &path, const std::string &text);

/// `shard-sim: error: ...` for each; returns the code.
int report(ExitCode code, const std::vector<std::string> &messages);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_SIM_FILES_H
