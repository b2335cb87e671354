//===- SharedDimensions.h - Dimensions that are split together --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where nobody has annotated anything: which dimensions of the arguments of a
// step an axis splits together. One dimension is annotated, and propagation
// says what the axis reaches.
//
// Example, tanh(x @ up) @ down:
//   {x: 0}, {x: 1, up: 0}, {up: 1, down: 0}, {down: 1}
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SEARCH_SHAREDDIMENSIONS_H
#define WEFT_SEARCH_SHAREDDIMENSIONS_H

#include "weft/Sharding/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <set>

namespace weft {

/// An argument of the step.
struct StepArgument {
  std::string name;
  sharding::Shape shape;
  int64_t bytes = 0;
  /// A result takes its place; a gradient is taken by it.
  bool isState = false, isParameter = false;
};

/// The entry that updates states, or the first one.
mlir::func::FuncOp findStep(mlir::ModuleOp module);

/// Of a graph before gradients are taken.
std::vector<StepArgument> readArguments(mlir::func::FuncOp step);

struct SharedDimension {
  /// Numbers of arguments, and of a dimension of each.
  std::set<std::pair<unsigned, unsigned>> members;
  /// The greatest common divisor of their sizes.
  int64_t size = 0;
  /// Of the arguments that have it.
  int64_t bytes = 0;
  /// An argument has it that is no state.
  bool isBatch = false;

  /// The dimension of an argument.
  std::optional<unsigned> of(unsigned argument) const;
  /// Whether an argument has both.
  bool conflictsWith(const SharedDimension &other) const;
};

/// All of a graph (form 1) in which gradients are resolved, those of the most
/// bytes first. Layers that are alike, `blocks[0].w` and `blocks[1].w`, are
/// taken to share theirs alike.
std::vector<SharedDimension>
findSharedDimensions(mlir::ModuleOp graph,
                     llvm::ArrayRef<StepArgument> arguments);

} // namespace weft

#endif // WEFT_SEARCH_SHAREDDIMENSIONS_H
