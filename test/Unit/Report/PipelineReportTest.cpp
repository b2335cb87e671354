//===- PipelineReportTest.cpp - The facts of a pipelined plan -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Report/PlanReport.h"

#include "weft/Cost/ClusterFile.h"
#include "weft/Cost/CostModel.h"
#include "weft/runtime/plan_generated.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace weft;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A step of two stages, each of a forward and a backward pass of 1 us a
/// micro-batch, and of an update.
class PipelineReportTest : public testing::Test {
protected:
  PipelineReportTest() {
    table.producer = "test";
    table.target = std::make_unique<plan::TargetT>();
    table.mesh.push_back(std::make_unique<plan::MeshAxisT>());
    table.mesh.back()->name = "pipe";
    table.mesh.back()->size = 2;
    table.pipeline = std::make_unique<plan::PipelineT>();
    step = addEntry("step");
    step->timeline = std::make_unique<plan::TimelineT>();
    step->timeline->microbatches = 2;
    for (uint32_t role : {0, 1}) {
      table.pipeline->roles.push_back(std::make_unique<plan::RoleT>());
      table.pipeline->roles.back()->arena_bytes = 4096 - 1024 * role;
      step->timeline->rows.push_back(std::make_unique<plan::TimelineRowT>());
      for (const char *name : {"F", "B", "U0"})
        addSegment("step." + std::to_string(role) + name, role);
    }
    setRows({{"0F", 0}, {"0F", 1}, {"0B", 0}, {"0B", 1}, {"0U0", 0}},
            {{"1F", 0}, {"1B", 0}, {"1F", 1}, {"1B", 1}, {"1U0", 0}});
  }

  plan::EntryT *addEntry(std::string name) {
    table.entries.push_back(std::make_unique<plan::EntryT>());
    table.entries.back()->name = std::move(name);
    return table.entries.back().get();
  }

  plan::EntryT *addSegment(std::string name, uint32_t role) {
    plan::EntryT *segment = addEntry(std::move(name));
    segment->role = role;
    segment->buffers.push_back(std::make_unique<plan::BufferT>());
    plan::InstructionT &gemm = add(*segment, plan::GemmT());
    gemm.flops = 232'700; // 1 us on a core
    return segment;
  }

  template <typename T>
  static plan::InstructionT &add(plan::EntryT &entry, T operation) {
    entry.instructions.push_back(std::make_unique<plan::InstructionT>());
    entry.instructions.back()->operation.Set(std::move(operation));
    return *entry.instructions.back();
  }

  plan::EntryT &segment(const std::string &action) {
    for (auto &entry : table.entries)
      if (entry->name == "step." + action)
        return *entry;
    throw std::out_of_range(action);
  }
  uint32_t numberOf(const std::string &action) {
    for (uint32_t i = 0; i < table.entries.size(); ++i)
      if (table.entries[i].get() == &segment(action))
        return i;
    return 0;
  }

  using Runs = std::vector<std::pair<std::string, uint32_t>>;
  void setRows(const Runs &first, const Runs &second) {
    for (uint32_t role : {0, 1}) {
      std::vector<plan::Action> &row = step->timeline->rows[role]->actions;
      row.clear();
      for (const auto &[action, microbatch] : role ? second : first)
        row.emplace_back(plan::ActionKind::Run, numberOf(action), microbatch);
    }
  }

  plan::StateT &addState(std::string name, uint32_t role, plan::Purpose purpose,
                         uint64_t offset) {
    table.states.push_back(std::make_unique<plan::StateT>());
    plan::StateT &state = *table.states.back();
    state.name = std::move(name);
    state.role = role;
    state.purpose = purpose;
    state.offset = offset;
    state.bytes = state.slot_bytes = 128;
    state.type = std::make_unique<plan::TensorTypeT>();
    state.type->local_shape = {2, 16};
    return state;
  }

  static void use(plan::EntryT &segment, const plan::StateT &state,
                  std::string source) {
    segment.buffers.push_back(std::make_unique<plan::BufferT>());
    plan::BufferT &buffer = *segment.buffers.back();
    buffer.kind = plan::BufferKind::State;
    buffer.offset = state.offset;
    buffer.contents.push_back(std::make_unique<plan::ContentT>());
    buffer.contents.back()->source = std::move(source);
  }

  /// From stage to stage, once for each micro-batch.
  void addMessage(std::string label, uint32_t source, uint32_t state) {
    auto message = std::make_unique<plan::MessageT>();
    message->label = std::move(label);
    message->source_role = source;
    message->destination_role = 1 - source;
    message->queue = step->timeline->messages.size();
    message->source_states = {state};
    for (uint32_t i : {0, 1}) {
      step->timeline->rows[source]->actions.emplace_back(plan::ActionKind::Send,
                                                         message->queue, i);
      step->timeline->rows[1 - source]->actions.emplace_back(
          plan::ActionKind::Receive, message->queue, i);
    }
    step->timeline->messages.push_back(std::move(message));
  }

  PlanReport report() const {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(plan::Plan::Pack(builder, &table));
    return makePlanReport(
        *flatbuffers::GetRoot<plan::Plan>(builder.GetBufferPointer()),
        "cpu-2core");
  }

  plan::PlanT table;
  plan::EntryT *step = nullptr;
};

TEST_F(PipelineReportTest, SegmentsAreNoEntries) {
  PlanReport report = this->report();
  ASSERT_EQ(report.entries.size(), 1u);
  EXPECT_EQ(report.entries[0].gemms, 10);
  EXPECT_EQ(report.entries[0].flops, 2'327'000u);
  EXPECT_THAT(printPlanReport(report), Not(HasSubstr("step.0F:")));
}

TEST_F(PipelineReportTest, TheScheduleIsThatOfTheRows) {
  const PipelineReport pipeline = *report().entries[0].pipeline;
  EXPECT_EQ(pipeline.axis, "pipe");
  ASSERT_TRUE(pipeline.schedule);
  EXPECT_EQ(pipeline.schedule->title(),
            "1f1b, 2 ranks, 2 micro-batches, 1 stage per rank");
  EXPECT_DOUBLE_EQ(pipeline.schedule->timing.makespan, 6);
  EXPECT_DOUBLE_EQ(pipeline.schedule->lowerBound, 6);
  EXPECT_THAT(printPlanReport(report()),
              HasSubstr("  estimated for the micro-batches: makespan 6.0 us "
                        "(1.000x the lower bound), bubble 33.3 % of the "
                        "makespan; before and behind them 1.0 us\n"
                        "  rank 0 |F0 F1 ...B0 ...B1 |\n"
                        "  rank 1 |...F0 B0 F1 B1 ...|\n"));
}

TEST_F(PipelineReportTest, ATableOfOnesOwnHasNoName) {
  setRows({{"0F", 1}, {"0F", 0}, {"0B", 0}, {"0B", 1}, {"0U0", 0}},
          {{"1F", 1}, {"1F", 0}, {"1B", 0}, {"1B", 1}, {"1U0", 0}});
  EXPECT_EQ(report().entries[0].pipeline->schedule->name, "table");
}

TEST_F(PipelineReportTest, PassesThatNobodyComputesTakeNoTime) {
  // Nobody waits for an input gradient of stage 0, and stage 1 has no
  // parameter.
  segment("0B").name = "step.0W";
  segment("1B").name = "step.1I";
  setRows({{"0F", 0}, {"0F", 1}, {"0W", 0}, {"0W", 1}, {"0U0", 0}},
          {{"1F", 0}, {"1I", 0}, {"1F", 1}, {"1I", 1}, {"1U0", 0}});
  const PipelineReport pipeline = *report().entries[0].pipeline;
  EXPECT_EQ(pipeline.stages[0].weightGradientFlops, 232'700u);
  EXPECT_EQ(pipeline.stages[1].inputGradientFlops, 232'700u);
  ASSERT_TRUE(pipeline.schedule);
  EXPECT_EQ(pipeline.schedule->name, "zb-h1");
  EXPECT_DOUBLE_EQ(pipeline.schedule->timing.makespan, 6);
}

TEST_F(PipelineReportTest, AForwardPassAloneIsASchedule) {
  setRows({{"0F", 0}, {"0F", 1}}, {{"1F", 0}, {"1F", 1}});
  const PipelineReport pipeline = *report().entries[0].pipeline;
  ASSERT_TRUE(pipeline.schedule);
  EXPECT_DOUBLE_EQ(pipeline.schedule->timing.makespan, 3);
}

TEST_F(PipelineReportTest, NamesThatSayNothingLeaveMessagesAndMemory) {
  segment("0F").name = "first";
  const EntryReport entry = report().entries[0];
  EXPECT_TRUE(entry.pipeline->stages.empty());
  EXPECT_FALSE(entry.pipeline->schedule);
  EXPECT_EQ(entry.memory.size(), 2u);
  EXPECT_THAT(printPlanReport(report()),
              HasSubstr("  pipeline of 2 ranks, along \"pipe\"\n"
                        "memory of a rank in step, at its peak\n"));
}

TEST_F(PipelineReportTest, StagesSendAndReduce) {
  plan::StateT &kept = addState("0F:0", 0, plan::Purpose::Activation, 0);
  plan::StateT &gradient = addState("1B:0", 1, plan::Purpose::Communication, 0);
  gradient.bytes = 256;
  auto leaves = [&](const char *action, const plan::StateT &state) {
    segment(action).outputs.push_back(std::make_unique<plan::BindingT>());
    segment(action).outputs.back()->name = state.name;
    segment(action).outputs.back()->type =
        std::make_unique<plan::TensorTypeT>();
  };
  leaves("0F", kept);
  leaves("1B", gradient);
  addMessage("activations of stage 0 for stage 1", 0, 0);
  addMessage("gradients of stage 1 for stage 0", 1, 1);
  table.groups.push_back(std::make_unique<plan::AxisListT>());
  plan::CollectiveStartT start;
  start.wire_bytes = 1000;
  add(segment("1B"), start);
  const EntryReport entry = report().entries[0];
  EXPECT_EQ(entry.pipeline->stages[0].sentBytes, 256u);
  EXPECT_EQ(entry.pipeline->stages[1].sentBytes, 512u);
  EXPECT_EQ(entry.pipeline->stages[1].collectiveBytes, 2000u);
  EXPECT_EQ(entry.wireBytes, 2768u);
  ASSERT_EQ(entry.collectives.size(), 1u);
  EXPECT_EQ(entry.collectives[0].count, 2);
  // That of the larger one.
  const cost::CostModel model(*cost::loadCluster("cpu-2core").cluster);
  EXPECT_DOUBLE_EQ(entry.pipeline->schedule->costs.transfer,
                   1e6 * model.links().seconds(256, 1));
  EXPECT_THAT(
      printPlanReport(report()),
      HasSubstr("  message                             bytes sent  count  "
                "queue\n"
                "  gradients of stage 1 for stage 0         256 B      2      "
                "1\n"
                "  activations of stage 0 for stage 1       128 B      2      "
                "0\n"
                "  768 bytes sent from stage to stage per call\n"));
}

TEST_F(PipelineReportTest, MemoryOfEachRole) {
  plan::StateT &w = addState("w", 0, plan::Purpose::Parameter, 0);
  plan::StateT &kept = addState("0F:0", 0, plan::Purpose::Activation, 128);
  kept.slots = 3;
  addState("1F:0", 1, plan::Purpose::Activation, 0);
  use(segment("0F"), w, "");
  use(segment("0F"), kept, "m.py:7");
  for (auto [action, bytes] : {std::pair("0F", 100), std::pair("0B", 300)}) {
    segment(action).buffers.push_back(std::make_unique<plan::BufferT>());
    plan::BufferT &buffer = *segment(action).buffers.back();
    buffer.kind = plan::BufferKind::Temporary;
    buffer.bytes = bytes;
    buffer.contents.push_back(std::make_unique<plan::ContentT>());
    buffer.contents.back()->purpose = plan::Purpose::Temporary;
  }
  segment("0B").arena_bytes = 512 + 640;
  segment("0B").liveness_bytes = 512 + 320;
  const EntryReport entry = report().entries[0];
  EXPECT_EQ(entry.pipeline->stages[0].parameterBytes, 128u);
  EXPECT_EQ(entry.pipeline->stages[1].parameterBytes, 0u);
  ASSERT_EQ(entry.memory.size(), 2u);
  EXPECT_EQ(entry.largestRole(), 0u);
  const MemoryReport &first = entry.memory[0];
  EXPECT_EQ(first.arenaBytes, 4096u);
  EXPECT_EQ(first.peakBytes, 128u + 3 * 128 + 300);
  EXPECT_EQ(first.peakSegment, "step.0B");
  EXPECT_EQ(first.callBytes, 640u);
  EXPECT_EQ(entry.memory[1].peakBytes, 128u);
  EXPECT_THAT(
      printPlanReport(report()),
      HasSubstr(
          "memory of a rank in step, at its peak\n"
          "  rank  parameters  activations  temporaries      free     arena\n"
          "     0       128 B        384 B        300 B  3.21 KiB  4.00 KiB\n"
          "     1         0 B        128 B          0 B  2.88 KiB  3.00 KiB\n"
          "  rank 0: 2.000x the liveness lower bound\n"
          "  alive at the peak of rank 0 (step.0B)\n"
          "        384 B  activations  f32[2x16] m.py:7, 3 slots\n"
          "        300 B  temporaries  f32[] \n"
          "        128 B  parameters  f32[2x16] w\n"));
}

} // namespace
