//===- ReshardReasons.h - What stands behind a movement of data -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data moves between how a value is held and how an op needs it. For each axis
// that the two have in different places this finds where it comes from at
// either end: an annotation, from which propagation brought it; what holds
// where nobody wrote anything; what an op can do; or a choice, with its price.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_RESHARDREASONS_H
#define WEFT_LIB_PARTITION_RESHARDREASONS_H

#include "Movement.h"

#include "weft/IR/Reasons.h"

namespace weft {

class ReshardReasons {
public:
  ReshardReasons(mlir::ModuleOp module, ReshardPrices &prices)
      : table(module), prices(prices) {}

  /// Finds the reason of `cause` if it is the first movement for it.
  void add(llvm::StringRef cause, const Movement &movement);
  /// Stores what was found in the module.
  void write() { table.write(); }

private:
  ReasonTable table;
  ReshardPrices &prices;
};

/// The chain of a collective that is a part of `op`, which runs split over
/// `axes`.
Reason reasonOfSplit(mlir::Operation *op, const sharding::Mesh &mesh,
                     llvm::ArrayRef<sharding::AxisRef> axes,
                     llvm::StringRef cause);

} // namespace weft

#endif // WEFT_LIB_PARTITION_RESHARDREASONS_H
