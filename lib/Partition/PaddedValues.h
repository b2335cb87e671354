//===- PaddedValues.h - Values with elements behind the last one *- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of the padding of values, and the forms of a value that users
// need: cut to its elements, padded further, or with the padding replaced. Each
// form is made once.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_PADDEDVALUES_H
#define WEFT_LIB_PARTITION_PADDEDVALUES_H

#include "weft/IR/WeftOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"

namespace weft {

class PaddedValues {
public:
  explicit PaddedValues(const sharding::Mesh &mesh) : mesh(mesh) {}

  /// The type of a value before it was padded.
  mlir::RankedTensorType trueType(mlir::Value value) const;
  bool isPadded(mlir::Value value, int64_t dim) const {
    return trueType(value).getDimSize(dim) !=
           mlir::cast<mlir::RankedTensorType>(value.getType()).getDimSize(dim);
  }
  /// Gives the value a padded shape.
  void pad(mlir::Value value, llvm::ArrayRef<int64_t> shape);

  /// Whether the padding of the dimension is known to be zeros.
  bool isZero(mlir::Value value, int64_t dim) const;
  void setZero(mlir::Value value, llvm::SmallBitVector dims);

  /// The elements of the value in another shape, for `user`.
  mlir::Value inShape(mlir::Operation *user, mlir::Value value,
                      llvm::ArrayRef<int64_t> shape);
  /// The value with `padding` behind the last element of the dimension.
  mlir::Value masked(mlir::Operation *user, mlir::Value value, int64_t dim,
                     mlir::TypedAttr padding);

  /// The sharding without axes in the dimensions where `shape` is another than
  /// that of `type`.
  ShardingAttr withoutAxes(ShardingAttr sharding, mlir::RankedTensorType type,
                           llvm::ArrayRef<int64_t> shape) const;

  int64_t numMasks = 0;

private:
  mlir::Value cut(mlir::OpBuilder &builder, mlir::Value value,
                  llvm::ArrayRef<int64_t> shape);
  mlir::Value enlarge(mlir::OpBuilder &builder, mlir::Value value,
                      llvm::ArrayRef<int64_t> shape);

  const sharding::Mesh &mesh;
  llvm::DenseMap<mlir::Value, mlir::RankedTensorType> trueTypes;
  llvm::DenseMap<mlir::Value, llvm::SmallBitVector> zeroDims;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> inShapes;
  llvm::DenseMap<std::tuple<mlir::Value, int64_t, mlir::Attribute>, mlir::Value>
      maskedValues;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_PADDEDVALUES_H
