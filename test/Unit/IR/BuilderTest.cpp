//===- BuilderTest.cpp - Inferred result types ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DialectFixture.h"

using namespace mlir;
using namespace weft;
using sharding::Reduction;

namespace {

/// Builders that infer the type of the result.
class Builders : public DialectFixture {
protected:
  Value tensor(llvm::ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(shape, builder.getF32Type());
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  }
  using Shape = llvm::SmallVector<int64_t>;

  /// The shape of an op's result, once the op verifies.
  static Shape shapeOf(Operation *op) {
    EXPECT_TRUE(succeeded(verify(op)));
    return Shape(cast<RankedTensorType>(op->getResult(0).getType()).getShape());
  }
  static LogicalResult verify(Operation *op) {
    return op->getName().verifyInvariants(op);
  }

  OpBuilder builder{&context};
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);

  void SetUp() override { builder.setInsertionPointToStart(module->getBody()); }
};

TEST_F(Builders, DotGeneral) {
  Value lhs = tensor({4, 8, 16}), rhs = tensor({16, 32, 4});
  auto op = DotGeneralOp::create(builder, loc, lhs, rhs, {0}, {2}, {2}, {0});
  EXPECT_EQ(shapeOf(op), Shape({4, 8, 32}));
  EXPECT_EQ(op.getLhsFree(), Shape({1}));
  EXPECT_EQ(op.getRhsFree(), Shape({1}));
  EXPECT_FALSE(op.getAccumulationType());
}

TEST_F(Builders, Transpose) {
  EXPECT_EQ(
      shapeOf(TransposeOp::create(builder, loc, tensor({2, 3, 4}), {2, 0, 1})),
      Shape({4, 2, 3}));
}

TEST_F(Builders, Reduce) {
  auto op =
      ReduceOp::create(builder, loc, Reduction::Max, tensor({2, 3, 4}), {0, 2});
  EXPECT_EQ(shapeOf(op), Shape({3}));
  EXPECT_EQ(op.getKind(), Reduction::Max);
}

TEST_F(Builders, SliceRoundsUp) {
  EXPECT_EQ(shapeOf(SliceOp::create(builder, loc, tensor({8, 9}), {1, 0},
                                    {8, 9}, {3, 9})),
            Shape({3, 1}));
}

TEST_F(Builders, Concat) {
  EXPECT_EQ(
      shapeOf(ConcatOp::create(
          builder, loc, {tensor({2, 3}), tensor({2, 1}), tensor({2, 4})}, 1)),
      Shape({2, 8}));
}

} // namespace
