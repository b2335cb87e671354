//===- VerifyOperationTest.cpp - Broken instructions ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

namespace weft::runtime {
namespace {

using testing::HasSubstr;

TEST(VerifyOperation, Instructions) {
  expectVerdicts({
      {[](SamplePlan &p) { p.instruction(0).stream = 2; },
       "entry \"train_step\": step 0 launch: stream 2 is neither computation "
       "(0) nor communication (1)"},
  });
}

TEST(VerifyOperation, UnknownOperation) {
  // The object API cannot write one: change the type byte of a copy.
  std::vector<uint8_t> payload;
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {4});
  entry.copy(entry.input("x", type), entry.output("y", type));
  payload = builder.payload();
  const auto *instruction = flatbuffers::GetRoot<plan::Plan>(payload.data())
                                ->entries()
                                ->Get(0)
                                ->instructions()
                                ->Get(0);
  const auto *tag = reinterpret_cast<const flatbuffers::Table *>(instruction)
                        ->GetAddressOf(plan::Instruction::VT_OPERATION_TYPE);
  payload[tag - payload.data()] = 77;
  const Result<Plan> plan = Plan::parse(PlanBuilder::wrap(payload));
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.status().message(),
              HasSubstr("step 0 unknown: unknown operation 77"));
}

TEST(VerifyOperation, Launch) {
  const auto launch = [](SamplePlan &p) -> plan::LaunchT & {
    return *p.instruction(0).operation.AsLaunch();
  };
  expectVerdicts({
      {[&](SamplePlan &p) { launch(p).kernel = 9; },
       "step 0 launch: kernel 9 of 3 does not exist"},
      {[&](SamplePlan &p) { launch(p).access.pop_back(); },
       "3 buffers but 2 kinds of access"},
      {[&](SamplePlan &p) { launch(p).buffers[1] = p.x; },
       "buffer 1 is listed twice"},
      {[&](SamplePlan &p) { launch(p).buffers[1] = 99; },
       "operand 1 is buffer 99, but the entry has 6"},
      {[&](SamplePlan &p) { launch(p).access[2] = 4; },
       "operand 2 has access 4, must be 1, 2 or 3"},
      {[&](SamplePlan &p) {
         launch(p).positions.push_back(std::make_unique<plan::AxisListT>());
         launch(p).positions[0]->axes = {plan::AxisRef(4, 1, 2)};
       },
       "position 0 names mesh axis 4"},
  });
}

TEST(VerifyOperation, Batch) {
  // Instruction 0 becomes t = x + w, s = u + w; instruction 4 reads s.
  const auto launch = [](SamplePlan &p) -> plan::LaunchT & {
    auto &launch = *p.instruction(0).operation.AsLaunch();
    launch.batch = 2;
    launch.buffers = {p.x, p.w, p.t, p.x, p.w, p.u};
    return launch;
  };
  expectVerdicts({
      {[&](SamplePlan &p) { launch(p); }, ""},
      {[&](SamplePlan &p) { launch(p).batch = 0; },
       "step 0 launch: a batch of 0 sets of arguments, must be 1 to 65535"},
      {[&](SamplePlan &p) { launch(p).batch = 65536; },
       "a batch of 65536 sets of arguments, must be 1 to 65535"},
      {[&](SamplePlan &p) { launch(p).batch = 3; },
       "6 buffers but 3 kinds of access in a batch of 3"},
      {[&](SamplePlan &p) { launch(p).buffers[4] = 99; },
       "operand 4 is buffer 99, but the entry has 6"},
      {[&](SamplePlan &p) { launch(p).buffers[4] = p.x; },
       "buffer 1 is listed twice"},
      {[&](SamplePlan &p) { launch(p).buffers[5] = p.t; },
       "set 0 writes buffer 2, which set 1 uses as well"},
      {[&](SamplePlan &p) { launch(p).buffers[0] = p.u; },
       "set 1 writes buffer 4, which set 0 uses as well"},
      {[&](SamplePlan &p) { launch(p).buffers[5] = p.loss; },
       "operand 2 of set 1 has 1 elements of f32, that of set 0 has 16 of f32"},
      // Every set reads what was written.
      {[&](SamplePlan &p) { launch(p).buffers[3] = p.s; },
       "step 0 launch: reads buffer 3 (temporary) before anything is written"},
  });
}

/// No set may touch what a collective in flight writes.
TEST(VerifyOperation, BatchBesideACollective) {
  expectVerdicts({{[](SamplePlan &p) {
                     auto &total = *p.instruction(2).operation.AsLaunch();
                     total.batch = 2;
                     total.buffers = {p.x, p.loss, p.s, p.loss};
                   },
                   "step 2 launch: set 0 writes buffer 5"},
                  {[](SamplePlan &p) {
                     auto &total = *p.instruction(2).operation.AsLaunch();
                     total.batch = 2;
                     total.access = {1};
                     total.buffers = {p.x, p.s};
                   },
                   "step 2 launch: reads buffer 3 (temporary), which "
                   "collective 0 in flight writes"}});
}

TEST(VerifyOperation, Copy) {
  const auto copy = [](SamplePlan &p) -> plan::CopyT & {
    return *p.instruction(5).operation.AsCopy();
  };
  expectVerdicts({
      {[&](SamplePlan &p) { copy(p).source = 99; },
       "step 5 copy: source is buffer 99, but the entry has 6"},
      {[&](SamplePlan &p) { copy(p).destination = 99; },
       "destination is buffer 99"},
      {[&](SamplePlan &p) { copy(p).source = p.loss; },
       "source has 4 bytes, destination 64"},
      {[&](SamplePlan &p) { copy(p).source = copy(p).destination; },
       "buffer 0 is copied to itself"},
  });
}

TEST(VerifyOperation, Sort) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x = entry.input("x", builder.type(DType::F32, {2, 6, 5}));
  const uint32_t y = entry.output("y", builder.type(DType::I32, {2, 4, 5}));
  entry.copy(x, y);
  auto &operation = entry.table().instructions[0]->operation;
  operation.Set(plan::SortT());
  plan::SortT &sort = *operation.AsSort();
  const auto reset = [&] {
    sort.operand = x;
    sort.out = y;
    sort.outer = 2;
    sort.size = 6;
    sort.inner = 5;
    sort.count = 4;
  };
  const auto expect = [&](std::string_view message) {
    EXPECT_THAT(verdict(builder), HasSubstr(message));
    reset();
  };
  reset();
  EXPECT_EQ(verdict(builder), "");
  sort.operand = 9;
  expect("operand is buffer 9, but the entry has 2");
  sort.out = x;
  expect("out is f32, must be i32");
  sort.inner = 4;
  expect("outer 2, inner 4 and the first 4 of 6 elements in between do not fit "
         "buffers of 60 and 40 elements");
  sort.outer = 3;
  sort.size = 4;
  sort.count = 4;
  expect("do not fit buffers");
  sort.outer = -2;
  expect("do not fit buffers");
  entry.table().inputs[0]->type->dtype = plan::DType::I32;
  entry.table().buffers[x]->dtype = plan::DType::I32;
  sort.out = x;
  sort.count = 6;
  expect("out is buffer 0, which is also an operand");
  builder.table.target->kind = "cuda";
  builder.table.target->processor = "sm_90";
  expect("a sort, which plans for \"cuda\" do not have");
}

TEST(VerifyOperation, Convolution) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x = entry.input("x", builder.type(DType::F32, {2, 6, 3}));
  const uint32_t w = entry.input("w", builder.type(DType::F32, {3, 3, 5}));
  const uint32_t y = entry.output("y", builder.type(DType::F32, {2, 4, 5}));
  entry.copy(x, y);
  auto &operation = entry.table().instructions[0]->operation;
  operation.Set(plan::ConvolutionT());
  plan::ConvolutionT &convolution = *operation.AsConvolution();
  const auto reset = [&] {
    convolution.lhs = x;
    convolution.rhs = w;
    convolution.out = y;
    convolution.groups = 1;
    convolution.batch = 2;
    convolution.input_features = 3;
    convolution.output_features = 5;
    convolution.lhs_strides = {3, 18, 1};
    convolution.rhs_strides = {5, 5, 1};
    convolution.out_strides = {5, 20, 1};
    convolution.windows = {{6, 3, 4, 1, 0, 1, 1, 3, 15, 5}};
  };
  const auto change = [&](int64_t lhs, int64_t stride, int64_t low) {
    convolution.windows = {{lhs, 3, 4, stride, low, 1, 1, 3, 15, 5}};
  };
  const auto expect = [&](std::string_view message) {
    EXPECT_THAT(verdict(builder), HasSubstr(message));
    reset();
  };
  reset();
  EXPECT_EQ(verdict(builder), "");
  convolution.rhs = 9;
  expect("rhs is buffer 9, but the entry has 3");
  convolution.windows.resize(5, convolution.windows.front());
  expect("5 spatial dimensions, a convolution has at most 4");
  change(6, /*stride=*/0, 0);
  expect(
      "a window with stride 0, low 0, dilations 1 and 1, and 3 places of 4, of "
      "which the stride and the dilations must be at least 1, and none beyond "
      "2^30");
  change(6, 1, /*low=*/int64_t(1) << 40);
  expect("a window with stride 1, low 1099511627776");
  convolution.lhs_strides.pop_back();
  expect("lhs has 2 strides, must have 3");
  convolution.input_features = 0;
  expect("lhs has a dimension of 0 elements with stride 1, must be at least 1 "
         "and 0");
  convolution.rhs_strides.back() = -1;
  expect("rhs has a dimension of 5 elements with stride -1");
  convolution.input_features = int64_t(1) << 62;
  convolution.lhs_strides[2] = convolution.rhs_strides[1] = 0;
  expect("lhs has more elements than buffer 0, which has 36");
  convolution.lhs_strides[1] = 19;
  expect("lhs reaches beyond the 36 elements of buffer 0");
  convolution.batch = 1;
  expect("out does not have each of the 40 elements of buffer 2 once");
  convolution.lhs = y;
  change(/*lhs=*/4, 1, 0);
  convolution.lhs_strides[1] = 12;
  expect("out is buffer 2, which is also an operand");
  entry.table().inputs[1]->type->dtype = plan::DType::I32;
  entry.table().buffers[w]->dtype = plan::DType::I32;
  expect("buffer 1 is i32, must be f32");
  builder.table.target->kind = "cuda";
  builder.table.target->processor = "sm_90";
  expect("a convolution, which plans for \"cuda\" do not have");
}

TEST(VerifyOperation, Collectives) {
  const auto start = [](SamplePlan &p) -> plan::CollectiveStartT & {
    return *p.instruction(1).operation.AsCollectiveStart();
  };
  const std::string sizes = "elements to ";
  expectVerdicts({
      {[&](SamplePlan &p) {
         start(p).kind = static_cast<plan::CollectiveKind>(50);
       },
       "unknown kind of collective 50"},
      {[&](SamplePlan &p) {
         start(p).reduction = static_cast<plan::Reduction>(50);
       },
       "unknown reduction 50"},
      {[&](SamplePlan &p) { start(p).group = 8; },
       "step 1 all_reduce: group 8 of 1 does not exist"},
      {[&](SamplePlan &p) { start(p).queue = 2; },
       "step 1 all_reduce: queue 2 of 2 does not exist"},
      {[&](SamplePlan &p) { start(p).source = 99; },
       "source is buffer 99, but the entry has 6"},
      {[&](SamplePlan &p) { start(p).destination = 99; },
       "destination is buffer 99, but the entry has 6"},
      {[&](SamplePlan &p) { p.step().buffers[p.s]->dtype = plan::DType::I32; },
       "source is f32, destination i32"},
      {[&](SamplePlan &p) { start(p).inner = 15; },
       "outer 1, middle 1, inner 15 over a group of 2 take 15 elements to 15, "
       "but the buffers have 16 and 16"},
      {[&](SamplePlan &p) { start(p).inner = int64_t(1) << 62; }, sizes},
      {[&](SamplePlan &p) { start(p).inner = -16, start(p).outer = -1; },
       sizes},
      {[&](SamplePlan &p) { start(p).kind = plan::CollectiveKind::AllGather; },
       "take 16 elements to 32"},
      {[&](SamplePlan &p) {
         start(p).kind = plan::CollectiveKind::ReduceScatter;
       },
       "take 32 elements to 16"},
      {[&](SamplePlan &p) { start(p).kind = plan::CollectiveKind::AllToAll; },
       "take 32 elements to 32"},
      {[&](SamplePlan &p) {
         start(p).kind = plan::CollectiveKind::AllToAll;
         start(p).inner = 8;
         start(p).destination = p.t;
       },
       "source and destination are both buffer 2, only all_reduce may work in "
       "place"},
      {[&](SamplePlan &p) {
         start(p).kind = plan::CollectiveKind::Permute;
         start(p).permute_from = p.axes({"data"});
         start(p).permute_to = p.axes({});
       },
       "permutation from {\"data\"} to {}: sizes 2 and 1 differ"},
      {[&](SamplePlan &p) {
         start(p).kind = plan::CollectiveKind::Permute;
         start(p).permute_from = p.axes({"data"});
         start(p).permute_to = p.axes({"data"});
         p.table.groups[0]->axes.clear();
       },
       "group 0 {} does not contain {\"data\"}"},
      {[&](SamplePlan &p) {
         start(p).kind = plan::CollectiveKind::Permute;
         start(p).permute_from = p.axes({"data"});
         start(p).permute_to = p.axes({"data"});
         start(p).permute_shift = 4;
       },
       "permute_shift is 4, must be at least 0 and less than 2"},
      {[&](SamplePlan &p) {
         start(p).kind = plan::CollectiveKind::Permute;
         start(p).permute_from = p.axes({});
         start(p).permute_from->axes = {plan::AxisRef(2, 1, 2)};
       },
       "permute_from names mesh axis 2"},
  });
}

TEST(VerifyOperation, Exchange) {
  PlanBuilder builder({{"data", 2}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  // [2, 6, 5] of F32 to [2, 3, 5].
  const uint32_t x = entry.input("x", builder.type(DType::F32, {60}));
  const uint32_t y = entry.output("y", builder.type(DType::F32, {30}));
  auto &start = entry.start(plan::CollectiveKind::Exchange, group, x, y, 2, 5);
  entry.wait(0);
  const auto reset = [&] {
    start.outer = 2;
    start.inner = 5;
    start.exchange_from = {4, 2};
    start.exchange_to = {3};
    // Rank 0 gives elements 3 and 8, rank 1 gives none.
    start.exchange_runs = {{0, 0, 4, 1}, {8, 4, 1, 1}};
    start.wire_bytes = 2 * 5 * 4 * 2;
  };
  const auto expect = [&](std::string_view message) {
    EXPECT_THAT(verdict(builder), HasSubstr(message));
    reset();
  };
  reset();
  EXPECT_EQ(verdict(builder), "");
  start.exchange_from.clear();
  expect("an exchange needs segments before and after, of which each rank "
         "holds at least one element");
  start.exchange_to = {4, -1};
  expect("an exchange needs segments before and after");
  start.exchange_from = {INT64_MAX, 2};
  expect("an exchange needs segments before and after");
  start.exchange_runs.clear();
  expect("an exchange needs runs of elements");
  for (const plan::ElementRun run :
       {plan::ElementRun(9, 0, 4, 1), plan::ElementRun(0, 3, 4, 1),
        plan::ElementRun(0, -1, 1, 1), plan::ElementRun(2, 0, 4, -1),
        plan::ElementRun(0, 0, 0, 1), plan::ElementRun(0, 0, 2, 0),
        plan::ElementRun(0, 0, 3, INT64_MAX)}) {
    start.exchange_runs = {run};
    expect("do not fit in the 12 elements before and 6 after");
  }
  start.exchange_runs = {{0, 0, 4, 1}, {8, 3, 1, 1}};
  expect("two runs go to element 3");
  start.inner = 4;
  expect("outer 2, inner 4 and 6 elements to 3 in between take 48 elements to "
         "24, but the buffers have 60 and 30");
  start.wire_bytes = 40;
  expect("the map sends 80 bytes at most, wire_bytes says 40");
}

TEST(VerifyOperation, PredHasNoSum) {
  PlanBuilder builder({{"data", 2}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x = entry.input("x", builder.type(DType::Pred, {4}));
  auto &start = entry.start(plan::CollectiveKind::AllReduce, group, x, x, 1, 4);
  entry.wait(0);
  EXPECT_THAT(verdict(builder), HasSubstr("pred values have no sum"));
  start.reduction = plan::Reduction::Max;
  EXPECT_EQ(verdict(builder), "");
}

} // namespace
} // namespace weft::runtime
