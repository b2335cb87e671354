//===- FailureReportTest.cpp - The file that a failure leaves -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "watch/FailureReport.h"
#include "io/ScratchDirectory.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace weft::runtime {
namespace {

struct FailureReport : ScratchDirectory {};

/// What somebody has put where the report goes is left alone.
TEST_F(FailureReport, FollowsNoLink) {
  store("precious", "kept");
  const std::string report = file("weft-failure-rank-3.txt");
  std::filesystem::create_symlink(file("precious"), report);
  writeFailureReport(file(""), 3, "what failed");
  EXPECT_FALSE(std::filesystem::is_symlink(report));
  EXPECT_EQ(load("weft-failure-rank-3.txt"), "what failed");
  EXPECT_EQ(load("precious"), "kept");
}

} // namespace
} // namespace weft::runtime
