//===- CheckCount.h - Numbers that say how many -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_SIM_CHECKCOUNT_H
#define WEFT_TOOLS_SHARD_SIM_CHECKCOUNT_H

#include <string>

namespace weft::tools {

/// What is wrong with an argument that says how many; empty if nothing.
std::string checkCount(const std::string &text);

/// The same of one that may be 0 or a fraction.
std::string checkAmount(const std::string &text);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_SIM_CHECKCOUNT_H
