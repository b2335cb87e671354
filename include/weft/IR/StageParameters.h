//===- StageParameters.h - The parameters that stages use -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage without a parameter has nothing to hold or to train: that is most
// often a boundary at the wrong place. Parameters are the arguments that the
// loss is differentiated by, and frozen ones: arrays of floats that all
// micro-batches use, and that are no part of the batch.
//
//   %wi = weft.microbatch_use %w ...                  // %w is a parameter
//   %xi = weft.microbatch_slice %x ...                // %x is the batch
//   %y  = weft.dot_general %xi, %wi {origin: stage 0}  // stage 0 uses one
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_STAGEPARAMETERS_H
#define WEFT_IR_STAGEPARAMETERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallBitVector.h"

namespace weft {

/// The arguments of an entry that are parameters of its loop over
/// micro-batches, in order.
llvm::SmallVector<mlir::BlockArgument>
findLoopParameters(mlir::func::FuncOp entry);

/// Those of the `count` stages of an entry (`weft.origin` says which op is of
/// which) that use a parameter for micro-batches; all of them if nothing is
/// differentiated.
llvm::SmallBitVector findStagesWithParameter(mlir::func::FuncOp entry,
                                             int64_t count);

} // namespace weft

#endif // WEFT_IR_STAGEPARAMETERS_H
