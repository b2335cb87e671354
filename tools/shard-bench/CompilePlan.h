//===- CompilePlan.h - Plans that are timed ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_COMPILEPLAN_H
#define WEFT_TOOLS_SHARD_BENCH_COMPILEPLAN_H

#include "weft/runtime/Plan.h"

#include <string>

namespace weft::tools {

/// The plan of a graph, for "cpu" or "cuda:<processor>".
runtime::Result<runtime::Plan> compilePlan(const std::string &text,
                                           const std::string &target);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_COMPILEPLAN_H
