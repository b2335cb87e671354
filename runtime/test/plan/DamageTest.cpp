//===- DamageTest.cpp - Files that are no plan, or were one -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaPlan.h"
#include "PipelinePlan.h"
#include "SamplePlan.h"
#include "weft/runtime/PlanFormat.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <random>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

std::string messageOf(const std::vector<std::byte> &bytes) {
  const Result<Plan> plan = Plan::parse(bytes);
  return plan.ok() ? "" : plan.status().message();
}

/// A plan without kernels: small enough to break every bit of it.
std::vector<std::byte> smallPlan() {
  PlanBuilder builder({{"data", 2}});
  EntryBuilder entry = builder.entry("step");
  const auto type = builder.type(DType::F32, {4}, {{"data"}});
  const uint32_t x = entry.input("x", type);
  const uint32_t y = entry.output("y", type);
  entry.copy(x, y);
  return builder.bytes();
}

TEST(Damage, TooShortOrSomethingElse) {
  EXPECT_THAT(messageOf({}), HasSubstr("is not a plan: 0 bytes without the "
                                       "identifier \"WEFT\" at byte 4"));
  EXPECT_THAT(messageOf(std::vector<std::byte>(100)),
              HasSubstr("is not a plan: 100 bytes"));
}

TEST(Damage, OtherFormatVersion) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::CreateContainer(builder, planFormatVersion + 41, 0,
                                       builder.CreateVector<uint8_t>({1})),
                 plan::ContainerIdentifier());
  const auto *data =
      reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  const Result<Plan> plan = Plan::parse({data, builder.GetSize()});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(plan.status().message(),
              HasSubstr("has format version 59, this runtime reads version 18; "
                        "compile the plan with the compiler of this "
                        "runtime's release"));
}

TEST(Damage, PayloadThatIsNoPlan) {
  const auto garbage = PlanBuilder::wrap({1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(messageOf(garbage),
              HasSubstr("its payload is not a FlatBuffer of the plan schema"));
  EXPECT_THAT(messageOf(PlanBuilder::wrap({})),
              HasSubstr("its payload is not a FlatBuffer of the plan schema"));
}

TEST(Damage, ChangedPayload) {
  std::vector<std::byte> bytes = smallPlan();
  bytes[bytes.size() - 1] ^= std::byte{1};
  bytes[bytes.size() / 2] ^= std::byte{1};
  EXPECT_THAT(messageOf(bytes), HasSubstr("the file is damaged; copy or "
                                          "compile it again"));
}

TEST(Damage, EveryTruncationIsAnError) {
  const std::vector<std::byte> whole = smallPlan();
  for (size_t size = 0; size < whole.size(); ++size) {
    // A buffer of exactly this size, so that a sanitizer sees every overrun.
    const std::vector<std::byte> part(whole.begin(), whole.begin() + size);
    EXPECT_NE(messageOf(part), "") << size << " of " << whole.size();
  }
}

TEST(Damage, FileThatDoesNotEndWithItsPayload) {
  // All remainders of the payload's size; what follows it is no part of it.
  for (int more = 0; more < 16; ++more) {
    std::vector<uint8_t> payload = SamplePlan(2).payload();
    payload.resize(payload.size() + more);
    std::vector<std::byte> bytes = PlanBuilder::wrap(payload);
    EXPECT_EQ(messageOf(bytes), "") << more;
    std::vector<std::byte> cut(bytes.begin(), bytes.end() - 1);
    EXPECT_NE(messageOf(cut), "") << more;
    for (size_t junk : {1, 8, 16, 1000}) {
      std::vector<std::byte> longer = bytes;
      longer.resize(bytes.size() + junk);
      EXPECT_THAT(messageOf(longer), HasSubstr("the file was cut short or "
                                               "appended to; copy or compile"))
          << more << " " << junk;
    }
  }
  // The zeros at the end are part of the file too.
  std::vector<uint8_t> payload = SamplePlan(2).payload();
  payload.resize(payload.size() / 16 * 16 + 17);
  std::vector<std::byte> bytes = PlanBuilder::wrap(payload);
  bytes.back() = std::byte(1);
  EXPECT_THAT(messageOf(bytes), HasSubstr("do not end with its payload"));
}

TEST(Damage, EveryFlipIsAnErrorOrChangesNothing) {
  const std::vector<std::byte> whole = smallPlan();
  const Result<Plan> original = Plan::parse(whole);
  ASSERT_TRUE(original.ok()) << original.status().message();
  const std::string text = original->dump();
  for (size_t at = 0; at < whole.size(); ++at)
    for (int mask : {0xff, 1, 2, 4, 8, 16, 32, 64, 128}) {
      std::vector<std::byte> bytes = whole;
      bytes[at] ^= static_cast<std::byte>(mask);
      const Result<Plan> plan = Plan::parse(bytes);
      EXPECT_TRUE(!plan.ok() || plan->dump() == text)
          << "byte " << at << " mask " << mask;
    }
}

/// Damage with a matching hash: what a broken writer could produce. The
/// FlatBuffers and semantic verifiers must hold alone.
void expectEveryFlipIsSafe(const PlanBuilder &builder) {
  const std::vector<uint8_t> payload = builder.payload();
  ASSERT_EQ(messageOf(PlanBuilder::wrap(payload)), "");
  int accepted = 0;
  for (size_t at = 0; at < payload.size(); ++at)
    for (int mask : {0xff, 1, 2, 4, 8, 16, 32, 64, 128}) {
      std::vector<uint8_t> bytes = payload;
      bytes[at] ^= mask;
      const Result<Plan> plan = Plan::parse(PlanBuilder::wrap(bytes));
      accepted += plan.ok();
      EXPECT_FALSE((plan.ok() ? plan->dump() : plan.status().message()).empty())
          << "byte " << at << " mask " << mask;
    }
  // Names and estimates may change; offsets and sizes may not.
  EXPECT_GT(accepted, 0);
}

TEST(Damage, EveryFlipOfThePayloadIsSafe) {
  PlanBuilder builder({{"data", 2}, {"model", 2}});
  const uint32_t both = builder.group({"data", "model"});
  builder.state("w", builder.type(DType::F32, {4, 4}, {{}, {"model"}}));
  EntryBuilder entry = builder.entry("step");
  const uint32_t w = entry.state("w", true, true);
  const uint32_t x =
      entry.input("x", builder.type(DType::F32, {4, 4}, {{"data"}}));
  const uint32_t c = entry.constant(countingArray({4}));
  const uint32_t t = entry.temporary(DType::F32, {2, 2});
  const uint32_t y =
      entry.output("y", builder.type(DType::F32, {4}, {}, {"data"}));
  entry.gemm(x, w, t, 2, 2, 4);
  entry.start(plan::CollectiveKind::AllReduce, both, t, t, 1, 4);
  entry.wait(0);
  entry.copy(c, y);
  expectEveryFlipIsSafe(builder);
}

/// Grids, batches, a workspace, an epilogue, attention and its derivative.
TEST(Damage, EveryFlipOfAPlanForGpusIsSafe) {
  PlanBuilder builder({{"data", 2}});
  EntryBuilder entry = builder.entry("step");
  const auto value = [&](const char *name, std::vector<int64_t> shape) {
    return entry.input(name, builder.type(DType::F32, std::move(shape)));
  };
  const auto result = [&](const char *name, std::vector<int64_t> shape) {
    return entry.output(name, builder.type(DType::F32, std::move(shape)));
  };
  const uint32_t x = value("x", {4, 2}), y = value("y", {2, 2}),
                 bias = value("bias", {2}), product = result("z", {4, 2});
  plan::GemmT &gemm = entry.gemm(x, y, product, 4, 2, 2);
  gemm.epilogue = plan::GemmEpilogue::BiasGeluAux;
  gemm.bias = bias;
  gemm.aux = result("aux", {4, 2});
  const plan::AttentionSizes sizes{1, 2, 2, 2, 1, 4};
  const uint32_t query = value("q", {1, 2, 2, 4}), key = value("k", {1, 2, 4}),
                 diagonal = entry.input("d", builder.type(DType::I32, {})),
                 out = result("o", {1, 2, 2, 4}), sums = result("l", {1, 2, 2});
  plan::AttentionT &attention =
      entry.attention(query, key, key, out, sums, sizes);
  attention.causal = true;
  attention.diagonal = diagonal;
  plan::AttentionGradT grad;
  grad.query = query;
  grad.key = grad.value = key;
  grad.out = grad.out_cotangent = out;
  grad.logsumexp = sums;
  grad.logsumexp_cotangent = sums;
  grad.query_cotangent = result("dq", {1, 2, 2, 4});
  grad.key_cotangent = result("dk", {1, 2, 4});
  grad.value_cotangent = result("dv", {1, 2, 4});
  entry.attentionGrad(std::move(grad), sizes);
  entry.launchBatch("add", {{{x, read}, {product, write}},
                            {{x, read}, {gemm.aux.value(), write}}});
  entry.launch("sum", {{x, read}, {product, update}}, {{"data"}});
  makeCudaPlan(builder, ".entry add(\n.entry sum(\n");
  builder.table.kernels[0]->grid->max_batch = 2;
  builder.table.kernels[1]->grid->workspace_bytes = 64;
  expectEveryFlipIsSafe(builder);
}

/// Roles, slots, messages and rows.
TEST(Damage, EveryFlipOfAPipelineIsSafe) {
  PipelinePlan plan(2, 1);
  makeCudaPlan(plan, ".entry add(\n.entry fill(\n.entry total(\n");
  expectEveryFlipIsSafe(plan);
}

TEST(Damage, RandomPayloadDamageIsSafe) {
  const std::vector<uint8_t> payload = SamplePlan(2).payload();
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bytes = payload;
    // The tables are at the end; most of the rest is the kernels' object.
    const size_t begin = bytes.size() - std::min<size_t>(bytes.size(), 2500);
    for (int i = 0; i < 4; ++i)
      bytes[begin + random() % (bytes.size() - begin)] =
          static_cast<uint8_t>(random());
    const Result<Plan> plan = Plan::parse(PlanBuilder::wrap(bytes));
    EXPECT_FALSE((plan.ok() ? plan->dump() : plan.status().message()).empty());
  }
}

TEST(Damage, FilesThatCannotBeRead) {
  const Result<Plan> missing = Plan::load("/nonexistent/m.plan");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::NotFound);
  EXPECT_THAT(
      missing.status().message(),
      HasSubstr("/nonexistent/m.plan: cannot open the file: No such file"));
  const Result<Plan> directory = Plan::load("/");
  ASSERT_FALSE(directory.ok());
  EXPECT_THAT(directory.status().message(), HasSubstr("/: not a regular file"));
}

TEST(Damage, FilesAreReadWhole) {
  const std::string path = testing::TempDir() + "/damage-test.plan";
  const std::vector<std::byte> bytes = SamplePlan(2).bytes();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  const Result<Plan> plan = Plan::load(path);
  std::remove(path.c_str());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->ranks(), 2);
  EXPECT_EQ(plan->dump(), SamplePlan(2).build().dump());
}

} // namespace
} // namespace weft::runtime
