//===- BackwardDelay.h - What goes back from region to region ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The derivative of an activation needs nothing but a cotangent and the result,
// which the region that made it has, and the one that uses it. In the first of
// them one cotangent goes back, of the type of what went forward, and gradients
// are made where their parameters are:
//
//   y1 = tanh(x1 w1)        region 1
//   x2 = y1 w2              region 2
//   c1 = c2 w2'             region 2
//   d1 = c1 (1 - y1 y1)     region 1 or 2
//   g1 = x1' d1             region 1, or 2 if all regions have x1
//
// An op of the way back moves to the region before if nothing keeps it where it
// is (a parameter of the region, what only that has made, an op that takes its
// result and stays) and one value goes back then.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PIPELINING_BACKWARDDELAY_H
#define WEFT_LIB_PIPELINING_BACKWARDDELAY_H

#include "LoopRegions.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace weft {

class BackwardDelay {
public:
  BackwardDelay(LoopRegions &loop, mlir::func::FuncOp entry);
  void run();

private:
  bool isBack(mlir::Operation *op) const {
    return loop.regions.contains(op) && !loop.forward.contains(op);
  }
  int64_t firstRegionWith(mlir::Value value);
  int64_t firstRegionForRecomputed(mlir::Value value);
  int64_t regionOfGradient(mlir::Operation *op) const;
  void findMade();
  void findLeast();
  bool isBelow(mlir::Operation *user, int64_t cut) const;
  int64_t countBelow(mlir::Operation *op, int64_t cut) const;
  void delay(int64_t cut);
  void placeOfForward();

  LoopRegions &loop;
  llvm::StringMap<mlir::BlockArgument> arguments;
  /// What is computed from no argument.
  llvm::DenseSet<mlir::Operation *> constants;
  std::vector<llvm::DenseSet<mlir::Type>> types;
  /// The way back, in order; by region.
  llvm::SmallVector<mlir::Operation *> ops;
  std::vector<llvm::SmallVector<mlir::Operation *>> opsOf;
  /// Of what takes no cotangent and has its operands in an earlier region than
  /// its own, the first of these.
  llvm::DenseMap<mlir::Operation *, int64_t> made;
  /// The first region that an op can be of.
  llvm::DenseMap<mlir::Operation *, int64_t> least;
  /// Ops that are to move over the cut that is looked at.
  llvm::DenseSet<mlir::Operation *> moving;
  /// What goes back over it.
  llvm::SetVector<mlir::Operation *> crossing;
};

} // namespace weft

#endif // WEFT_LIB_PIPELINING_BACKWARDDELAY_H
