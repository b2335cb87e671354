//===- Indexing.h - Gathers and scatters by dimension -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gather of StableHLO finds slices of its operand by vectors of indices; one
// of a graph takes elements along one dimension. What leads from one to the
// other is the same for scatters, the other way round:
//
//   table     the operand with all indexed dimensions merged into one
//   indices   one number for each slice, in that dimension
//   taken     what a gather of the graph makes of them, and a permutation of
//             its dimensions to those of the StableHLO result
//
// Example: x[i, j] of x tensor<4x6x8>
//   table tensor<24x8>, indices 6 * i + j, dim 0
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_INDEXING_H
#define WEFT_LIB_IMPORT_INDEXING_H

#include "Conversion.h"
#include "Reducer.h"

namespace weft::stablehlo {

/// What to do with an index that points beyond the table.
enum class OutOfRange { Clamp, Drop };

/// Makes batching dimensions of those that are indexed by counting, as the rows
/// in x[arange(n), i], so that a row is taken from its own row of the table.
void batchCounted(Conversion &c, IndexingDims &dims,
                  mlir::RankedTensorType table, mlir::Value &vectors);

class Indexing {
public:
  /// `windowSizes` has the size of a slice along each dimension of `table`.
  /// A form that has no counterpart is reported to `c`.
  static std::optional<Indexing>
  analyse(Conversion &c, const IndexingDims &dims, mlir::RankedTensorType table,
          mlir::Value indices, llvm::ArrayRef<int64_t> windowSizes,
          int64_t resultRank, OutOfRange outOfRange);

  mlir::Value gather(Conversion &c, mlir::Value table) const;
  /// The sum of the updates at their indices, in the shape of the table.
  mlir::Value scatterAdd(Conversion &c, mlir::Value updates) const;
  /// The table with each update in the place of an element, or combined with
  /// it. Of several updates of one element, the last one counts, or all.
  mlir::Value scatter(Conversion &c, mlir::Value table, mlir::Value updates,
                      std::optional<Reducer> reducer, bool areUnique) const;

private:
  /// Where a dimension comes from: from dimension `dim` of the indices or of
  /// the table, as they are in StableHLO.
  struct Label {
    bool ofIndices;
    int64_t dim;
    bool operator==(const Label &other) const = default;
  };

  void mergeTable(const IndexingDims &dims, mlir::RankedTensorType type);
  void mergeIndices(Conversion &c, const IndexingDims &dims, mlir::Value source,
                    llvm::ArrayRef<int64_t> windowSizes, OutOfRange outOfRange);
  void label(const IndexingDims &dims, int64_t resultRank);

  mlir::RankedTensorType sourceTable, table;
  /// The permutation that brings indexed dimensions together.
  Dims tableOrder;
  mlir::Value indices;
  int64_t dim = 0;
  Dims tableBatching, indicesBatching;
  llvm::SmallVector<Label> tableLabels, indicesLabels;
  /// The dimension of what is taken that each dimension of the result is, and
  /// the sizes of what is taken.
  Dims resultOrder;
  Shape takenShape;
};

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_INDEXING_H
