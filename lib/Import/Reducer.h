//===- Reducer.h - What a region does with two values -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions and scatters say with a region how two values become one. Regions
// of a single op are known by its name, and that of log(exp(x) + exp(y)) by the
// ops that JAX makes of it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_REDUCER_H
#define WEFT_LIB_IMPORT_REDUCER_H

#include "Conversion.h"

#include <optional>

namespace weft::stablehlo {

enum class Reducer { Add, Multiply, Max, Min, And, Or, Xor, LogAddExp };

/// The reducer that the only region of `op` is; none if it is another function.
std::optional<Reducer> matchReducer(mlir::Operation *op);

/// Whether the only region of `op` subtracts its second argument.
bool subtracts(mlir::Operation *op);

/// Whether the only region of `op` gives its second argument back: a scatter
/// that replaces.
bool replaces(mlir::Operation *op);

/// What the reducer makes of two values.
mlir::Value combine(Conversion &c, Reducer reducer, mlir::Value x,
                    mlir::Value y);

/// Whether combining with `init` changes nothing.
bool isNeutral(Conversion &c, Reducer reducer, mlir::Value init);

/// A value that changes nothing.
mlir::TypedAttr neutralFor(Conversion &c, Reducer reducer, mlir::Type element);

/// Reduces `x` along `dims` by an op of the graph, to the shape of the first
/// result, without an initial value. Not for products, nor the bits of
/// integers.
mlir::Value reduce(Conversion &c, Reducer reducer, mlir::Value x,
                   llvm::ArrayRef<int64_t> dims);

/// argmax and argmin: of values and of the indices that count them.
Values convertArgReduce(Conversion &c);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_REDUCER_H
