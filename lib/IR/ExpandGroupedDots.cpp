//===- ExpandGroupedDots.cpp - Write matmuls of groups with other ops -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every matrix is multiplied with all rows, those of other groups being zero.
// Row r is in group g if firsts[g] <= r < ends[g].
//
//===----------------------------------------------------------------------===//

#include "weft/IR/FormPass.h"
#include "weft/IR/GroupedOps.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Passes.h"
#include "weft/IR/TensorBuilder.h"
#include "weft/IR/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace weft {
#define GEN_PASS_DEF_EXPANDGROUPEDDOTS
#include "weft/IR/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

using Dims = SmallVector<int64_t>;
using arith::CmpIPredicate;

namespace {

/// Rows [batch, rows, k] by group: [groups, batch, rows, k].
class GroupMasks : public TensorBuilder {
public:
  GroupMasks(Location loc, OpBuilder &builder) : TensorBuilder(loc, builder) {}

  /// `x` in the group that a row is in, and zeros in the others.
  Value byGroup(Value x, Value sizes);

private:
  Value splat(RankedTensorType type, int64_t number) {
    return arith::ConstantOp::create(
        *this,
        DenseElementsAttr::get(
            type, Attribute(getIntegerAttr(type.getElementType(), number))));
  }
  Value compare(CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(*this, predicate, x, y);
  }
  /// The sums of sizes up to each group, and with it: [batch, groups].
  std::pair<Value, Value> borders(Value sizes);
};

} // namespace

std::pair<Value, Value> GroupMasks::borders(Value sizes) {
  ArrayRef<int64_t> shape = typeOf(sizes).getShape();
  sizes = arith::MaxSIOp::create(*this, sizes, splat(typeOf(sizes), 0));
  // [batch, group, group]: those before each group.
  auto pairs =
      RankedTensorType::get({shape[0], shape[1], shape[1]}, getI32Type());
  Value isBefore = compare(CmpIPredicate::slt, IotaOp::create(*this, pairs, 2),
                           IotaOp::create(*this, pairs, 1));
  Value counted = arith::SelectOp::create(
      *this, isBefore, BroadcastOp::create(*this, pairs, sizes, Dims{0, 2}),
      splat(pairs, 0));
  Value firsts =
      ReduceOp::create(*this, sharding::Reduction::Sum, counted, Dims{2});
  return {firsts, arith::AddIOp::create(*this, firsts, sizes)};
}

Value GroupMasks::byGroup(Value x, Value sizes) {
  RankedTensorType type = typeOf(x);
  int64_t groups = typeOf(sizes).getDimSize(1);
  Dims shape = {groups, type.getDimSize(0), type.getDimSize(1),
                type.getDimSize(2)};
  auto numbers = RankedTensorType::get(shape, getI32Type());
  auto [firsts, ends] = borders(sizes);
  Value row = IotaOp::create(*this, numbers, 2);
  auto spread = [&](Value border) {
    auto type = RankedTensorType::get({groups, shape[1]}, getI32Type());
    Value byGroup = TransposeOp::create(*this, type, border, Dims{1, 0});
    return BroadcastOp::create(*this, numbers, byGroup, Dims{0, 1});
  };
  Value isInside = arith::AndIOp::create(
      *this, compare(CmpIPredicate::sge, row, spread(firsts)),
      compare(CmpIPredicate::slt, row, spread(ends)));
  Value all = BroadcastOp::create(*this, type.clone(shape), x, Dims{1, 2, 3});
  return keepWhere(isInside, all);
}

/// Sums over groups and what both have besides.
static Value expand(GroupedDotOp op, GroupMasks &b) {
  Value rows = b.byGroup(op.getLhs(), op.getSizes());
  Dims matrix = {0, op.getTransposed() ? 2 : 1};
  return DotGeneralOp::create(b, rows, op.getRhs(), Dims{}, Dims{}, Dims{0, 3},
                              matrix);
}

static Value expand(GroupedOuterOp op, GroupMasks &b) {
  Value rows = b.byGroup(op.getLhs(), op.getSizes());
  return DotGeneralOp::create(b, rows, op.getRhs(), Dims{}, Dims{}, Dims{1, 2},
                              Dims{0, 1});
}

namespace {
struct ExpandGroupedDots
    : weft::impl::ExpandGroupedDotsBase<ExpandGroupedDots> {
  using ExpandGroupedDotsBase::ExpandGroupedDotsBase;

  void runOnInput() override {
    getOperation()->walk([&](Operation *op) {
      if (auto dot = dyn_cast<GroupedDotOp>(op))
        replace(dot);
      else if (auto outer = dyn_cast<GroupedOuterOp>(op))
        replace(outer);
    });
  }

  template <typename Op> void replace(Op op) {
    OriginListener listener(getOrigin(op));
    OpBuilder builder(op, &listener);
    GroupMasks masks(op.getLoc(), builder);
    op.replaceAllUsesWith(expand(op, masks));
    op.erase();
    ++expanded;
  }
};
} // namespace
