//===- PlanReportTest.cpp - The facts of a plan ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Report/PlanReport.h"

#include "weft/Report/MemoryOverTime.h"
#include "weft/runtime/plan_generated.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace weft;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// A plan with one entry on a mesh <["data"=2, "model"=8]>.
class PlanReportTest : public testing::Test {
protected:
  PlanReportTest() {
    table.producer = "test";
    table.target = std::make_unique<plan::TargetT>();
    for (auto [name, size] : {std::pair("data", 2), std::pair("model", 8)}) {
      table.mesh.push_back(std::make_unique<plan::MeshAxisT>());
      table.mesh.back()->name = name;
      table.mesh.back()->size = size;
    }
    addGroup({plan::AxisRef(0, 1, 2)});
    addGroup({plan::AxisRef(0, 1, 2), plan::AxisRef(1, 2, 4)});
    table.entries.push_back(std::make_unique<plan::EntryT>());
    entry().name = "step";
  }

  plan::EntryT &entry() { return *table.entries[0]; }

  void addGroup(std::vector<plan::AxisRef> axes) {
    table.groups.push_back(std::make_unique<plan::AxisListT>());
    table.groups.back()->axes = std::move(axes);
  }

  template <typename T> plan::InstructionT &add(T operation) {
    entry().instructions.push_back(std::make_unique<plan::InstructionT>());
    entry().instructions.back()->operation.Set(std::move(operation));
    return *entry().instructions.back();
  }

  void addCollective(plan::CollectiveKind kind, uint32_t group, uint64_t bytes,
                     std::string cause, std::string location) {
    plan::CollectiveStartT start;
    start.kind = kind;
    start.group = group;
    start.wire_bytes = bytes;
    start.reduction = plan::Reduction::Max;
    plan::InstructionT &instruction = add(std::move(start));
    instruction.cause = std::move(cause);
    instruction.location = std::move(location);
  }

  plan::BufferT &addBuffer(plan::BufferKind kind, uint64_t bytes,
                           uint32_t first, uint32_t last) {
    entry().buffers.push_back(std::make_unique<plan::BufferT>());
    plan::BufferT &buffer = *entry().buffers.back();
    buffer.kind = kind;
    buffer.bytes = bytes;
    buffer.first = first;
    buffer.last = last;
    buffer.shape = {2, 3};
    return buffer;
  }

  static void addContent(plan::BufferT &buffer, uint32_t first,
                         plan::Purpose purpose, std::string source) {
    buffer.contents.push_back(std::make_unique<plan::ContentT>());
    buffer.contents.back()->first = first;
    buffer.contents.back()->purpose = purpose;
    buffer.contents.back()->source = std::move(source);
  }

  PlanReport report() const {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(plan::Plan::Pack(builder, &table));
    return makePlanReport(
        *flatbuffers::GetRoot<plan::Plan>(builder.GetBufferPointer()));
  }

  plan::PlanT table;
};

TEST_F(PlanReportTest, AnEmptyEntry) {
  PlanReport empty = report();
  ASSERT_EQ(empty.entries.size(), 1u);
  EXPECT_EQ(empty.entries[0].name, "step");
  EXPECT_THAT(empty.entries[0].collectives, IsEmpty());
  EXPECT_THAT(
      printPlanReport(empty),
      HasSubstr("entry step: no instructions\nmemory of a rank in step\n"));
}

TEST_F(PlanReportTest, AlikeCollectivesAreCounted) {
  using plan::CollectiveKind;
  addCollective(CollectiveKind::AllReduce, 0, 100, "sum of g", "m.py:7");
  addCollective(CollectiveKind::AllGather, 1, 60, "w is split", "a:b.py:12");
  addCollective(CollectiveKind::AllReduce, 0, 100, "sum of g", "m.py:7");
  addCollective(CollectiveKind::AllReduce, 0, 100, "sum of g", "m.py:8");
  addCollective(CollectiveKind::AllReduce, 0, 40, "sum of g", "m.py:7");
  addCollective(CollectiveKind::Permute, 0, 1, "", "");
  EntryReport step = report().entries[0];
  ASSERT_EQ(step.collectives.size(), 5u);
  const CollectiveRecord &reduce = step.collectives[0];
  EXPECT_EQ(reduce.kind, "all_reduce");
  EXPECT_THAT(reduce.axes, ElementsAre("data"));
  EXPECT_EQ(reduce.reduction, "max");
  EXPECT_EQ(reduce.bytes, 100u);
  EXPECT_EQ(reduce.count, 2);
  EXPECT_EQ(reduce.cause, "sum of g");
  EXPECT_EQ(reduce.file, "m.py");
  EXPECT_EQ(reduce.line, 7);
  const CollectiveRecord &gather = step.collectives[1];
  EXPECT_THAT(gather.axes, ElementsAre("data", "model:(2)4"));
  EXPECT_EQ(gather.reduction, "");
  EXPECT_EQ(gather.file, "a:b.py");
  EXPECT_EQ(gather.line, 12);
  const CollectiveRecord &permute = step.collectives[4];
  EXPECT_EQ(permute.kind, "permute");
  EXPECT_EQ(permute.file, "");
  EXPECT_EQ(permute.line, 0);
  EXPECT_EQ(step.wireBytes, 100u * 3 + 60 + 40 + 1);
  EXPECT_THAT(
      printPlanReport(report()),
      HasSubstr("entry step: 6 collectives\n"
                "  collective  axes              bytes sent  count  cause\n"
                "  all_reduce  data                   100 B      3  sum of g\n"
                "  all_gather  data, model:(2)4        60 B      1  w is split"
                "\n"));
}

TEST_F(PlanReportTest, CollectivesOfEqualLayersAreOneRow) {
  auto sum = [&](uint64_t bytes, std::string cause) {
    addCollective(plan::CollectiveKind::AllReduce, 0, bytes, std::move(cause),
                  "m.py:7");
  };
  sum(8, "of blocks[7]['w'][1], needed as []");
  sum(8, "of blocks[12]['w'][1], needed as []");
  sum(8, "of blocks[12]['w'][1], needed as [{}]");
  sum(4, "of blocks[12]['w'][1], needed as []");
  sum(8, "of blocks[6]['w'][1], needed as []");
  sum(8, "of blocks[0]['w'][2], needed as []");
  sum(8, "of w[007] and x[3], by y[3]");
  sum(8, "of w[007] and x[4], by y[4]");
  sum(8, "of w[007] and x[5], by y[4]");
  sum(12, "3 in one:\n4 B: of [1]\n4 B: of [x]\n4 B: of [2]");
  EXPECT_THAT(
      printPlanReport(report()),
      HasSubstr(
          "  collective  axes  bytes sent  count  cause\n"
          "  all_reduce  data         8 B      3  of blocks[6..7,12]['w'][1], "
          "needed as []\n"
          "  all_reduce  data         8 B      1  of blocks[12]['w'][1], "
          "needed as [{}]\n"
          "  all_reduce  data         4 B      1  of blocks[12]['w'][1], "
          "needed as []\n"
          "  all_reduce  data         8 B      1  of blocks[0]['w'][2], "
          "needed as []\n"
          "  all_reduce  data         8 B      2  of w[007] and x[3..4], by "
          "y[3..4]\n"
          "  all_reduce  data         8 B      1  of w[007] and x[5], by y[4]\n"
          "  all_reduce  data        12 B      1  3 in one:\n"
          "                                       2 x 4 B: of [1..2]\n"
          "                                       4 B: of [x]\n"));
}

TEST_F(PlanReportTest, PaddingIsListedOnceForEachName) {
  auto bind = [&](std::string name, std::vector<int64_t> global,
                  std::vector<int64_t> local, plan::DType dtype) {
    auto binding = std::make_unique<plan::BindingT>();
    binding->name = name;
    binding->type = std::make_unique<plan::TensorTypeT>();
    binding->type->dtype = dtype;
    binding->type->global_shape = global;
    binding->type->local_shape = local;
    // Dimension 0 over "model", dimension 1 over "data".
    for (plan::AxisRef ref : {plan::AxisRef(1, 1, 8), plan::AxisRef(0, 1, 2)}) {
      binding->type->dim_axes.push_back(std::make_unique<plan::AxisListT>());
      binding->type->dim_axes.back()->axes = {ref};
    }
    return binding;
  };
  entry().inputs.push_back(bind("even", {16, 4}, {2, 2}, plan::DType::F32));
  entry().inputs.push_back(bind("w", {50257, 4}, {6283, 2}, plan::DType::F32));
  entry().outputs.push_back(bind("w", {50257, 4}, {6283, 2}, plan::DType::F32));
  entry().outputs.push_back(bind("y", {8, 3}, {1, 2}, plan::DType::BF16));
  PlanReport report = this->report();
  ASSERT_EQ(report.padding.size(), 2u);
  EXPECT_EQ(report.padding[0].bytes, 7u * 4 * 4);
  EXPECT_THAT(
      printPlanReport(report),
      HasSubstr("padded dimensions\n"
                "  w: dim 0 of size 50257 over 8 shards of 6283, padded "
                "by 7 (0.014 %), 112 B in all\n"
                "  y: dim 1 of size 3 over 2 shards of 2, padded by 1 "
                "(33 %), 16 B in all\n"
                "memory of a rank in step\n"));
}

TEST_F(PlanReportTest, WorkAndMemory) {
  plan::InstructionT &gemm = add(plan::GemmT());
  gemm.flops = 1000;
  gemm.bytes = 300;
  plan::InstructionT &launch = add(plan::LaunchT());
  launch.flops = 10;
  launch.bytes = 80;
  add(plan::LaunchT());
  add(plan::ConvolutionT());
  add(plan::CopyT()).bytes = 8;
  table.states.push_back(std::make_unique<plan::StateT>());
  table.states[0]->name = "w";
  table.states[0]->type = std::make_unique<plan::TensorTypeT>();
  table.states[0]->bytes = 70;
  table.constant_data.resize(64);
  table.arena_bytes = 2048;
  table.states[0]->purpose = plan::Purpose::Parameter;
  // 128 for the state, 64 for the constant, the rest for a call.
  entry().arena_bytes = 128 + 64 + 1500;
  entry().liveness_bytes = 128 + 64 + 1000;
  PlanReport report = this->report();
  const EntryReport &step = report.entries[0];
  EXPECT_EQ(step.gemms, 1);
  EXPECT_EQ(step.convolutions, 1);
  EXPECT_EQ(step.launches, 2);
  EXPECT_EQ(step.copies, 1);
  EXPECT_EQ(step.flops, 1010u);
  EXPECT_EQ(step.recomputedFlops, 0u);
  EXPECT_EQ(step.memoryTraffic, 388u);
  EXPECT_EQ(step.memory[0].callBytes, 1500u);
  EXPECT_EQ(step.memory[0].livenessBytes, 1000u);
  EXPECT_EQ(step.memory[0].arenaBytes, 2048u);
  EXPECT_EQ(printPlanReport(report),
            "entry step: 1 GEMM, 1 convolution, 2 kernel launches, 1 copy\n"
            "memory of a rank in step\n"
            "                           at the peak       highest\n"
            "  parameters                       70 B          70 B\n"
            "  constants                        64 B          64 B\n"
            "  free                         1.87 KiB\n"
            "  arena                        2.00 KiB\n"
            "  1.500x the liveness lower bound\n"
            "  alive at the peak\n"
            "         70 B  parameters  f32[] w\n"
            "         64 B  constants  all constants\n");
}

TEST_F(PlanReportTest, WhatBuffersHoldOverTime) {
  using plan::Purpose;
  for (int i = 0; i < 4; ++i)
    add(plan::LaunchT()).location = "m.py:" + std::to_string(i);
  entry().instructions[2]->flops = 100;
  entry().instructions[2]->recomputes = true;
  entry().instructions[3]->flops = 300;
  // An activation that a gradient overwrites at 2, and an argument.
  plan::BufferT &shared = addBuffer(plan::BufferKind::Temporary, 100, 0, 3);
  addContent(shared, 0, Purpose::Activation, "m.py:0");
  addContent(shared, 2, Purpose::Gradient, "gradient of w, m.py:2");
  plan::BufferT &input = addBuffer(plan::BufferKind::Input, 40, 0, 1);
  input.name = "x";
  addContent(input, 0, Purpose::Argument, "");
  // A purpose that this reader does not know counts all the same.
  plan::BufferT &late = addBuffer(plan::BufferKind::Temporary, 64, 2, 2);
  addContent(late, 2, static_cast<Purpose>(200), "m.py:2");
  table.arena_bytes = 256;
  EntryReport step = report().entries[0];
  EXPECT_EQ(step.recomputedFlops, 100u);
  // 128 + 64 bytes each at 0, 1 and 2.
  EXPECT_EQ(step.memory[0].peakInstruction, 0u);
  EXPECT_EQ(step.memory[0].peakLocation, "m.py:0");
  EXPECT_EQ(step.memory[0].peakBytes, 140u);
  ASSERT_EQ(step.memory[0].purposes.size(), 10u);
  auto bytesOf = [&](Purpose purpose) {
    const PurposeRecord &record =
        step.memory[0].purposes[static_cast<size_t>(purpose)];
    return std::pair(record.peakBytes, record.highestBytes);
  };
  EXPECT_EQ(bytesOf(Purpose::Activation), std::pair(100ul, 100ul));
  EXPECT_EQ(bytesOf(Purpose::Argument), std::pair(40ul, 40ul));
  EXPECT_EQ(bytesOf(Purpose::Gradient), std::pair(0ul, 100ul));
  EXPECT_EQ(bytesOf(Purpose::Temporary), std::pair(0ul, 64ul));
  ASSERT_EQ(step.memory[0].peak.size(), 2u);
  EXPECT_EQ(step.memory[0].peak[0].name, "m.py:0");
  EXPECT_EQ(step.memory[0].peak[0].type, "f32[2x3]");
  EXPECT_EQ(step.memory[0].peak[1].name, "x");
  EXPECT_THAT(printPlanReport(report()),
              HasSubstr("  25.0 % of FLOPs are recomputation\n"
                        "  alive at the peak (m.py:0)\n"
                        "        100 B  activations  f32[2x3] m.py:0\n"
                        "         40 B  arguments  f32[2x3] x\n"));
  // As much is in use at 2 without either.
  EXPECT_EQ(step.memory[0].peak[0].savedBytes, 0u);
  EXPECT_EQ(step.memory[0].peak[1].savedBytes, 0u);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Entry::Pack(builder, &entry()));
  const std::vector<PurposeBytes> bytes = memoryOverTime(
      *flatbuffers::GetRoot<plan::Entry>(builder.GetBufferPointer()));
  ASSERT_EQ(bytes.size(), 5u);
  const auto over = [&](Purpose purpose) {
    std::vector<uint64_t> sizes;
    for (const PurposeBytes &each : bytes)
      sizes.push_back(each[indexOf(purpose)]);
    return sizes;
  };
  EXPECT_THAT(over(Purpose::Activation), ElementsAre(100, 100, 0, 0, 0));
  EXPECT_THAT(over(Purpose::Gradient), ElementsAre(0, 0, 100, 100, 0));
  EXPECT_THAT(over(Purpose::Argument), ElementsAre(40, 40, 0, 0, 0));
  EXPECT_THAT(over(Purpose::Temporary), ElementsAre(0, 0, 64, 0, 0));
}

TEST_F(PlanReportTest, WhatFreeingATensorSavesIsUpToTheNextMoment) {
  using plan::Purpose;
  for (int i = 0; i < 3; ++i)
    add(plan::LaunchT());
  auto addTensor = [&](uint64_t bytes, uint64_t first, uint64_t last) {
    plan::BufferT &buffer =
        addBuffer(plan::BufferKind::Temporary, bytes, first, last);
    addContent(buffer, first, Purpose::Temporary, "m.py:0");
  };
  // In use are 448 bytes at 0 and 256 at 1 and 2.
  addTensor(320, 0, 0);
  addTensor(128, 0, 1);
  addTensor(128, 1, 2);
  addTensor(128, 2, 2);
  table.arena_bytes = 448;
  MemoryReport memory = report().entries[0].memory[0];
  EXPECT_EQ(memory.peakInstruction, 0u);
  ASSERT_EQ(memory.peak.size(), 2u);
  EXPECT_EQ(memory.peak[0].bytes, 320u);
  // Down to the 256 at 1, not by all of the 320.
  EXPECT_EQ(memory.peak[0].savedBytes, 192u);
  EXPECT_EQ(memory.peak[1].savedBytes, 128u);
}

TEST_F(PlanReportTest, ManyTensorsAtThePeakAreSummedUp) {
  add(plan::LaunchT());
  for (int i = 0; i < 10; ++i)
    addContent(addBuffer(plan::BufferKind::Temporary, 10 + i, 0, 0), 0,
               plan::Purpose::Temporary, "");
  EXPECT_THAT(printPlanReport(report()), HasSubstr("       21 B  in 2 more\n"));
}

} // namespace
