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
/// (`tf.aliasing_output`) when the shardings of results are given, but goes by
/// the types alone, in their order; else it says only that an argument is given
/// up (`jax.buffer_donor`). It is matched with the result of its type whose
/// path in the tree of results has the longest end in common with
/// `names[argument]`: of several the one that JAX says, or the first.
///
/// Example: state['params']['w'] and result[0]['params']['w'].
llvm::SmallVector<std::optional<unsigned>>
matchDonations(mlir::func::FuncOp source, llvm::ArrayRef<std::string> names,
               Problems &problems);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_DONATION_H
