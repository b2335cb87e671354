//===- ValueShardingTest.cpp - Where shardings are stored -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DialectFixture.h"

#include "mlir/IR/Verifier.h"

#include "gmock/gmock.h"

using namespace mlir;
using namespace weft;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

class ValueSharding : public DialectFixture {
protected:
  OwningOpRef<ModuleOp> module = parse(R"(
    weft.mesh @mesh = <["x"=4]>
    weft.mesh @second = <["y"=2]>
    func.func @step(%w: tensor<8xf32> {weft.name = "w"}, %x: tensor<2x8xf32>)
        -> (tensor<8xf32> {weft.global_type = tensor<32xf32>}, tensor<2x8xf32>) {
      %i = arith.constant dense<1> : tensor<3x5xi32>
      %low, %high = arith.mulsi_extended %i, %i : tensor<3x5xi32>
      return %w, %x : tensor<8xf32>, tensor<2x8xf32>
    })");
  func::FuncOp step = module->lookupSymbol<func::FuncOp>("step");
  Operation *twoResults = &*std::next(step.getBody().front().begin());

  ShardingAttr sharding(llvm::StringRef text) {
    return cast<ShardingAttr>(parseAttribute(text, &context));
  }
};

TEST_F(ValueSharding, OfAnArgument) {
  BlockArgument w = step.getArgument(0);
  EXPECT_FALSE(getSharding(w));
  ShardingAttr split = sharding(R"(#weft.sharding<@mesh, [{"x"}]>)");
  setSharding(w, split);
  EXPECT_EQ(getSharding(w), split);
  EXPECT_EQ(step.getArgAttr(0, "weft.sharding"), split);
}

TEST_F(ValueSharding, OfAFunctionResult) {
  EXPECT_FALSE(getResultSharding(step, 1));
  ShardingAttr split = sharding(R"(#weft.sharding<@mesh, [{"x"}, {}]>)");
  setResultSharding(step, 1, split);
  EXPECT_EQ(getResultSharding(step, 1), split);
  EXPECT_EQ(step.getResultAttr(1, "weft.sharding"), split);
  EXPECT_FALSE(getResultSharding(step, 0));
}

TEST_F(ValueSharding, OfAnOpResultLeavesTheOthersOpen) {
  ShardingAttr split = sharding(R"(#weft.sharding<@mesh, [{"x"}, {}]>)");
  EXPECT_FALSE(getSharding(twoResults->getResult(1)));
  setSharding(twoResults->getResult(1), split);
  EXPECT_EQ(getSharding(twoResults->getResult(0)),
            ShardingAttr::getOpen(symbol, 2));
  EXPECT_EQ(getSharding(twoResults->getResult(1)), split);
  EXPECT_TRUE(succeeded(verify(*module)));

  setSharding(twoResults->getResult(0), split);
  EXPECT_EQ(getSharding(twoResults->getResult(1)), split);
  removeShardings(twoResults);
  EXPECT_FALSE(getSharding(twoResults->getResult(0)));
}

TEST_F(ValueSharding, Names) {
  EXPECT_EQ(getArgumentName(step, 0), "w");
  EXPECT_EQ(getArgumentName(step, 1), "arg1");
  EXPECT_EQ(getResultName(step, 1), "result1");
}

TEST_F(ValueSharding, GlobalTypes) {
  EXPECT_EQ(print(getGlobalResultType(step, 0)), "tensor<32xf32>");
  EXPECT_EQ(print(getGlobalResultType(step, 1)), "tensor<2x8xf32>");
  EXPECT_EQ(print(getGlobalArgumentType(step, 0)), "tensor<8xf32>");
}

TEST_F(ValueSharding, Meshes) {
  EXPECT_EQ(findMesh(twoResults).getSymName(), "mesh");
  EXPECT_EQ(findMesh(*module).getSymName(), "mesh");
  auto second = FlatSymbolRefAttr::get(&context, "second");
  EXPECT_EQ(findMesh(twoResults, second).getSymName(), "second");
  EXPECT_FALSE(findMesh(twoResults, FlatSymbolRefAttr::get(&context, "third")));
  EXPECT_FALSE(findMesh(*parse("module {}")));
}

TEST_F(ValueSharding, EveryProblemIsListed) {
  auto check = [&](llvm::StringRef text, size_t rank) {
    return checkShardingAttr(twoResults, sharding(text), rank);
  };
  EXPECT_THAT(check(R"(#weft.sharding<@mesh, [{"x"}, {?}]>)", 2), IsEmpty());
  EXPECT_EQ(check(R"(#weft.sharding<@mesh, [{"x"}, {"x"}]>)", 1).size(), 2u);
  EXPECT_THAT(check("#weft.sharding<@third, []>", 0),
              ElementsAre("unknown mesh @third; declare it in the module with "
                          "weft.mesh"));
}

} // namespace
