//===- BytesTest.cpp - Bytes, operations and times as text ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/Bytes.h"

#include "gtest/gtest.h"

using namespace weft;

namespace {

TEST(BytesTest, UnitsGoUpByTheirStep) {
  EXPECT_EQ(printBytes(1023), "1023 B");
  EXPECT_EQ(printBytes(1024), "1.00 KiB");
  EXPECT_EQ(printBytes(98304), "96.0 KiB");
  EXPECT_EQ(printBytes(uint64_t(5000) << 40), "5000 TiB");
  EXPECT_EQ(exactBytes(1536), "1.50 KiB (1536 bytes)");
  EXPECT_EQ(printCount(999), "999");
  EXPECT_EQ(printCount(1500), "1.50 k");
  EXPECT_EQ(printCount(17'200'000'000), "17.2 G");
}

TEST(BytesTest, TimesHaveTheUnitOfTheirSize) {
  EXPECT_EQ(printSeconds(12.34e-6), "12.3 us");
  EXPECT_EQ(printSeconds(1.5e-3), "1.50 ms");
  EXPECT_EQ(printSeconds(2), "2.000 s");
}

} // namespace
