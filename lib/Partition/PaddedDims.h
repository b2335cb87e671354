//===- PaddedDims.h - Which dimensions are padded, and to what --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the shardings of a whole module: dimensions that ops walk together, and
// those of one state in several entries, get one padded size.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_PADDEDDIMS_H
#define WEFT_LIB_PARTITION_PADDEDDIMS_H

#include "weft/IR/WeftOps.h"
#include "weft/Sharding/Padding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace weft {

/// A factor of an op along which it may be computed with padding.
struct PaddedFactor {
  int64_t size = 1;
  /// `size`, if the factor is not padded.
  int64_t paddedSize = 1;
  bool isSplitInResult = false;
};

class PaddedDims {
public:
  PaddedDims(mlir::ModuleOp module, const sharding::Mesh &mesh);

  /// Whether some dimension is not divided by its shards.
  bool any() const { return hasUneven; }

  /// From now on `form` is used in the place of `value`.
  void replace(mlir::Value value, mlir::Value form) {
    int32_t first = dimsOfValue.at(value);
    dimsOfValue[form] = first;
  }

  /// The padded shape of a value that is held as `sharding` says: dimensions
  /// that are not split are not padded.
  sharding::Shape paddedShape(mlir::Value value, ShardingAttr sharding) const;
  /// The same of a result of a function, in the type that it has there.
  sharding::Shape paddedResultShape(mlir::func::FuncOp function,
                                    unsigned index) const;

  /// The rule of an op as it was before anything was padded; null if it has
  /// none.
  const sharding::ShardingRule *ruleOf(mlir::Operation *op) const;
  /// The factors of the op. One along which it cannot be computed with padding
  /// has no larger padded size.
  llvm::SmallVector<PaddedFactor, 4> factorsOf(mlir::Operation *op) const;

  /// The number of shards of a dimension.
  int64_t shardsOf(ShardingAttr sharding, size_t dim) const;

private:
  void findUneven(mlir::ModuleOp module);
  void addFunction(mlir::func::FuncOp function);
  void addOp(mlir::Operation *op);
  int32_t addDims(mlir::RankedTensorType type, ShardingAttr sharding);
  void splitDims(int32_t first, ShardingAttr sharding);
  void joinDims(int32_t first, int32_t other, size_t rank);
  void joinState(llvm::StringRef name, mlir::RankedTensorType type,
                 int32_t first);
  void joinFactors(mlir::Operation *op, const sharding::ShardingRule &rule);
  sharding::Shape paddedShape(llvm::ArrayRef<int64_t> shape, int32_t first,
                              ShardingAttr sharding) const;

  const sharding::Mesh &mesh;
  bool hasUneven = false;
  sharding::DimClasses classes;
  /// The number of dimension 0; those of the others follow.
  llvm::DenseMap<mlir::Value, int32_t> dimsOfValue;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, int32_t> dimsOfResult;
  llvm::StringMap<std::pair<mlir::Type, int32_t>> dimsOfState;
  llvm::DenseMap<mlir::Operation *, sharding::ShardingRule> rules;
  mutable llvm::DenseMap<ShardingAttr, sharding::Sharding> resolved;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_PADDEDDIMS_H
