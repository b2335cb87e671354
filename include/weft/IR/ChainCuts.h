//===- ChainCuts.h - Where a model can be cut in two ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A list of ops is cut where a single value leads from what is before to what
// is behind, as the residual of a transformer does between its blocks. Values
// that cost nothing to hold or to make again do not count: arguments and what
// single ops make of one, and those that the caller says. Where none that
// counts is there yet, because all parameters so far are frozen, the results of
// matmuls and what is computed from them do.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_CHAINCUTS_H
#define WEFT_IR_CHAINCUTS_H

#include "mlir/IR/Operation.h"

#include <vector>

namespace weft {

/// Whether single ops make the value of one argument: a parameter in another
/// type, say.
bool isOfOneArgument(mlir::Value value);

/// Where parts begin, but the first one: at most once between two matmuls or
/// calls. Of several points there the one with the smallest value is taken, the
/// last if they are equal. `counts` says of a value that an op makes whether it
/// has to be carried. Users that are neither of the ops nor the return do not
/// count.
std::vector<size_t> cutChain(llvm::ArrayRef<mlir::Operation *> ops,
                             llvm::function_ref<bool(mlir::Value)> counts);

} // namespace weft

#endif // WEFT_IR_CHAINCUTS_H
