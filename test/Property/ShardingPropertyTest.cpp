//===- ShardingPropertyTest.cpp - Sharded = one device --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs with random shardings on random meshes. Case i has the seed
// WEFT_PROPERTY_SEED + i (from 1 when not set), for WEFT_PROPERTY_CASES cases
// (500). A failure prints the program made smaller, the values that differ, and
// how to run that one case again.
//
//===----------------------------------------------------------------------===//

#include "CheckProgram.h"
#include "Generator.h"

#include "llvm/Support/PrettyStackTrace.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace weft::test;

static uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Cases are dealt to as many tests, which may run at the same time.
static constexpr uint64_t numGroups = 10;

class ShardingProperty : public testing::TestWithParam<uint64_t> {};

TEST_P(ShardingProperty, ShardedEqualsOneDevice) {
  llvm::EnablePrettyStackTrace();
  const uint64_t first = fromEnvironment("WEFT_PROPERTY_SEED", 1);
  const uint64_t cases = fromEnvironment("WEFT_PROPERTY_CASES", 500);
  for (uint64_t i = GetParam(); i < cases; i += numGroups) {
    const uint64_t seed = first + i;
    llvm::PrettyStackTraceFormat crash("WEFT_PROPERTY_SEED=%llu",
                                       static_cast<unsigned long long>(seed));
    Random random(seed);
    const Program program = generateProgram(random);
    const std::optional<Failure> failure = checkProgram(program, seed);
    if (!failure)
      continue;
    const Program small = shrinkFailure(program, seed, failure->kind);
    const std::optional<Failure> smallFailure = checkProgram(small, seed);
    ADD_FAILURE() << failure->message << "\nmade smaller: "
                  << (smallFailure ? smallFailure->message : "passes") << "\n\n"
                  << small.print() << "\nagain: WEFT_PROPERTY_SEED=" << seed
                  << " WEFT_PROPERTY_CASES=1 ShardingPropertyTests";
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ShardingProperty,
                         testing::Range<uint64_t>(0, numGroups));
