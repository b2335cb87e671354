//===- Donation.h - Which result replaces an argument -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_DONATION_H
#define WEFT_LIB_IMPORT_DONATION_H

#include "Problems.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace weft::stablehlo {

/// For each result the argument whose next value it is, if any. JAX says which
/// (`tf.aliasing_output`) when the shardings of results are given; else it says
/// only that an argument is given up (`jax.buffer_donor`), and it is matched
/// with the result of its type whose path in the tree of results has the
/// longest end in common with `names[argument]`: the first of several.
///
/// Example: state['params']['w'] and result[0]['params']['w'].
llvm::SmallVector<std::optional<unsigned>>
matchDonations(mlir::func::FuncOp source, llvm::ArrayRef<std::string> names,
               Problems &problems);

/// Corrects the names of results that replace arguments, where several are of
/// one type: JAX pairs buffers by their types alone, in their order, whatever
/// the results are. A next value is computed of the value before, element by
/// element, as p - rate * m is of p and m, and 0.9 * m + g of m; where that
/// leaves a choice, names in common decide, then JAX's order. `function` is the
/// graph of `source`.
void matchDonationsByUse(mlir::func::FuncOp source,
                         mlir::func::FuncOp function);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_DONATION_H
