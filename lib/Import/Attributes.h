//===- Attributes.h - Attributes of StableHLO ops ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decoders. Each returns none for what it cannot read; numbers of dimensions
// are as written and may be out of range.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_ATTRIBUTES_H
#define WEFT_LIB_IMPORT_ATTRIBUTES_H

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace weft::stablehlo {

using Dims = llvm::SmallVector<int64_t>;

/// `array<i64: 0, 2>`, or the `dense<[0, 2]> : tensor<2xi64>` of old versions.
std::optional<Dims> readIntegers(mlir::Attribute attr);
std::optional<int64_t> readInteger(mlir::Attribute attr);

/// The word of `#stablehlo<comparison_direction LT>`, for
/// `comparison_direction`.
std::optional<std::string> readEnum(mlir::Attribute attr, llvm::StringRef name);

/// `#stablehlo.dot<lhs_batching_dimensions = [0], ...>`
struct DotDims {
  Dims lhsBatching, rhsBatching, lhsContracting, rhsContracting;
};
std::optional<DotDims> readDotDims(mlir::Attribute attr);

/// `#chlo.ragged_dot<lhs_contracting_dimensions = [1], ...>`
struct RaggedDotDims : DotDims {
  Dims lhsRagged, rhsGroup;
};
std::optional<RaggedDotDims> readRaggedDotDims(mlir::Attribute attr);

/// How a gather finds slices of its operand, or a scatter places updates in
/// it; the two have the same parts under different names.
///
/// `#stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], ...>`
/// `#stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0],
///   ...>`
struct IndexingDims {
  /// Dimensions of result (updates) that walk over a slice.
  Dims window;
  /// Dimensions of the operand that a slice lacks.
  Dims collapsed;
  /// Dimensions of operand and indices that are walked together.
  Dims operandBatching, indicesBatching;
  /// The operand dimension of each number in an index vector.
  Dims indexed;
  int64_t indexVectorDim = 0;
};
std::optional<IndexingDims> readGatherDims(mlir::Attribute attr);
std::optional<IndexingDims> readScatterDims(mlir::Attribute attr);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_ATTRIBUTES_H
