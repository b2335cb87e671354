//===- Printable.h - Text on one line of a terminal -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_PRINTABLE_H
#define WEFT_TOOLS_SHARD_RUN_PRINTABLE_H

#include <string>
#include <string_view>

namespace weft::tools {

/// The text with control characters as \xNN: names come from files, and must
/// neither end a line nor steer a terminal.
std::string printable(std::string_view text);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_PRINTABLE_H
