//===- Signature.h - Arguments and results of a program ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the attributes and locations of a StableHLO function say about its
// arguments and results.
//
//   name       of an argument: its location, which JAX makes of the path in the
//              tree of arguments; of a result: `jax.result_info`
//   donation   `tf.aliasing_output`: the result is the argument's next value;
//              `jax.buffer_donor`: it is that of some result of its type
//   sharding   `sdy.sharding`
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_SIGNATURE_H
#define WEFT_LIB_IMPORT_SIGNATURE_H

#include "Meshes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::stablehlo {

/// A function without a body for a graph, with types, names and shardings of
/// `source`, at the insertion point. Null if a type has no counterpart.
mlir::func::FuncOp importSignature(mlir::func::FuncOp source,
                                   mlir::OpBuilder &builder, Meshes &meshes,
                                   Problems &problems);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_SIGNATURE_H
