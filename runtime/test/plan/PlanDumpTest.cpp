//===- PlanDumpTest.cpp - A plan as text ------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelinePlan.h"
#include "SamplePlan.h"
#include "plan/Text.h"

#include <gmock/gmock.h>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

TEST(PlanDump, Entry) {
  const Result<std::string> text = SamplePlan(2).build().dump("train_step");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text,
            R"(entry "train_step" arena 384 bytes, liveness 384 bytes
  input "w" f32[16] local [16] sharding [{}] %0 state
  input "x" f32[32] local [16] sharding [{"data"}] %1
  output "w" f32[16] local [16] sharding [{}] %0 state
  output "loss" f32[] local [] sharding [] unreduced {"data"} %5
  buffers 6
    %0 state f32[16] offset 0 bytes 64 alive 0..0 "w"
    %1 input f32[16] offset 64 bytes 64 alive 0..0 "x"
    %2 temporary f32[16] offset 128 bytes 64 alive 0..0
    %3 temporary f32[16] offset 192 bytes 64 alive 0..0
    %4 temporary f32[16] offset 256 bytes 64 alive 0..0
    %5 output f32[] offset 320 bytes 4 alive 0..0 "loss"
  instructions 6
    0: compute launch @add(read %1, read %0, write %2)
    1: comm start #0 all_reduce sum %2 -> %3 over group 0 {"data"} outer 1 inner 16 wire 0 bytes 128 cause "gradient of w, summed over data" at "model.py:12"
    2: compute launch @total(read %2, write %5)
    3: comm wait #0
    4: compute launch @add(read %0, read %3, write %4)
    5: compute copy %4 -> %0
)");
}

TEST(PlanDump, ObservedValues) {
  SamplePlan sample(2);
  auto value = std::make_unique<plan::ObservedValueT>();
  value->kind = plan::ObservedKind::Sum;
  value->terms = 16;
  value->number = 3;
  value->name = "weft.reduce (model.py:3)";
  sample.step().observed.push_back(std::move(value));
  EXPECT_THAT(*sample.build().dump("train_step"),
              HasSubstr("\n  observed 1\n    output 0 is value 3 sum of 16 "
                        "terms made of [] \"weft.reduce (model.py:3)\"\n"));
}

TEST(PlanDump, PartOfABuffer) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const uint32_t whole = entry.temporary(DType::F32, {32});
  const uint32_t part = entry.temporary(DType::F32, {16});
  entry.table().buffers[part]->part_of = whole;
  entry.table().buffers[part]->offset =
      entry.table().buffers[whole]->offset + 64;
  EXPECT_THAT(*builder.build().dump("e"),
              HasSubstr("\n    %1 temporary f32[16] offset 64 bytes 64 alive "
                        "0..0 part of %0\n"));
}

TEST(PlanDump, Pipeline) {
  PipelinePlan builder(2, 1);
  builder.step().timeline().messages[0]->location = "model.py:7";
  const Plan plan = builder.build();
  EXPECT_THAT(*plan.dump("header"), HasSubstr("\npipeline over \"pipe\"\n"
                                              "  role 0 arena 768 bytes\n"
                                              "  role 1 arena 768 bytes\n"));
  EXPECT_THAT(*plan.dump("states"),
              HasSubstr("state \"h1\" f32[16] local [16] sharding [{}] offset "
                        "320 bytes 64 parameter role 0 slots 2 every 64 "
                        "internal\n"));
  EXPECT_EQ(*plan.dump("forward0"),
            R"(entry "forward0" role 0 arena 0 bytes, liveness 0 bytes
  input "h0" f32[16] local [16] sharding [{}] %0 state
  input "w0" f32[16] local [16] sharding [{}] %1 state
  output "h1" f32[16] local [16] sharding [{}] %2 state
  buffers 3
    %0 state f32[16] offset 256 bytes 64 alive 0..0 "h0"
    %1 state f32[16] offset 64 bytes 64 alive 0..0 "w0"
    %2 state f32[16] offset 320 bytes 64 alive 0..0 slots 2 every 64 "h1"
  instructions 1
    0: compute launch @add(read %0, read %1, write %2)
)");
  EXPECT_THAT(*plan.dump("step"), HasSubstr(R"(
  output "t" f32[16] local [16] sharding [{}] %3, %4 state
)"));
  EXPECT_THAT(*plan.dump("step"), HasSubstr(R"(
    %0 input f32[1x16] offset 256 bytes 64 alive 0..0 role 0 "x"
)"));
  EXPECT_THAT(*plan.dump("step"), HasSubstr(R"(
  timeline of 1 micro-batches over group 1
    message 0 "activation of stage 0" role 0 -> 1 queue 0 ["h1"] -> ["h1"] at "model.py:7"
    message 1 "gradient of stage 0" role 1 -> 0 queue 1 ["g1"] -> ["g1"]
    message 2 "tied parameter" role 0 -> 1 queue 2 ["new t"] -> ["new t"]
    role 0 actions 7
      0: run "begin0" of 0
      1: run "forward0" of 0
      2: send message 0 of 0
      3: receive message 1 of 0
)"));
}

TEST(PlanDump, Batch) {
  PlanBuilder builder({{"a", 1}});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {16});
  const uint32_t x = entry.input("x", type), y = entry.output("y", type),
                 z = entry.output("z", type);
  entry.launchBatch("add", {{{x, read}, {y, write}}, {{x, read}, {z, write}}});
  EXPECT_THAT(*builder.build().dump("e"),
              HasSubstr("0: compute launch @add(read %0, write %1; read %0, "
                        "write %2) batch 2\n"));
}

TEST(PlanDump, OtherSections) {
  SamplePlan sample(2);
  sample.table.target->features = {"avx2", "fma"};
  sample.table.metadata.push_back(std::make_unique<plan::MetadataT>());
  sample.table.metadata[0]->key = "python.signature";
  sample.table.metadata[0]->value = "{}";
  const Plan plan = sample.build();
  EXPECT_THAT(*plan.dump("header"),
              HasSubstr("target cpu x86-64 features [avx2, fma]\n"
                        "mesh <[\"data\"=2]> ranks 2\n"
                        "arena 384 bytes, constants 0 bytes, object "));
  EXPECT_THAT(*plan.dump("header"),
              HasSubstr("metadata \"python.signature\" 2 bytes\n"));
  EXPECT_EQ(*plan.dump("groups"), "groups 1\n  group 0 {\"data\"} size 2\n");
  EXPECT_EQ(*plan.dump("states"),
            "states 1\n  state \"w\" f32[16] local [16] sharding [{}] offset 0 "
            "bytes 64 parameter\n");
  EXPECT_EQ(*plan.dump("kernels"),
            "kernels 3\n  kernel 0 @fill \"fill of 16\" parts 1\n"
            "  kernel 1 @add \"add of 16\" parts 1\n"
            "  kernel 2 @total \"total of 16\" parts 1\n");
  EXPECT_EQ(plan.dump(), *plan.dump("header") + *plan.dump("groups") +
                             *plan.dump("states") + *plan.dump("kernels") +
                             *plan.dump("init") + *plan.dump("train_step"));
  EXPECT_THAT(plan.dump("nothing").status().message(),
              HasSubstr("the plan has no section \"nothing\"; it has header, "
                        "groups, states, kernels, init, train_step"));
}

TEST(PlanDump, Epilogue) {
  PlanBuilder builder({{"a", 1}});
  builder.table.target->kind = "none";
  EntryBuilder entry = builder.entry("e");
  const auto square = builder.type(DType::F32, {8, 8});
  const uint32_t x = entry.input("x", square);
  const uint32_t bias = entry.input("bias", builder.type(DType::F32, {8}));
  const uint32_t y = entry.output("y", square);
  const uint32_t aux = entry.output("aux", square);
  plan::GemmT &gemm = entry.gemm(x, x, y, 8, 8, 8);
  gemm.precision = plan::GemmPrecision::TF32;
  gemm.epilogue = plan::GemmEpilogue::BiasGeluAux;
  gemm.bias = bias;
  gemm.aux = aux;
  EXPECT_THAT(*builder.build().dump("e"),
              HasSubstr("out [0, 8, 1] tf32 then bias_gelu_aux bias %1 aux "
                        "%3\n"));
}

TEST(PlanDump, GemmAndAllKindsOfCollectives) {
  PlanBuilder builder({{"a", 2}, {"b", 2}});
  const uint32_t both = builder.group({"a", "b"});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x = entry.input("x", builder.type(DType::BF16, {2, 4}));
  const uint32_t y = entry.input("y", builder.type(DType::BF16, {4, 2}));
  const uint32_t z = entry.output("z", builder.type(DType::F32, {2, 2}));
  const uint32_t t = entry.temporary(DType::F32, {4});
  const uint32_t g = entry.temporary(DType::F32, {16});
  entry.gemm(x, y, z, 2, 2, 4);
  entry.gemm(x, y, z, 2, 2, 4).accumulate = true;
  auto &permute = entry.start(plan::CollectiveKind::Permute, both, z, t, 1, 4);
  permute.permute_from = builder.axes({"a"});
  permute.permute_to = builder.axes({"b"});
  permute.permute_shift = 1;
  entry.wait(0);
  entry.start(plan::CollectiveKind::AllGather, both, t, g, 1, 4);
  entry.wait(1);
  entry.start(plan::CollectiveKind::ReduceScatter, both, g, t, 1, 4).reduction =
      plan::Reduction::Max;
  entry.wait(2);
  auto &exchange =
      entry.start(plan::CollectiveKind::AllToAll, both, t, z, 1, 1);
  exchange.split_first = true;
  entry.wait(3);
  const std::string text = *builder.build().dump("e");
  EXPECT_THAT(text, HasSubstr("0: compute gemm %2 = %0 * %1 batch 1 m 2 n 2 k "
                              "4 strides lhs [0, 4, 1] rhs [0, 2, 1] out [0, "
                              "2, 1]\n"));
  EXPECT_THAT(text, HasSubstr("1: compute gemm %2 += %0"));
  EXPECT_THAT(text,
              HasSubstr("start #0 permute %2 -> %3 from {\"a\"} to {\"b\"} "
                        "shift 1 over group 0 {\"a\", \"b\"} outer 1 inner 4"));
  EXPECT_THAT(text, HasSubstr("start #1 all_gather %3 -> %4"));
  EXPECT_THAT(text, HasSubstr("start #2 reduce_scatter max %4 -> %3"));
  EXPECT_THAT(text, HasSubstr("start #3 all_to_all %3 -> %2 over group 0 "
                              "{\"a\", \"b\"} split first outer 1 middle 1 "
                              "inner 1"));
}

TEST(PlanDump, Attention) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const plan::AttentionSizes sizes{1, 2, 3, 4, 2, 8};
  const uint32_t query = entry.input("q", builder.type(DType::F32, {64}));
  const uint32_t key = entry.input("k", builder.type(DType::F32, {48}));
  const uint32_t row = entry.input("r", builder.type(DType::F32, {8}));
  const uint32_t place = entry.input("p", builder.type(DType::I32, {}));
  const uint32_t out = entry.output("o", builder.type(DType::F32, {64}));
  const uint32_t logsumexp = entry.output("l", builder.type(DType::F32, {8}));
  entry.attention(query, key, key, out, logsumexp, sizes);
  plan::AttentionGradT grad;
  grad.query = grad.out = grad.out_cotangent = query;
  grad.key = grad.value = key;
  grad.logsumexp = row;
  grad.logsumexp_cotangent = row;
  grad.query_cotangent = entry.output("dq", builder.type(DType::F32, {64}));
  grad.key_cotangent = entry.output("dk", builder.type(DType::F32, {48}));
  grad.value_cotangent = entry.output("dv", builder.type(DType::F32, {48}));
  grad.causal = true;
  grad.diagonal = place;
  entry.attentionGrad(std::move(grad), sizes);
  const std::string text = *builder.build().dump("e");
  EXPECT_THAT(text,
              HasSubstr("0: compute attention %4, %5 = %0, %1, %1 scale 0.5 "
                        "batch 1 queries 2 keys 3 heads 4 of 2 head size 8\n"));
  EXPECT_THAT(text, HasSubstr("1: compute attention_grad %6, %7, %8 = %0, %1, "
                              "%1, %0, %2, %0 logsumexp %2 causal diagonal %3 "
                              "scale 0.5 "));
}

TEST(PlanDump, NamesStayOnTheirLine) {
  EXPECT_EQ(escaped("a\"b\\c\nd\te\x01"), "a\\\"b\\\\c\\nd\\te\\x01");
  EXPECT_EQ(escaped("\xc3\xa9t\xc3\xa9"), "\xc3\xa9t\xc3\xa9");
  EXPECT_EQ(escaped("\xc3"), "\\xc3");
  EXPECT_EQ(escaped("\xff\x80x"), "\\xff\\x80x");
}

TEST(PlanDump, Specs) {
  const Plan plan = SamplePlan(4).build();
  ASSERT_EQ(plan.entries().size(), 2u);
  const EntrySpec *step = plan.entry("train_step");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->input("x")->globalShape, std::vector<int64_t>{64});
  EXPECT_EQ(step->input("x")->localShape, std::vector<int64_t>{16});
  EXPECT_TRUE(step->input("w")->isState);
  EXPECT_TRUE(step->output("w")->isState);
  EXPECT_FALSE(step->output("loss")->isState);
  EXPECT_EQ(step->output("x"), nullptr);
  EXPECT_EQ(plan.entry("none"), nullptr);
  EXPECT_NE(plan.state("w"), nullptr);
  EXPECT_NE(plan.hash(), SamplePlan(2).build().hash());
}

} // namespace
} // namespace weft::runtime
