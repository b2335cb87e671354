//===- ObjectTest.cpp - Targets, determinism, rejected kernels ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelText.h"

#include "llvm/TargetParser/X86TargetParser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

const std::string matrix = "tensor<9x100xf32>", column = "tensor<9xf32>";

std::string normalise() {
  return function(
      "f", {matrix}, {matrix},
      elementwise("%e", {"%0"}, matrix, "math.tanh %a0") +
          reduce("%s", "%e", matrix, column, "(i, j) -> (i)",
                 {"parallel", "reduction"}, "arith.addf", "0.0") +
          broadcast("%b", "%s", column, matrix, "(i, j) -> (i)") +
          elementwise("%y", {"%e", "%b"}, matrix, "arith.divf %a0, %a1"),
      {"%y"});
}

TEST(Object, SameRequestSameBytes) {
  KernelRunner first(normalise(), "x86-64-v3"),
      second(normalise(), "x86-64-v3");
  ASSERT_TRUE(first.compiled()) << first.messages();
  EXPECT_EQ(first.object().elf, second.object().elf);
}

TEST(Object, SameNumbersOnEveryLevel) {
  if (!machineHasAvx512())
    GTEST_SKIP() << "this machine has no AVX-512";
  auto x = randomFloats(900);
  std::vector<float> narrow(900), wide(900), host(900);
  KernelRunner(normalise(), "x86-64-v3").run("f", {x.data(), narrow.data()});
  KernelRunner(normalise(), "x86-64-v4").run("f", {x.data(), wide.data()});
  KernelRunner(normalise()).run("f", {x.data(), host.data()});
  EXPECT_EQ(narrow, wide);
  EXPECT_EQ(narrow, host);
}

TEST(Target, LevelsListWhatTheMachineMustHave) {
  auto v3 = resolveTarget({.cpu = "x86-64-v3"}),
       v4 = resolveTarget({.cpu = "x86-64-v4"});
  ASSERT_TRUE(bool(v3));
  ASSERT_TRUE(bool(v4));
  EXPECT_THAT(v3->features, Contains("avx2"));
  EXPECT_THAT(v3->features, Contains("fma"));
  EXPECT_THAT(v3->features, Not(Contains("avx512f")));
  EXPECT_THAT(v4->features, Contains("avx512vl"));
  EXPECT_TRUE(std::is_sorted(v4->features.begin(), v4->features.end()));
}

/// Names turn on what the list leaves out: XOP in bdver4, APX in novalake.
TEST(Target, EveryProcessorRunsWhereItsFeaturesAre) {
  auto host = resolveTarget({.cpu = "host"});
  ASSERT_TRUE(bool(host));
  llvm::SmallVector<llvm::StringRef> names;
  llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
  auto x = randomFloats(900);
  std::vector<float> expected(900);
  KernelRunner(normalise(), "x86-64-v3").run("f", {x.data(), expected.data()});
  int numRun = 0;
  for (llvm::StringRef name : names) {
    auto target = resolveTarget({.cpu = name.str()});
    if (!target) {
      llvm::consumeError(target.takeError());
      continue;
    }
    if (!llvm::all_of(target->features, [&](const std::string &feature) {
          return host->has(feature);
        }))
      continue;
    std::vector<float> y(900);
    KernelRunner(normalise(), name.str()).run("f", {x.data(), y.data()});
    EXPECT_EQ(y, expected) << name.str();
    ++numRun;
  }
  EXPECT_GT(numRun, 5);
}

TEST(Target, MatrixTilesAreNotRequired) {
  auto target = resolveTarget({.cpu = "sapphirerapids"});
  ASSERT_TRUE(bool(target));
  for (const std::string &feature : target->features)
    EXPECT_THAT(feature, Not(HasSubstr("amx")));
}

TEST(Target, Errors) {
  EXPECT_EQ(llvm::toString(resolveTarget({.cpu = "x86-64-v2"}).takeError()),
            "target processor 'x86-64-v2' lacks the feature avx2, which "
            "kernels need; the lowest level with it is x86-64-v3");
  EXPECT_THAT(llvm::toString(resolveTarget({.cpu = "pdp11"}).takeError()),
              HasSubstr("unknown target processor 'pdp11'"));
  KernelRunner kernels(normalise(), "x86-64");
  EXPECT_THAT(kernels.messages(), HasSubstr("lacks the feature avx2"));
}

TEST(Body, DynamicShapesAreRejected) {
  KernelRunner kernels("func.func private @f(%x: tensor<?xf32>) -> "
                       "tensor<?xf32> { return %x : tensor<?xf32> }");
  EXPECT_THAT(kernels.messages(),
              HasSubstr("kernels take tensors of static shape"));
}

TEST(Body, UnknownOperationsAreRejected) {
  KernelRunner kernels(R"(
    func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = "other.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    })");
  EXPECT_FALSE(kernels.compiled());
  EXPECT_NE(kernels.messages(), "");
}

TEST(Body, ABufferIsGivenOnce) {
  KernelRunner kernels(
      function("f", {matrix}, {matrix, matrix},
               elementwise("%y", {"%0"}, matrix, "arith.negf %a0") +
                   elementwise("%z", {"%0"}, matrix, "math.exp %a0"),
               {"%y", "%z"}),
      "host", {{"f", {0, 0}}});
  EXPECT_THAT(kernels.messages(),
              HasSubstr("operand 0 gives its buffer to two results"));
}

TEST(Body, ArgumentReturnedIsCopied) {
  auto x = randomFloats(900);
  std::vector<float> y(900);
  KernelRunner kernels(function("f", {matrix}, {matrix}, "", {"%0"}));
  kernels.run("f", {x.data(), y.data()});
  EXPECT_EQ(x, y);
}

TEST(Body, EmptyTensors) {
  std::string none = "tensor<0x4xf32>";
  KernelRunner kernels(
      function("f", {none}, {none},
               elementwise("%y", {"%0"}, none, "arith.negf %a0"), {"%y"}));
  EXPECT_TRUE(kernels.compiled()) << kernels.messages();
  kernels.run("f", {nullptr, nullptr});
}

} // namespace
