//===- ArithmeticTest.cpp - Rounding, order and special values ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace weft::runtime;

static const float infinity = std::numeric_limits<float>::infinity();

TEST(DType, EveryBFloat16SurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 value{static_cast<uint16_t>(bits)};
    if (std::isnan(toFloat(value)))
      EXPECT_TRUE(std::isnan(toFloat(toBFloat16(toFloat(value)))));
    else
      EXPECT_EQ(toBFloat16(toFloat(value)), value);
  }
}

TEST(DType, EveryFloat16SurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 value{static_cast<uint16_t>(bits)};
    if (std::isnan(toFloat(value)))
      EXPECT_TRUE(std::isnan(toFloat(toFloat16(toFloat(value)))));
    else
      EXPECT_EQ(toFloat16(toFloat(value)), value);
  }
}

/// The neighbours of a midpoint between two 16-bit values round to the nearer
/// one, and the midpoint itself to the even one.
template <typename T> static void expectTiesToEven(T (*round)(float)) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const T low{static_cast<uint16_t>(bits)};
    const T high{static_cast<uint16_t>(bits + 1)};
    const float midpoint = toFloat(low) / 2 + toFloat(high) / 2;
    if (!(midpoint > toFloat(low) && midpoint < toFloat(high)))
      continue; // not representable below the smallest floats
    ASSERT_EQ(round(midpoint), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(round(std::nextafterf(midpoint, 0)), low) << bits;
    ASSERT_EQ(round(std::nextafterf(midpoint, infinity)), high) << bits;
  }
}

TEST(DType, RoundsToNearestEven) {
  expectTiesToEven<BFloat16>(toBFloat16);
  expectTiesToEven<Float16>(toFloat16);
  EXPECT_EQ(toFloat16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(toFloat16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(toFloat16(-infinity).bits, 0xfc00);
  EXPECT_EQ(toFloat16(-0.0f).bits, 0x8000);
  EXPECT_EQ(toBFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(toBFloat16(-0.0f).bits, 0x8000);
}

TEST(Arithmetic, BFloat16SumsAreRoundedOnce) {
  // In bf16, 256 + 1 rounds back to 256; in fp32 the ones are kept.
  runCollective(5, [](Communicator &ranks) {
    BFloat16 x = toBFloat16(ranks.rank() == 0 ? 256.0f : 1.0f);
    Status status = ranks.allReduce(&x, &x, 1, DType::BF16, Reduction::Sum, {});
    EXPECT_EQ(toFloat(x), 260.0f);
    return status;
  });
}

TEST(Arithmetic, Float16SumsAreRoundedOnce) {
  // In f16, 2048 + 1 rounds back to 2048, and 40000 + 40000 is infinite.
  runCollective(5, [](Communicator &ranks) {
    const float others[] = {-40000, 1, 1, 1};
    Float16 x[] = {
        toFloat16(ranks.rank() == 0 ? 2048.0f : 1.0f),
        toFloat16(ranks.rank() == 0 ? 40000.0f : others[ranks.rank() - 1])};
    Status status = ranks.allReduce(x, x, 2, DType::F16, Reduction::Sum, {});
    EXPECT_EQ(toFloat(x[0]), 2052.0f);
    EXPECT_EQ(toFloat(x[1]), 3.0f);
    return status;
  });
}

TEST(Arithmetic, SumsBeyondTheLargestFloat16AreInfinite) {
  runCollective(3, [](Communicator &ranks) {
    Float16 x = toFloat16(ranks.rank() == 0 ? -30000.0f : -20000.0f);
    Status status = ranks.allReduce(&x, &x, 1, DType::F16, Reduction::Sum, {});
    EXPECT_EQ(x.bits, 0xfc00);
    return status;
  });
}

TEST(Arithmetic, MaxAndMinKeepNaN) {
  for (int nanRank = 0; nanRank < 3; ++nanRank)
    runCollective(3, [&](Communicator &ranks) {
      for (Reduction reduction : {Reduction::Max, Reduction::Min}) {
        std::vector<float> x(37, static_cast<float>(ranks.rank()));
        if (ranks.rank() == nanRank)
          x[17] = std::numeric_limits<float>::quiet_NaN();
        WEFT_RETURN_IF_ERROR(
            ranks.allReduce(x.data(), x.data(), 37, DType::F32, reduction, {}));
        for (int i = 0; i < 37; ++i)
          if (i == 17)
            EXPECT_TRUE(std::isnan(x[i]));
          else
            EXPECT_EQ(x[i], reduction == Reduction::Max ? 2 : 0);
      }
      return Status();
    });
}

/// As in a kernel of one device: -0 is less than +0, whoever has it.
template <typename T>
static void expectOrderOfZeros(DType dtype, T zero, T minus) {
  for (int otherRank = 0; otherRank < 3; ++otherRank)
    for (const bool otherIsMinus : {false, true})
      runCollective(3, [&](Communicator &ranks) {
        const T own =
            (ranks.rank() == otherRank) == otherIsMinus ? minus : zero;
        for (Reduction reduction : {Reduction::Max, Reduction::Min}) {
          std::vector<T> x(37, own);
          WEFT_RETURN_IF_ERROR(
              ranks.allReduce(x.data(), x.data(), 37, dtype, reduction, {}));
          const T want = reduction == Reduction::Max ? zero : minus;
          for (const T &value : x)
            EXPECT_EQ(std::memcmp(&value, &want, sizeof(T)), 0);
        }
        return Status();
      });
}

TEST(Arithmetic, MaxAndMinOrderZeros) {
  expectOrderOfZeros<float>(DType::F32, 0.0f, -0.0f);
  expectOrderOfZeros<double>(DType::F64, 0.0, -0.0);
  expectOrderOfZeros<BFloat16>(DType::BF16, {0}, {0x8000});
  expectOrderOfZeros<Float16>(DType::F16, {0}, {0x8000});
}

TEST(Arithmetic, IntegerSumsWrapAround) {
  runCollective(2, [](Communicator &ranks) {
    int32_t x = std::numeric_limits<int32_t>::max();
    Status status = ranks.allReduce(&x, &x, 1, DType::I32, Reduction::Sum, {});
    EXPECT_EQ(x, -2);
    return status;
  });
}

TEST(Arithmetic, SumsAreTakenInRankOrderWithTheSameBitsOnEveryRunAndRank) {
  constexpr int size = 6;
  constexpr int64_t count = 5003;
  std::vector<std::vector<float>> inputs(size, std::vector<float>(count));
  std::mt19937 random(1);
  for (auto &input : inputs)
    for (float &value : input)
      value = std::ldexp(static_cast<float>(random() % 2001) - 1000.0f,
                         static_cast<int>(random() % 20));
  std::vector<float> expected = inputs[0];
  for (int rank = 1; rank < size; ++rank)
    for (int64_t i = 0; i < count; ++i)
      expected[i] += inputs[rank][i];

  for (int run = 0; run < 20; ++run)
    runCollective(size, [&](Communicator &ranks) {
      std::vector<float> result(count);
      Status status =
          ranks.allReduce(inputs[ranks.rank()].data(), result.data(), count,
                          DType::F32, Reduction::Sum, {});
      EXPECT_EQ(
          std::memcmp(result.data(), expected.data(), count * sizeof(float)),
          0);
      return status;
    });
}
