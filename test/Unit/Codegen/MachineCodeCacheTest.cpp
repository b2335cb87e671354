//===- MachineCodeCacheTest.cpp - Kernels compiled before -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineCodeCache.h"

#include "KernelText.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

namespace {

TEST(MachineCodeCache, FindsWhatWasAdded) {
  MachineCodeCache cache(/*maxBytes=*/100);
  const auto key = MachineCodeCache::keyOf("one kernel");
  EXPECT_EQ(cache.find(key), nullptr);
  auto object = cache.add(key, "code");
  EXPECT_EQ(cache.find(key), object);
  EXPECT_EQ(cache.find(MachineCodeCache::keyOf("another kernel")), nullptr);
  // The first one stays.
  EXPECT_EQ(cache.add(key, "code"), object);
}

TEST(MachineCodeCache, ForgetsWhenFull) {
  MachineCodeCache cache(/*maxBytes=*/100);
  const auto first = MachineCodeCache::keyOf("first"),
             second = MachineCodeCache::keyOf("second");
  auto object = cache.add(first, std::string(60, 'a'));
  cache.add(second, std::string(60, 'b'));
  EXPECT_EQ(cache.find(first), nullptr);
  ASSERT_NE(cache.find(second), nullptr);
  // Who has it keeps it.
  EXPECT_EQ(*object, std::string(60, 'a'));
}

std::string timesConstant(const std::string &name, const std::string &factor) {
  const std::string type = "tensor<8xf32>";
  return function(name, {type}, {type},
                  "%c = arith.constant " + factor + " : f32\n" +
                      elementwise("%y", {"%0"}, type, "arith.mulf %a0, %c"),
                  {"%y"});
}

/// Equal kernels under other names, beside others.
TEST(MachineCodeCache, KernelsKeepTheirNames) {
  std::vector<float> x(8, 1), y(8);
  auto run = [&](const KernelRunner &runner, const char *name) {
    runner.run(name, {x.data(), y.data()});
    return y[7];
  };
  {
    KernelRunner first(timesConstant("a", "2.0") + timesConstant("b", "3.0"));
    EXPECT_EQ(run(first, "a"), 2);
    EXPECT_EQ(run(first, "b"), 3);
  }
  KernelRunner second(timesConstant("c", "3.0") + timesConstant("d", "5.0") +
                      timesConstant("e", "2.0"));
  EXPECT_EQ(run(second, "c"), 3);
  EXPECT_EQ(run(second, "d"), 5);
  EXPECT_EQ(run(second, "e"), 2);
}

} // namespace
