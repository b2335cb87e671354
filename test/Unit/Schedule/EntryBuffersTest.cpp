//===- EntryBuffersTest.cpp - Lives of buffers ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/EntryBuffers.h"
#include "weft/IR/WeftDialect.h"
#include "weft/Schedule/ArenaPlanner.h"

#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace weft;

/// Nothing reads what the collective leaves in the buffer of %b. The value has
/// a buffer of its own before it is merged with that of %b, and a life that
/// ends before it begins would not let the planner end.
static const char *unreadResult = R"(
weft.mesh @mesh = <["a"=2]>
func.func private @kernel(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel}
func.func @step(%x: tensor<16xf32>) -> tensor<16xf32> {
  %a = weft.launch @kernel(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %b = weft.launch @kernel(%a) : (tensor<16xf32>) -> tensor<16xf32>
  %p = weft.start all_reduce %b sum over <@mesh, {"a"}> {in_place}
      : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %r = weft.wait %p : !weft.pending<tensor<16xf32>>
  return %a : tensor<16xf32>
})";

TEST(EntryBuffers, EveryBufferHasALife) {
  mlir::MLIRContext context;
  context.loadDialect<WeftDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(unreadResult, &context);
  ASSERT_TRUE(module);
  auto states = ProgramStates::collect(*module);
  ASSERT_TRUE(mlir::succeeded(states));
  auto entry = module->lookupSymbol<mlir::func::FuncOp>("step");
  EntryBuffers buffers(entry, *states, ResultBinding::Bound);

  std::vector<ArenaBuffer> lives;
  int merged = 0;
  for (const EntryBuffer &buffer : buffers.buffers()) {
    EXPECT_LE(buffer.first, buffer.last);
    merged += buffer.values.empty();
    lives.push_back({buffer.first, buffer.last, buffer.bytes});
  }
  EXPECT_EQ(merged, 2);
  EXPECT_THAT(checkArena(lives, planArena(lives)), testing::IsEmpty());
}
