//===- FreeOrder.h - Rows whose order does not matter -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of 8 rows that two members share, one has rows 0 to 3 and the other 4 to 7.
// If they are gathered in two pieces, the first one is rows 0, 1, 4 and 5. The
// rows as a whole, one piece behind the other, are then in another order. Where
// all that is done with them treats rows alike or adds up all of them, and they
// only come out of collectives and go into others, that does not matter if all
// of these collectives are cut in the same way. So it is for the hidden layer
// of an MLP:
//
//   all_gather, matmul, gelu, matmul, reduce_scatter
//
// Likewise it may not matter which member has which of the rows between a
// reduce_scatter and an all_gather, and the whole keeps its order.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_FREEORDER_H
#define WEFT_LIB_SCHEDULE_FREEORDER_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace weft {

/// Whether the order of the rows that `collective` gathers or scatters does not
/// matter, of the whole or of those that a member has. All collectives through
/// which they come and go; if it matters, some of them: it matters for each.
bool findFreeOrder(mlir::Operation *collective, bool ofWhole,
                   llvm::DenseSet<mlir::Operation *> &found);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_FREEORDER_H
