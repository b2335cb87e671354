//===- BlockTimes.h - When ops of a block are computed ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of a program of local shapes, one after another, as if collectives took
// no time. Those between two products become kernels, which read and write once
// what they do, and are launched one by one where the machine does so.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_BLOCKTIMES_H
#define WEFT_LIB_PARTITION_BLOCKTIMES_H

#include "weft/Cost/CostModel.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace weft {

class BlockTimes {
public:
  /// Without launches times measure how much is computed.
  BlockTimes(mlir::Block &block, const cost::CostModel &model,
             bool hasLaunches = true);

  /// When the op of a number begins; that of the end is the whole.
  double at(size_t number) const { return begins[number]; }
  double whole() const { return begins.back(); }
  /// The number of the last op that begins by then; behind the whole, that of
  /// the end.
  size_t numberAt(double seconds) const;
  /// When a value is there that the op of `number` makes: the last iteration of
  /// a loop may make it long before the loop ends.
  double ready(mlir::Value value, size_t number);

private:
  const cost::CostModel &model;
  const double launchSeconds;
  std::vector<double> begins;
  /// By loop: how long before its end each op has been computed.
  llvm::DenseMap<mlir::Operation *, llvm::DenseMap<mlir::Operation *, double>>
      endsInLoops;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_BLOCKTIMES_H
