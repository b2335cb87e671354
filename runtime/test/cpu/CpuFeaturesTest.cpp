//===- CpuFeaturesTest.cpp - What this processor can execute ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/CpuFeatures.h"

#include "PlanBuilder.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

std::string verdict(std::vector<std::string> features) {
  return checkFeatures(features, "znver9").message();
}

TEST(CpuFeatures, NothingIsNeeded) {
  EXPECT_EQ(verdict({}), "");
  EXPECT_EQ(verdict({"-avx512f", "prefer-256-bit", "+fast-gather"}), "");
}

TEST(CpuFeatures, UnknownNamesAreRefused) {
  EXPECT_THAT(verdict({"teleport", "-warp", "+beam"}),
              HasSubstr("for processor \"znver9\" and need teleport, beam, "
                        "which this runtime cannot check for"));
}

#if defined(__x86_64__)
TEST(CpuFeatures, BaselineIsPresent) {
  EXPECT_EQ(verdict({"sse2", "+sse", "cmov", "cx8", "fxsr", "mmx"}), "");
}

/// The kernel's list is another source of the same facts; it hides what the
/// operating system does not support.
TEST(CpuFeatures, AgreesWithTheKernel) {
  std::ifstream info("/proc/cpuinfo");
  std::string line, flags;
  while (std::getline(info, line))
    if (line.starts_with("flags"))
      flags = line + " ";
  if (flags.empty())
    GTEST_SKIP() << "no /proc/cpuinfo";
  const std::pair<const char *, const char *> names[] = {
      {"avx", "avx"},
      {"avx2", "avx2"},
      {"fma", "fma"},
      {"f16c", "f16c"},
      {"bmi", "bmi1"},
      {"bmi2", "bmi2"},
      {"sse4.2", "sse4_2"},
      {"avx512f", "avx512f"},
      {"avx512bw", "avx512bw"},
      {"avx512vl", "avx512vl"},
      {"avx512dq", "avx512dq"},
      {"avx512bf16", "avx512_bf16"},
      {"avx512vnni", "avx512_vnni"},
      {"amx-tile", "amx_tile"},
      {"avxvnni", "avx_vnni"},
      {"gfni", "gfni"},
      {"popcnt", "popcnt"},
      {"movbe", "movbe"},
  };
  for (auto [llvm, linux] : names) {
    const bool listed =
        flags.find(" " + std::string(linux) + " ") != std::string::npos;
    EXPECT_EQ(supportOf(llvm),
              listed ? FeatureSupport::Present : FeatureSupport::Missing)
        << llvm;
  }
}

TEST(CpuFeatures, MissingOnesAreNamedTogether) {
  // No processor has both.
  std::string message = verdict({"sse2", "sse4a", "amx-fp16", "uintr"});
  EXPECT_THAT(message, HasSubstr("which this machine does not have; compile "
                                 "the plan for this machine's processor"));
  EXPECT_EQ(message.find("sse2"), std::string::npos);
}
#endif

} // namespace
} // namespace weft::runtime
