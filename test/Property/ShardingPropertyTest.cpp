//===- ShardingPropertyTest.cpp - Sharded = one device --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs with random shardings on random meshes:
//
//   ShardingPropertyTests --cases 500 --seed 1
//
// Case i has the seed `seed` + i. A failure prints the program made smaller,
// the values that differ, and how to run that one case again. `scripts/test.sh
// --property-cases N` passes the number on.
//
//===----------------------------------------------------------------------===//

#include "CheckProgram.h"
#include "Generator.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace weft::test;

namespace {

struct Options {
  uint64_t cases = 500, seed = 1;
};
Options options;

/// Whether `text` is a number, which is then in `number`.
bool parseNumber(llvm::StringRef text, uint64_t &number) {
  return !text.getAsInteger(10, number);
}

/// What gtest has left: `--cases N` and `--seed N`.
bool readFlags(llvm::ArrayRef<char *> flags) {
  for (; flags.size() >= 2; flags = flags.drop_front(2)) {
    const llvm::StringRef name = flags[0];
    if (name != "--cases" && name != "--seed")
      return false;
    if (!parseNumber(flags[1], name == "--seed" ? options.seed : options.cases))
      return false;
  }
  return flags.empty();
}

} // namespace

/// Cases are dealt to as many tests, which may run at the same time.
static constexpr uint64_t numGroups = 10;

class ShardingProperty : public testing::TestWithParam<uint64_t> {};

TEST_P(ShardingProperty, ShardedEqualsOneDevice) {
  llvm::EnablePrettyStackTrace();
  for (uint64_t i = GetParam(); i < options.cases; i += numGroups) {
    const uint64_t seed = options.seed + i;
    llvm::PrettyStackTraceFormat crash("--cases 1 --seed %llu",
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
                  << small.print()
                  << "\nagain: ShardingPropertyTests --cases 1 --seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ShardingProperty,
                         testing::Range<uint64_t>(0, numGroups));

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!readFlags(llvm::ArrayRef(argv, argc).drop_front())) {
    llvm::errs() << "usage: ShardingPropertyTests [--cases N] [--seed N] "
                    "[--gtest_...]\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
