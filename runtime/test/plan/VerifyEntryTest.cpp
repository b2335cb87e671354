//===- VerifyEntryTest.cpp - Broken bindings, lifetimes and races -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

namespace weft::runtime {
namespace {

using testing::HasSubstr;

TEST(VerifyEntry, SampleIsAccepted) {
  for (int64_t ranks : {1, 2, 3, 8})
    EXPECT_EQ(verdict(SamplePlan(ranks)), "");
}

TEST(VerifyEntry, Bindings) {
  expectVerdicts({
      {[](SamplePlan &p) { p.step().inputs[1]->buffer = 60; },
       "entry \"train_step\": input \"x\": is bound to buffer 60, but the "
       "entry has 6"},
      {[](SamplePlan &p) { p.step().inputs[1]->name = "w"; },
       "input \"w\" is listed twice"},
      {[](SamplePlan &p) { p.step().outputs[1]->name = "w"; },
       "output \"w\" is listed twice"},
      {[](SamplePlan &p) {
         *p.step().inputs[1]->type = p.type(DType::I32, {32}, {{"data"}});
       },
       "input \"x\": is i32[16] on a rank, but buffer 1 is f32[16]"},
      {[](SamplePlan &p) {
         *p.step().inputs[1]->type = p.type(DType::F32, {16}, {{"data"}});
       },
       "input \"x\": is f32[8] on a rank, but buffer 1 is f32[16]"},
      {[](SamplePlan &p) { p.step().inputs[1]->type = nullptr; },
       "input \"x\": has no type"},
      {[](SamplePlan &p) { p.step().inputs[1]->buffer = p.t; },
       "input \"x\" is bound to buffer 2 (temporary)"},
      {[](SamplePlan &p) { p.step().outputs[1]->buffer = p.t; },
       "output \"loss\": is f32[] on a rank, but buffer 2 is f32[16]"},
      {[](SamplePlan &p) {
         p.step().buffers[p.loss]->kind = plan::BufferKind::Temporary;
       },
       "output \"loss\" is bound to buffer 5 (temporary \"loss\")"},
      {[](SamplePlan &p) { p.step().inputs[0]->name = "v"; },
       "input \"v\": is not a state of the plan, but buffer 0 is of kind "
       "state"},
      {[](SamplePlan &p) {
         p.step().buffers[p.w]->kind = plan::BufferKind::Input;
       },
       "input \"w\": is a state of the plan, but buffer 0 is of kind input"},
      {[](SamplePlan &p) {
         p.table.mesh[0]->size = 2;
         *p.step().inputs[0]->type = p.type(DType::F32, {32}, {{"data"}});
       },
       "input \"w\": its type differs from that of the state"},
      {[](SamplePlan &p) { p.step().buffers[p.w]->offset = 64; },
       "input \"w\": buffer 0 at 64 (64 bytes) is not at the state's offset 0 "
       "(64 bytes)"},
      {[](SamplePlan &p) {
         p.step().inputs.erase(p.step().inputs.begin() + 1);
       },
       "buffer 1 (input \"x\") is bound to no name"},
      {[](SamplePlan &p) {
         auto second = std::make_unique<plan::BindingT>(*p.step().inputs[1]);
         second->name = "y";
         p.step().inputs.push_back(std::move(second));
       },
       "input \"y\": buffer 1 (input \"x\") has another input"},
      {[](SamplePlan &p) { p.step().arena_bytes = 1 << 20; },
       "uses 1048576 bytes of an arena of 384"},
  });
}

/// Adds an observed value to the sample.
static void observe(SamplePlan &p, uint32_t output, plan::ObservedKind kind,
                    std::vector<uint32_t> sources) {
  auto value = std::make_unique<plan::ObservedValueT>();
  value->output = output;
  value->kind = kind;
  value->sources = std::move(sources);
  value->name = "an op";
  p.step().observed.push_back(std::move(value));
}

TEST(VerifyEntry, ObservedValues) {
  using plan::ObservedKind;
  expectVerdicts({
      {[](SamplePlan &p) {
         observe(p, 0, ObservedKind::Sum, {});
         observe(p, 1, ObservedKind::Moved, {0});
       },
       ""},
      {[](SamplePlan &p) { observe(p, 2, ObservedKind::Sum, {}); },
       "observed value 0 is output 2, but the entry has 2"},
      {[](SamplePlan &p) { observe(p, 0, ObservedKind(4), {}); },
       "observed value 0 is of kind 4, which does not exist"},
      {[](SamplePlan &p) { observe(p, 0, ObservedKind::Moved, {}); },
       "observed value 0 was moved, but has 0 sources"},
      {[](SamplePlan &p) { observe(p, 0, ObservedKind::Sum, {0}); },
       "observed value 0 is made of 0, which is none before it"},
  });
}

TEST(VerifyEntry, ReadsAndWrites) {
  expectVerdicts({
      {[](SamplePlan &p) {
         auto &first = *p.instruction(0).operation.AsLaunch();
         first.buffers[0] = p.u;
       },
       "step 0 launch: reads buffer 4 (temporary) before anything is written "
       "to it"},
      {[](SamplePlan &p) {
         p.step().instructions.erase(p.step().instructions.begin() + 2);
       },
       "output \"loss\": buffer 5 (output \"loss\") is never written"},
      {[](SamplePlan &p) { p.table.entries[0]->instructions.clear(); },
       "entry \"init\": output \"w\": buffer 0 (state \"w\") is never written"},
  });
}

TEST(VerifyEntry, StatesAreReadOnlyWhenTheyAreInputs) {
  PlanBuilder builder({{"data", 1}});
  builder.state("w", builder.type(DType::F32, {16}));
  EntryBuilder entry = builder.entry("e");
  entry.launch("twice", {{entry.state("w", false, true), update}});
  EXPECT_THAT(verdict(builder),
              HasSubstr("step 0 launch: reads buffer 0 (state \"w\") before "
                        "anything is written to it"));
}

TEST(VerifyEntry, ConstantsAreNotWritten) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  entry.launch("twice", {{entry.constant(countingArray({16})), update}});
  EXPECT_THAT(verdict(builder),
              HasSubstr("step 0 launch: writes buffer 0 (constant)"));
}

TEST(VerifyEntry, Pairing) {
  expectVerdicts({
      {[](SamplePlan &p) {
         p.instruction(3).operation.AsCollectiveWait()->id = 5;
       },
       "step 3 wait: waits for collective 5, which is not started"},
      {[](SamplePlan &p) {
         auto &copy = p.instruction(5);
         plan::CollectiveWaitT again;
         copy.operation.Set(std::move(again));
       },
       "step 5 wait: waits for collective 0 a second time"},
      {[](SamplePlan &p) {
         p.instruction(1).operation.AsCollectiveStart()->id = 1;
       },
       "step 1 all_reduce: has id 1, but is collective 0 of the entry"},
  });
}

TEST(VerifyEntry, EveryStartHasItsWait) {
  PlanBuilder builder({{"data", 2}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x = entry.input("x", builder.type(DType::F32, {4}));
  entry.start(plan::CollectiveKind::AllReduce, group, x, x, 1, 4);
  EXPECT_THAT(verdict(builder), HasSubstr("collective 0 is started but never "
                                          "waited for"));
}

TEST(VerifyEntry, Races) {
  expectVerdicts({
      {[](SamplePlan &p) {
         p.instruction(2).operation.AsLaunch()->buffers[0] = p.s;
       },
       "step 2 launch: reads buffer 3 (temporary), which collective 0 in "
       "flight writes; its wait must come first"},
      {[](SamplePlan &p) {
         auto &launch = *p.instruction(2).operation.AsLaunch();
         launch.kernel = p.kernel("twice");
         launch.buffers = {p.t};
         launch.access = {update};
       },
       "step 2 launch: writes buffer 2 (temporary), which a collective in "
       "flight reads; its wait must come first"},
      {[](SamplePlan &p) {
         auto &launch = *p.instruction(2).operation.AsLaunch();
         launch.kernel = p.kernel("fill");
         launch.buffers = {p.s};
         launch.access = {write};
       },
       "step 2 launch: writes buffer 3 (temporary), which collective 0 in "
       "flight writes"},
  });
}

TEST(VerifyEntry, TwoCollectivesMayReadOneBuffer) {
  PlanBuilder builder({{"data", 2}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {16});
  const uint32_t x = entry.input("x", type);
  const uint32_t y = entry.output("y", type), z = entry.output("z", type);
  entry.start(plan::CollectiveKind::AllReduce, group, x, y, 1, 16);
  entry.start(plan::CollectiveKind::AllReduce, group, x, z, 1, 16);
  entry.wait(1);
  entry.wait(0);
  EXPECT_EQ(verdict(builder), "");
}

TEST(VerifyEntry, SharedBytes) {
  expectVerdicts({
      // t is read by the all_reduce until its wait; u is written after it.
      {[](SamplePlan &p) {
         p.step().buffers[p.u]->offset = p.step().buffers[p.t]->offset;
       },
       ""},
      // s is read by the instruction that writes u.
      {[](SamplePlan &p) {
         p.step().buffers[p.u]->offset = p.step().buffers[p.s]->offset;
       },
       "buffer 3 (temporary) (bytes 192..256, steps 1..4) and buffer 4 "
       "(temporary) (bytes 192..256, steps 4..5) share bytes while both are "
       "alive"},
      // The collective writes s from its start on, while t is read.
      {[](SamplePlan &p) {
         p.step().buffers[p.s]->offset = p.step().buffers[p.t]->offset;
       },
       "share bytes while both are alive"},
      // x has its last reader at step 0, where t is written.
      {[](SamplePlan &p) {
         p.step().buffers[p.t]->offset = p.step().buffers[p.x]->offset;
       },
       "buffer 1 (input \"x\") (bytes 64..128, steps -1..0)"},
      {[](SamplePlan &p) {
         p.step().buffers[p.s]->offset = p.step().buffers[p.x]->offset;
       },
       ""},
      // The loss must last to the end.
      {[](SamplePlan &p) {
         p.step().buffers[p.u]->offset = p.step().buffers[p.loss]->offset;
         p.table.arena_bytes += 64;
       },
       "(output \"loss\") (bytes 320..324, steps 2..6)"},
      // A state is never shared.
      {[](SamplePlan &p) { p.step().buffers[p.u]->offset = 0; },
       "state \"w\" (bytes 0..64, steps -1..6) and buffer 4"},
  });
}

TEST(VerifyEntry, PartlySharedBytes) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {64});
  const uint32_t x = entry.input("x", type), y = entry.output("y", type);
  entry.copy(x, y);
  builder.table.arena_bytes = 1024;
  auto &buffers = entry.table().buffers;
  for (uint64_t offset : {64, 128, 192}) {
    buffers[y]->offset = offset;
    EXPECT_THAT(verdict(builder), HasSubstr("share bytes")) << offset;
  }
  buffers[y]->offset = 256;
  EXPECT_EQ(verdict(builder), "");
  buffers[x]->offset = 320;
  EXPECT_THAT(verdict(builder), HasSubstr("share bytes"));
}

/// States and constants of other entries are in the arena too.
TEST(VerifyEntry, EntriesRespectEachOther) {
  SamplePlan sample(2);
  EntryBuilder other = sample.entry("other");
  const uint32_t c = other.constant(countingArray({16}));
  const uint32_t y = other.output("y", sample.type(DType::F32, {16}));
  other.copy(c, y);
  ASSERT_EQ(verdict(sample), "");
  sample.step().buffers[sample.u]->offset = other.table().buffers[c]->offset;
  EXPECT_THAT(verdict(sample),
              HasSubstr("entry \"train_step\": constant buffer 0 of entry "
                        "\"other\""));
}

TEST(VerifyEntry, OutputMayBeAnInput) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {16});
  const uint32_t x = entry.input("x", type);
  entry.outputAt("y", type, x);
  const uint32_t z = entry.output("z", type);
  entry.copy(x, z);
  EXPECT_EQ(verdict(builder), "");
  entry.table().buffers[z]->offset = entry.table().buffers[x]->offset;
  EXPECT_THAT(verdict(builder), HasSubstr("share bytes"));
}

/// y = x, then `count` times `inner` times: z = y, y = 2 y.
struct LoopPlan : PlanBuilder {
  LoopPlan() : PlanBuilder({{"data", 2}}) {
    const auto floats = type(DType::F32, {16});
    x = step.input("x", floats);
    y = step.output("y", floats);
    z = step.temporary(DType::F32, {16});
    step.copy(x, y);
    step.repeat(2, 4);
    step.repeat(3, 2);
    step.copy(y, z);
    step.launch("twice", {{y, update}});
    step.copy(y, z);
  }
  plan::RepeatT &repeat(size_t index) {
    return *step.table().instructions[index]->operation.AsRepeat();
  }

  EntryBuilder step = entry("step");
  uint32_t x = 0, y = 0, z = 0;
};

static std::string verdictOf(const std::function<void(LoopPlan &)> &change) {
  LoopPlan plan;
  change(plan);
  return verdict(plan);
}

TEST(VerifyEntry, LoopsNest) {
  EXPECT_EQ(verdict(LoopPlan()), "");
  EXPECT_THAT(verdictOf([](LoopPlan &p) { p.repeat(1).count = 0; }),
              HasSubstr("step 1 repeat: executes 4 instructions 0 times; both "
                        "must be at least 1"));
  EXPECT_THAT(verdictOf([](LoopPlan &p) { p.repeat(2).instructions = 4; }),
              HasSubstr("step 2 repeat: repeats instructions 3 to 6, but the "
                        "loop around it ends with 5"));
  EXPECT_THAT(verdictOf([](LoopPlan &p) { p.repeat(1).instructions = 5; }),
              HasSubstr("step 1 repeat: repeats instructions 2 to 6, but the "
                        "entry ends with 5"));
  EXPECT_THAT(verdictOf([](LoopPlan &p) {
                p.repeat(1).count = p.repeat(2).count = 1 << 30;
              }),
              HasSubstr("its loops execute more than 67108864 instructions"));
}

TEST(VerifyEntry, WhatALoopReadsLastsToItsNextTurn) {
  // x is read by a loop behind it: its bytes are not free in the loop.
  LoopPlan plan;
  EntryBuilder other = plan.entry("other");
  const auto floats = plan.type(DType::F32, {16});
  const uint32_t x = other.input("x", floats), y = other.output("y", floats);
  const uint32_t t = other.temporary(DType::F32, {16});
  other.repeat(2, 2);
  other.copy(x, y);
  other.copy(y, t);
  ASSERT_EQ(verdict(plan), "");
  other.table().buffers[t]->offset = other.table().buffers[x]->offset;
  EXPECT_THAT(verdict(plan), HasSubstr("share bytes while both are alive"));
  // In a single iteration it is.
  other.table().instructions.erase(other.table().instructions.begin());
  EXPECT_EQ(verdict(plan), "");
}

TEST(VerifyEntry, CollectivesStayInTheirLoop) {
  const auto build = [](std::vector<int> order) {
    auto plan = std::make_unique<PlanBuilder>(
        std::vector<std::pair<std::string, int64_t>>{{"data", 2}});
    const uint32_t group = plan->group({"data"});
    EntryBuilder step = plan->entry("step");
    const auto floats = plan->type(DType::F32, {16});
    const uint32_t x = step.input("x", floats), y = step.output("y", floats);
    const uint32_t t = step.temporary(DType::F32, {16});
    for (int what : order) {
      if (what == 0)
        step.start(plan::CollectiveKind::AllReduce, group, x, y, 1, 16);
      if (what == 1)
        step.wait(0);
      if (what == 2)
        step.copy(x, t);
      // A loop of the next instructions.
      if (what > 10)
        step.repeat(2, what - 10);
    }
    return verdict(*plan);
  };
  // Around a loop, and within.
  EXPECT_EQ(build({0, 11, 2, 1}), "");
  EXPECT_EQ(build({12, 0, 1}), "");
  EXPECT_THAT(build({12, 0, 2, 1}),
              HasSubstr("collective 0 is started in the loop of instruction "
                        "0, which does not wait for it"));
  EXPECT_THAT(build({0, 11, 1}),
              HasSubstr("waits for collective 0, which is started outside of "
                        "its loop"));
}

/// A sum of a loop that devices reduce beside the rest of the last iteration.
struct BehindPlan : PlanBuilder {
  BehindPlan() : PlanBuilder({{"data", 2}}) {
    const uint32_t data = group({"data"});
    const auto floats = type(DType::F32, {16});
    const uint32_t x = step.input("x", floats);
    y = step.output("y", floats);
    z = step.temporary(DType::F32, {16});
    step.copy(x, y);
    step.repeat(3, 3);
    step.launch("twice", {{y, update}});
    step.copy(x, z);
    step.launch("twice", {{z, update}});
    step.start(plan::CollectiveKind::AllReduce, data, y, y, 1, 16).behind = 2;
    step.wait(0);
  }
  plan::CollectiveStartT &start() {
    return *step.table().instructions[5]->operation.AsCollectiveStart();
  }

  EntryBuilder step = entry("step");
  uint32_t y = 0, z = 0;
};

TEST(VerifyEntry, CollectivesBeginBesideTheLastIteration) {
  EXPECT_EQ(verdict(BehindPlan()), "");
  for (uint32_t behind : {0, 1, 5, 7, 100}) {
    BehindPlan plan;
    plan.start().behind = behind;
    EXPECT_THAT(verdict(plan),
                HasSubstr("starts behind instruction " +
                          std::to_string(behind) +
                          ", which is in no loop that ends before it"));
  }
  // The rest of the iteration leaves its buffers alone.
  BehindPlan touched;
  touched.step.table().instructions[3]->operation.AsCopy()->source = touched.y;
  EXPECT_THAT(verdict(touched),
              HasSubstr("step 3 copy: reads buffer 1 (output \"y\"), which "
                        "collective 0 in flight writes; its wait must come "
                        "first"));
  // Its destination is in use from there on.
  BehindPlan elsewhere;
  const uint32_t sum = elsewhere.step.temporary(DType::F32, {16});
  elsewhere.start().destination = sum;
  EXPECT_EQ(verdict(elsewhere), "");
  elsewhere.step.table().buffers[sum]->offset =
      elsewhere.step.table().buffers[elsewhere.z]->offset;
  EXPECT_THAT(verdict(elsewhere),
              HasSubstr("share bytes while both are alive"));
}

/// x and twice x side by side, summed over the ranks in place, and the parts of
/// the sum copied to outputs.
struct PartsPlan : PlanBuilder {
  PartsPlan() : PlanBuilder({{"data", 2}}) {
    const auto floats = type(DType::F32, {16});
    const uint32_t x = step.input("x", floats);
    whole = step.temporary(DType::F32, {32});
    first = part(0);
    second = part(64);
    const uint32_t y = step.output("y", floats), z = step.output("z", floats);
    step.copy(x, first);
    step.copy(x, second);
    step.start(plan::CollectiveKind::AllReduce, group({"data"}), whole, whole,
               1, 32);
    step.wait(0);
    step.copy(first, y);
    step.copy(second, z);
  }
  uint32_t part(uint64_t offset) {
    const uint32_t index = step.temporary(DType::F32, {16});
    buffer(index).part_of = whole;
    buffer(index).offset = buffer(whole).offset + offset;
    return index;
  }
  plan::BufferT &buffer(uint32_t index) { return *step.table().buffers[index]; }
  plan::CopyT &copy(size_t index) {
    return *step.table().instructions[index]->operation.AsCopy();
  }

  EntryBuilder step = entry("step");
  uint32_t whole = 0, first = 0, second = 0;
};

static std::string
verdictOfParts(const std::function<void(PartsPlan &)> &change) {
  PartsPlan plan;
  change(plan);
  return verdict(plan);
}

TEST(VerifyEntry, PartsLieInTheirWhole) {
  EXPECT_EQ(verdict(PartsPlan()), "");
  EXPECT_THAT(
      verdictOfParts([](PartsPlan &p) { p.buffer(p.first).part_of = 60; }),
      HasSubstr("buffer 2 is a part of buffer 60, but the entry has 6"));
  EXPECT_THAT(
      verdictOfParts([](PartsPlan &p) { p.buffer(p.first).part_of = 3; }),
      HasSubstr("buffer 2 is a part of buffer 3, which is a part itself"));
  EXPECT_THAT(
      verdictOfParts([](PartsPlan &p) { p.buffer(p.first).part_of = 0; }),
      HasSubstr("buffer 2 is a part of buffer 0, but only temporaries have "
                "parts and are some"));
  EXPECT_THAT(
      verdictOfParts([](PartsPlan &p) { p.buffer(p.second).offset += 64; }),
      HasSubstr("buffer 3 is a part of buffer 1, but lies at 192..256 and that "
                "at 64..192"));
}

TEST(VerifyEntry, PartsAndTheWholeAreOneBuffer) {
  // They are alive together, and nothing else is where any of them is.
  EXPECT_THAT(
      verdictOfParts([](PartsPlan &p) { p.buffer(p.second).part_of.reset(); }),
      HasSubstr("reads buffer 1 (temporary) before anything is written "
                "to it"));
  EXPECT_THAT(verdictOfParts([](PartsPlan &p) {
                const uint32_t other = p.step.temporary(DType::F32, {16});
                p.copy(0).destination = other;
              }),
              HasSubstr("step 2 all_reduce: reads buffer 1 (temporary) before "
                        "anything is written to it"));
  // What a collective in flight writes is not read.
  EXPECT_THAT(verdictOfParts([](PartsPlan &p) {
                std::swap(p.step.table().instructions[3],
                          p.step.table().instructions[4]);
              }),
              HasSubstr("step 3 copy: reads buffer 2 (temporary), which "
                        "collective 0 in flight writes; its wait must come "
                        "first"));
  // Nor is what an instruction writes something that it reads.
  EXPECT_THAT(
      verdictOfParts([](PartsPlan &p) { p.step.copy(p.first, p.part(0)); }),
      HasSubstr("writes buffer 6 (temporary), which shares bytes with "
                "buffer 2 (temporary)"));
}

TEST(VerifyEntry, AWholeIsAliveAsLongAsItsParts) {
  PartsPlan plan;
  const uint32_t other = plan.step.temporary(DType::F32, {16});
  const uint32_t out = plan.step.output("w", plan.type(DType::F32, {16}));
  plan.copy(4).source = plan.second;
  plan.step.copy(plan.second, other);
  plan.step.copy(other, out);
  ASSERT_EQ(verdict(plan), "");
  // The first part is not used any more, but its bytes are those of the whole.
  plan.buffer(other).offset = plan.buffer(plan.first).offset;
  EXPECT_THAT(verdict(plan), HasSubstr("share bytes while both are alive"));
}

} // namespace
} // namespace weft::runtime
