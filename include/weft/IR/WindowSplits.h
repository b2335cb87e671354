//===- WindowSplits.h - Windows that devices share --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the partitioner knows of ops with windows: along which dimensions they
// can be split, and what devices then need of each other.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WINDOWSPLITS_H
#define WEFT_IR_WINDOWSPLITS_H

#include "weft/Sharding/Halo.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir {
class Operation;
}

namespace weft {

/// A dimension of the first operand that may be split in shards of which each
/// device needs elements of others: it has some of the windows, or some of the
/// elements of each.
struct WindowSplit {
  /// Of the first operand.
  int64_t dim;
  /// Of the result, or of the kernel, which has an element of each window.
  int64_t otherDim;
  bool isOfKernel = false;
  sharding::WindowedDim windows;
  /// The op adds up what windows have: the result has the elements. What it
  /// adds to those of others is sent, and with extrema what these are of.
  bool isTransposed = false, hasExtrema = false;

  /// The exchange between the members of a group that split both sides; none if
  /// the op cannot be computed so.
  std::optional<sharding::HaloExchange> exchange(int64_t members) const;
  /// The most elements that a member sends to others.
  int64_t mostSent(int64_t members) const;
  /// Appends all that the split depends on.
  void addTo(std::vector<int64_t> &key) const;
};

/// Those of an op whose operands and result have these types; none of an op
/// without windows, or along dimensions whose windows are elements.
llvm::SmallVector<WindowSplit, 2>
findWindowSplits(mlir::Operation *op,
                 llvm::ArrayRef<mlir::RankedTensorType> operands,
                 mlir::RankedTensorType result);

/// Gives an op with windows, of which operands or the result have got other
/// sizes along the dimension of windows, the amount of padding behind that
/// makes as many windows as the result has.
void fitWindows(mlir::Operation *op);

} // namespace weft

#endif // WEFT_IR_WINDOWSPLITS_H
