//===- ShardCopyTest.cpp - Parts of a tensor and the whole ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/ShardCopy.h"

#include "PlanBuilder.h"

#include <gmock/gmock.h>

#include <optional>
#include <random>

namespace weft::runtime {
namespace {

using testing::ElementsAre;

/// A type of the schema and the mesh that it is on.
struct Sharded {
  Sharded(PlanBuilder &builder, const plan::TensorTypeT &type) {
    EntryBuilder entry = builder.entry("e");
    entry.input("x", type);
    plan.emplace(builder.build());
    mesh.emplace(plan->contents());
  }
  const plan::TensorType &type() const {
    return *plan->contents().entries()->Get(0)->inputs()->Get(0)->type();
  }
  std::vector<std::vector<std::byte>> extract(const Array &whole) const {
    std::vector<std::vector<std::byte>> parts;
    int64_t bytes = byteSize(whole.dtype);
    for (int64_t extent : *type().local_shape())
      bytes *= extent;
    for (int64_t rank = 0; rank < mesh->ranks(); ++rank) {
      parts.emplace_back(bytes);
      extractShard(type(), *mesh, rank, whole.data.data(), parts.back().data());
    }
    return parts;
  }
  Array assemble(const std::vector<std::vector<std::byte>> &parts) const {
    return assembleShards(type(), *mesh,
                          [&](int64_t rank) { return parts[rank].data(); });
  }
  std::optional<Plan> plan;
  std::optional<Mesh> mesh;
};

TEST(ShardCopy, Columns) {
  PlanBuilder builder({{"a", 2}});
  const Sharded sharded(builder, builder.type(DType::F32, {2, 4}, {{}, {"a"}}));
  const auto parts = sharded.extract(countingArray({2, 4}));
  const auto *rank1 = reinterpret_cast<const float *>(parts[1].data());
  EXPECT_THAT(std::vector<float>(rank1, rank1 + 4), ElementsAre(2, 3, 6, 7));
}

TEST(ShardCopy, PartsAreReadInRuns) {
  // Rows of 8 KiB, and columns of 4 bytes.
  for (const bool isOfRows : {true, false}) {
    PlanBuilder builder({{"a", 2}});
    const std::vector<std::vector<std::string>> dims =
        isOfRows ? std::vector<std::vector<std::string>>{{"a"}, {}}
                 : std::vector<std::vector<std::string>>{{}, {"a"}};
    const std::vector<int64_t> shape = isOfRows ? std::vector<int64_t>{5, 2048}
                                                : std::vector<int64_t>{2048, 2};
    const Sharded sharded(builder, builder.type(DType::F32, shape, dims));
    const Array whole = countingArray(shape);
    const auto parts = sharded.extract(whole);
    for (int64_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(isOfLongRuns(sharded.type(), *sharded.mesh, rank), isOfRows);
      std::vector<std::byte> part(parts[rank].size(), std::byte(1));
      size_t bytes = 0;
      const auto read = [&](uint64_t offset, std::span<std::byte> memory) {
        std::copy_n(whole.data.begin() + offset, memory.size(), memory.begin());
        bytes += memory.size();
        return Status();
      };
      EXPECT_EQ(
          readShard(sharded.type(), *sharded.mesh, rank, read, part.data()),
          Status());
      EXPECT_EQ(part, parts[rank]);
      EXPECT_EQ(bytes, isOfRows ? (rank == 0 ? 3 : 2) * 8192u : 8192u);
    }
  }
}

TEST(ShardCopy, AssembleInvertsExtract) {
  const std::vector<std::vector<std::vector<std::string>>> shardings = {
      {{}, {}, {}},
      {{"a"}, {}, {}},
      {{}, {}, {"b"}},
      {{"b"}, {"a"}, {}},
      {{"a", "b"}, {}, {}},
      {{"b", "a"}, {}, {}},
      {{"b:(2)2"}, {"b:(1)2"}, {"a"}},
      {{}, {"b", "a"}, {}}};
  // The sizes of the second divide by no axis.
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{8, 8, 8}, {5, 7, 3}})
    for (const auto &dims : shardings)
      for (DType dtype :
           {DType::F32, DType::BF16, DType::F16, DType::I64, DType::Pred}) {
        PlanBuilder builder({{"a", 2}, {"b", 4}});
        const Sharded sharded(builder, builder.type(dtype, shape, dims));
        Array whole(dtype, shape);
        std::mt19937 random(5);
        for (std::byte &byte : whole.data)
          byte = static_cast<std::byte>(random());
        EXPECT_EQ(sharded.assemble(sharded.extract(whole)).data, whole.data);
      }
}

/// 5 rows over 4 ranks are 2, 2, 1 and none; 3 columns over 2 are 2 and 1.
TEST(ShardCopy, PaddingIsZero) {
  PlanBuilder builder({{"a", 4}, {"b", 2}});
  const Sharded sharded(builder,
                        builder.type(DType::F32, {5, 3}, {{"a"}, {"b"}}));
  Array whole = countingArray({5, 3});
  for (float &value : whole.as<float>())
    ++value;
  const auto parts = sharded.extract(whole);
  const auto valuesOf = [&](int64_t rank) {
    const auto *part = reinterpret_cast<const float *>(parts[rank].data());
    return std::vector<float>(part, part + 4);
  };
  EXPECT_THAT(valuesOf(0), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(valuesOf(1), ElementsAre(3, 0, 6, 0));
  EXPECT_THAT(valuesOf(4), ElementsAre(13, 14, 0, 0));
  EXPECT_THAT(valuesOf(5), ElementsAre(15, 0, 0, 0));
  EXPECT_THAT(valuesOf(7), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(sharded.assemble(parts).data, whole.data);
}

/// Where others need the 3 elements in 3 parts, two hold 6 of them.
TEST(ShardCopy, PartAsLargeAsTheWhole) {
  PlanBuilder builder({{"a", 2}, {"b", 3}});
  plan::TensorTypeT type = builder.type(DType::F32, {3}, {{"a"}});
  type.local_shape = {3};
  const Sharded sharded(builder, type);
  const Array whole = countingArray({3});
  const auto parts = sharded.extract(whole);
  EXPECT_FALSE(isReplicated(sharded.type()));
  EXPECT_EQ(parts[0], whole.data);
  EXPECT_EQ(parts[3], std::vector<std::byte>(whole.data.size()));
  EXPECT_EQ(sharded.assemble(parts).data, whole.data);
}

TEST(ShardCopy, PaddingOfPartsIsNotTaken) {
  PlanBuilder builder({{"a", 2}});
  const Sharded sharded(builder, builder.type(DType::F32, {3, 2}, {{"a"}}));
  const Array part = countingArray({2, 2});
  std::vector<float> copy(4);
  copyShard(sharded.type(), *sharded.mesh, 1, part.data.data(),
            reinterpret_cast<std::byte *>(copy.data()));
  EXPECT_THAT(copy, ElementsAre(0, 1, 0, 0));
}

TEST(ShardCopy, Scalar) {
  PlanBuilder builder({{"a", 2}});
  const Sharded sharded(builder, builder.type(DType::F32, {}));
  EXPECT_EQ(floats(sharded.assemble(sharded.extract(countingArray({})))),
            std::vector<float>{0});
}

TEST(ShardCopy, EmptyTensor) {
  PlanBuilder builder({{"a", 2}});
  const Sharded sharded(builder, builder.type(DType::F32, {0, 4}, {{}, {"a"}}));
  EXPECT_EQ(sharded.assemble(sharded.extract(countingArray({0, 4}))).size(), 0);
}

template <typename T>
std::vector<std::vector<std::byte>> bytesOf(const std::vector<T> &values) {
  std::vector<std::vector<std::byte>> parts;
  for (const T &value : values) {
    const auto *begin = reinterpret_cast<const std::byte *>(&value);
    parts.emplace_back(begin, begin + sizeof(T));
  }
  return parts;
}

TEST(ShardCopy, TermsOfAMaximum) {
  PlanBuilder builder({{"a", 2}});
  plan::TensorTypeT type = builder.type(DType::F32, {}, {}, {"a"});
  type.unreduced_kind = plan::Reduction::Max;
  const Sharded sharded(builder, type);
  EXPECT_EQ(floats(sharded.assemble(bytesOf<float>({-3, -2}))),
            std::vector<float>{-2});
  Array whole(DType::F32, {});
  whole.as<float>()[0] = -5;
  const auto parts = sharded.extract(whole);
  EXPECT_EQ(parts[0], parts[1]);
  EXPECT_EQ(floats(sharded.assemble(parts)), std::vector<float>{-5});
}

/// Partial sums along "b" are added, copies along "a" are taken once.
template <typename T> T total(DType dtype, const std::vector<T> &ofRanks) {
  PlanBuilder builder({{"a", 2}, {"b", 2}});
  const Sharded sharded(builder, builder.type(dtype, {}, {}, {"b"}));
  Array sum = sharded.assemble(bytesOf(ofRanks));
  return sum.as<T>()[0];
}

TEST(ShardCopy, TermsAreAdded) {
  EXPECT_EQ(total<float>(DType::F32, {1.5f, 2, 100, 100}), 3.5f);
  EXPECT_EQ(total<double>(DType::F64, {1.5, 2, 100, 100}), 3.5);
  EXPECT_EQ(total<int32_t>(DType::I32, {INT32_MAX, 1, 0, 0}), INT32_MIN);
  EXPECT_EQ(total<int64_t>(DType::I64, {-7, 3, 0, 0}), -4);
  EXPECT_EQ(total<int8_t>(DType::I8, {127, 1, 0, 0}), -128);
  EXPECT_EQ(total<int16_t>(DType::I16, {32767, 1, 0, 0}), -32768);
  EXPECT_EQ(toFloat(total<BFloat16>(DType::BF16,
                                    {toBFloat16(1), toBFloat16(2), {}, {}})),
            3);
  EXPECT_EQ(
      toFloat(total<Float16>(DType::F16, {toFloat16(1), toFloat16(2), {}, {}})),
      3);
}

TEST(ShardCopy, SixteenBitTermsAreRoundedOnce) {
  PlanBuilder builder({{"b", 4}});
  const Sharded sharded(builder, builder.type(DType::BF16, {}, {}, {"b"}));
  const Array sum = sharded.assemble(bytesOf<BFloat16>(
      {toBFloat16(256), toBFloat16(1), toBFloat16(1), toBFloat16(1)}));
  EXPECT_EQ(toFloat(sum.as<BFloat16>()[0]), 260);
}

} // namespace
} // namespace weft::runtime
