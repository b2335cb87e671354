//===- ChosenSplits.h - Choices as attributes of ops ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choices of a function between the pass that makes and the one that
// carries them out: `weft.operand_shardings` and `weft.shardings`. What is read
// may have been written by hand: it is checked that every op can run so.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_CHOSENSPLITS_H
#define WEFT_LIB_PARTITION_CHOSENSPLITS_H

#include "OpChoices.h"

namespace weft {

void writeChoices(mlir::func::FuncOp function, const OpChoices &choices,
                  ReshardPrices &prices);

/// Takes the choices from the ops, which have no weft.operand_shardings
/// afterwards. None if no op has any; reports every op that cannot run as its
/// attributes say, and fails.
mlir::FailureOr<OpChoices> takeChoices(mlir::func::FuncOp function,
                                       ReshardPrices &prices);

} // namespace weft

#endif // WEFT_LIB_PARTITION_CHOSENSPLITS_H
