//===- ShardingPropertyTest.cpp - Sharded = one device --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs with random shardings on random meshes, run as threads and on
// an emulated GPU (emulator/) that all ranks share:
//
//   ShardingPropertyTests --cases 300 --device-cases 24 --seed 1
//
// `--optimize-shardings 0` keeps the shardings that propagation finds.
// Case i has the seed `seed` + i. A failure prints the program made smaller,
// the values that differ, and how to run that one case again. `scripts/test.sh
// --property-cases N` passes the number on.
//
//===----------------------------------------------------------------------===//

#include "CheckProgram.h"
#include "Generator.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace weft::test;

namespace {

/// Cases are dealt to as many tests, which may run at the same time.
constexpr uint64_t numGroups = 10;

struct Options {
  uint64_t cases = 300, deviceCases = 24, seed = 1, optimizeShardings = 1;
};
Options options;

/// The number that a flag sets, or null.
uint64_t *numberOf(llvm::StringRef flag) {
  return llvm::StringSwitch<uint64_t *>(flag)
      .Case("--cases", &options.cases)
      .Case("--device-cases", &options.deviceCases)
      .Case("--seed", &options.seed)
      .Case("--optimize-shardings", &options.optimizeShardings)
      .Default(nullptr);
}

/// What gtest has left: flags, each with a number.
bool readFlags(llvm::ArrayRef<char *> flags) {
  for (; flags.size() >= 2; flags = flags.drop_front(2)) {
    uint64_t *number = numberOf(flags[0]);
    if (!number || llvm::StringRef(flags[1]).getAsInteger(10, *number))
      return false;
  }
  return flags.empty();
}

/// Checks the program of a seed; a failure is made smaller.
void checkCase(const Setting &setting, llvm::StringRef again) {
  Random random(setting.seed);
  const Program program = generateProgram(random, hasWindows(setting.seed));
  const std::optional<Failure> failure = checkProgram(program, setting);
  if (!failure)
    return;
  const Program small = shrinkFailure(program, setting, failure->kind);
  const std::optional<Failure> smallFailure = checkProgram(small, setting);
  ADD_FAILURE() << failure->message << "\nmade smaller: "
                << (smallFailure ? smallFailure->message : "passes") << "\n\n"
                << small.print() << "\nagain: ShardingPropertyTests "
                << again.str() << " --seed " << setting.seed
                << (setting.optimizeShardings ? "" : " --optimize-shardings 0");
}

/// The cases of one group.
void checkGroup(uint64_t group, uint64_t cases, llvm::StringRef target,
                llvm::StringRef again) {
  llvm::EnablePrettyStackTrace();
  for (uint64_t i = group; i < cases; i += numGroups) {
    const Setting setting{options.seed + i, target.str(),
                          options.optimizeShardings != 0};
    llvm::PrettyStackTraceFormat crash(
        "%s --seed %llu", again.str().c_str(),
        static_cast<unsigned long long>(setting.seed));
    checkCase(setting, again);
  }
}

} // namespace

class ShardingProperty : public testing::TestWithParam<uint64_t> {};

TEST_P(ShardingProperty, ShardedEqualsOneDevice) {
  checkGroup(GetParam(), options.cases, "cpu", "--cases 1 --device-cases 0");
}

#ifdef WEFT_EMULATOR_FOLDER
TEST_P(ShardingProperty, ShardedOnGpuEqualsOneDevice) {
  // Libraries that are named already may be those of a GPU.
  setenv("WEFT_CUDA_LIBRARIES", WEFT_EMULATOR_FOLDER, /*overwrite=*/0);
  setenv("WEFT_CUDA_TUNE", "off", /*overwrite=*/0);
  checkGroup(GetParam(), options.deviceCases, "cuda:sm_90",
             "--cases 0 --device-cases 1");
}
#endif

INSTANTIATE_TEST_SUITE_P(Cases, ShardingProperty,
                         testing::Range<uint64_t>(0, numGroups));

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!readFlags(llvm::ArrayRef(argv, argc).drop_front())) {
    llvm::errs()
        << "usage: ShardingPropertyTests [--cases N] [--device-cases N] "
           "[--seed N] [--optimize-shardings 0|1] [--gtest_...]\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
