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

/// %a and %b are side by side in the buffer of the collective, and %c is a
/// range of what it gives, in the bytes of %b.
static const char *partsOfOne = R"(
weft.mesh @mesh = <["a"=2]>
func.func private @kernel(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel}
func.func @step(%x: tensor<16xf32>) -> tensor<16xf32> {
  %a = weft.launch @kernel(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %b = weft.launch @kernel(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %all = weft.concat %a, %b dim = 0
      : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %p = weft.start all_reduce %all sum over <@mesh, {"a"}> {in_place}
      : tensor<32xf32> -> !weft.pending<tensor<32xf32>>
  %r = weft.wait %p : !weft.pending<tensor<32xf32>>
  %c = weft.slice %r starts = [16] limits = [32] strides = [1]
      : tensor<32xf32> -> tensor<16xf32>
  %d = weft.launch @kernel(%c) : (tensor<16xf32>) -> tensor<16xf32>
  return %d : tensor<16xf32>
})";

TEST(EntryBuffers, PartsLiveInTheirWhole) {
  mlir::MLIRContext context;
  context.loadDialect<WeftDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(partsOfOne, &context);
  ASSERT_TRUE(module);
  auto states = ProgramStates::collect(*module);
  ASSERT_TRUE(mlir::succeeded(states));
  auto entry = module->lookupSymbol<mlir::func::FuncOp>("step");
  EntryBuffers buffers(entry, *states, ResultBinding::Bound);

  auto concat = *entry.getBody().getOps<ConcatOp>().begin();
  auto slice = *entry.getBody().getOps<SliceOp>().begin();
  int32_t whole = buffers.bufferOf(concat);
  int32_t a = buffers.bufferOf(concat.getOperand(0));
  int32_t b = buffers.bufferOf(concat.getOperand(1));
  int32_t c = buffers.bufferOf(slice);
  EXPECT_EQ(buffers.bufferOf(slice.getOperand()), whole);
  EXPECT_EQ(buffers.buffer(b).offsetInWhole, 64);
  EXPECT_EQ(buffers.buffer(c).offsetInWhole, 64);
  EXPECT_FALSE(buffers.buffer(a).isLaidOut());
  // From the first kernel to the last one.
  EXPECT_EQ(buffers.buffer(whole).first, 0);
  EXPECT_EQ(buffers.buffer(whole).last, 4);
  EXPECT_THAT(buffers.sharing(whole), testing::UnorderedElementsAre(a, b, c));
  EXPECT_THAT(buffers.sharing(a), testing::UnorderedElementsAre(whole));
  EXPECT_THAT(buffers.sharing(b), testing::UnorderedElementsAre(whole, c));
  // Who reads the slice reads what the collective left in the whole.
  for (int32_t buffer : {whole, b}) {
    EXPECT_TRUE(buffers.isLastUse(buffer, buffers.instructions()[4]));
    EXPECT_FALSE(buffers.isLastUse(buffer, buffers.instructions()[3]));
  }
}
