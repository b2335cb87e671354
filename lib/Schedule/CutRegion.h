//===- CutRegion.h - What is cut for the sake of collectives ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If collectives are cut into pieces, one runs beside the computation of
// another only if that is in pieces as well: matmuls of what is gathered or
// summed, what leads from a matmul to a collective, and all between two of
// these collectives that does not wait for whole results on the way.
//
//   all_gather, matmul, gelu, matmul, reduce_scatter, add, norm, all_gather
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_CUTREGION_H
#define WEFT_LIB_SCHEDULE_CUTREGION_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

namespace weft {

/// The ops of the block to cut, the collectives among them.
llvm::DenseSet<mlir::Operation *>
findCutRegion(mlir::Block &block,
              const llvm::DenseSet<mlir::Operation *> &collectives,
              int64_t pieces);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_CUTREGION_H
