//===- Segments.h - Entries that roles execute together ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With a pipeline an entry of forms 3 and 4 is a declaration with a timeline,
// and a function for each segment. Whatever a segment takes from others or
// leaves for them is a state of its role, by name:
//
//   func.func private @step(tensor<8x4xf32> {weft.name = "w"}, ...) -> (...)
//       attributes {weft.timeline = #weft.timeline<...>}
//   func.func @step.0F(%w: tensor<8x4xf32> {weft.name = "w"}, ...)
//       -> (tensor<2x4xf32> {weft.name = "0F:0", weft.slots = 2 : i64})
//       attributes {weft.segment = #weft.segment<...>}
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_SEGMENTS_H
#define WEFT_IR_SEGMENTS_H

#include "weft/IR/WeftAttrs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace weft {

/// On the argument of a segment that is the number of the micro-batch: a state
/// whose slot i holds i.
inline constexpr llvm::StringLiteral kCountsAttrName = "weft.counts";

/// Null for a function that is no segment.
SegmentAttr getSegment(mlir::func::FuncOp function);
/// -1 for a function that all ranks execute.
int64_t roleOf(mlir::func::FuncOp function);
/// Whether a function is a segment that gathers the parameters of a stage, or
/// reduces its gradients, beside what its role does behind it.
bool canBeDeferred(mlir::func::FuncOp function);
/// Whether a function is a segment of each micro-batch.
bool isOfMicrobatch(mlir::func::FuncOp function);
/// Null for a function that roles do not execute together.
TimelineAttr getTimeline(mlir::func::FuncOp function);

/// Of how many micro-batches a state of a segment holds the values, from the
/// attributes of an argument or result.
int64_t slotsOf(mlir::DictionaryAttr attrs);

/// The line of the model of what a segment leaves in a state, or else of the
/// first op of the segment that has one; empty if none has.
std::string lineOf(mlir::func::FuncOp segment, llvm::StringRef state = "");

/// The entries with a timeline, in their order.
llvm::SmallVector<mlir::func::FuncOp> findTimelines(mlir::ModuleOp module);

} // namespace weft

#endif // WEFT_IR_SEGMENTS_H
