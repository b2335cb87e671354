//===- BlockOrder.h - A dimension in blocks of its parts --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values one of whose dimensions has its elements in another order: a block of
// each of its parts, then the next block of each (sharding::interleave). Where
// an axis splits it into as many shards as there are blocks, each device has a
// block of every part.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_BLOCKORDER_H
#define WEFT_LIB_PARTITION_BLOCKORDER_H

#include "weft/IR/WeftOps.h"
#include "weft/Sharding/ElementMap.h"
#include "weft/Sharding/Mesh.h"

#include <map>

namespace weft {

/// A dimension of a value.
using ValueDim = std::pair<mlir::Value, int64_t>;

struct BlockOrder {
  /// Sizes of the parts that the dimension consists of. Blocks divide them.
  std::vector<int64_t> parts;
  int64_t blocks = 1;

  auto operator<=>(const BlockOrder &other) const = default;
  sharding::ElementMap map() const {
    return sharding::interleave(parts, blocks);
  }
};

/// Makes versions of values in block order, each once for a stage.
class BlockOrders {
public:
  explicit BlockOrders(const sharding::Mesh &mesh) : mesh(mesh) {}

  /// Whether there is such a version, for a user in the same stage.
  bool has(ValueDim value, const BlockOrder &order,
           mlir::Operation *user) const;
  /// The version for `user`. What only says where a value is, when it is there
  /// or in which wider type is done to the version of its operand.
  mlir::Value get(ValueDim value, const BlockOrder &order,
                  mlir::Operation *user);
  /// The value that get() takes elements of.
  static mlir::Value sourceOf(mlir::Value value);

  /// Makes of `op`, whose result has come to be in block order, one that its
  /// users need not know of. What only passes sums on is done before.
  void restore(mlir::Operation *op, int64_t dim, const BlockOrder &order);

  /// Dimension `dim` as two: the blocks, and the elements of a block.
  mlir::Value takeApart(mlir::OpBuilder &builder, mlir::Location loc,
                        ValueDim value, int64_t blocks) const;
  /// The opposite.
  static mlir::Value putTogether(mlir::OpBuilder &builder, mlir::Location loc,
                                 ValueDim value);

private:
  using Key = std::tuple<const void *, int64_t, BlockOrder, int64_t>;
  static Key keyOf(ValueDim value, const BlockOrder &order,
                   mlir::Operation *user);

  const sharding::Mesh &mesh;
  std::map<Key, mlir::Value> versions;
};

/// The op makes another value than the program says: it is not compared.
void forgetNumber(mlir::Operation *op);

/// What is made of a sum by adding up, and by what leaves the order of its
/// elements along the dimension: of the version in block order, if all that is
/// added up is so.
ValueDim sumOf(ValueDim value);

/// The dimension of the result that one of the operand stays.
int64_t keptDim(ReduceOp op, int64_t dim);
/// Whether all elements are one constant.
bool isSplat(mlir::Value value);

} // namespace weft

#endif // WEFT_LIB_PARTITION_BLOCKORDER_H
