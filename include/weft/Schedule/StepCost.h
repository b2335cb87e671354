//===- StepCost.h - Work of one step of a schedule --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How much an op of form 3 or 4 computes, moves and sends on one rank. The
// scheduler compares times with it, and the plan carries the numbers for tools.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_STEPCOST_H
#define WEFT_SCHEDULE_STEPCOST_H

#include "weft/Cost/CostModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <map>
#include <string>

namespace weft {

/// Floating-point operations. A launch does those of its kernel.
int64_t countFlops(mlir::Operation *op);
/// How often a kernel calls functions that take longer than an operation, by
/// the name that the cost model has for them: {"exp", 65536}.
std::map<std::string, int64_t> countFunctions(mlir::func::FuncOp kernel);
/// Bytes that an op reads and writes: of all operands and results, but of a
/// table those that are looked up.
int64_t countBytes(mlir::Operation *op);

/// Time on a cluster: of a start that of its collective, of a wait none.
double estimateSeconds(mlir::Operation *op, const cost::CostModel &model);

} // namespace weft

#endif // WEFT_SCHEDULE_STEPCOST_H
