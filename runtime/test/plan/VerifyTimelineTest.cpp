//===- VerifyTimelineTest.cpp - Broken pipelines --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelinePlan.h"
#include "Verify.h"

#include <algorithm>
#include <chrono>

namespace weft::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Row 0 of two roles and two micro-batches:
///   0 run begin0, 1 run forward0 0, 2 send 0 0, 3 run forward0 1, 4 send 0 1,
///   5 receive 1 0, 6 run backward0 0, 7 receive 1 1, 8 run backward0 1,
///   9 run update0, 10 send 2 (tied)
/// Row 1:
///   0 run begin1, 1 receive 0 0, 2 run forward1 0, 3 run backward1 0,
///   4 send 1 0, 5 receive 0 1, 6 run forward1 1, 7 run backward1 1,
///   8 send 1 1, 9 run update1, 10 receive 2, 11 run finish
struct Broken : PipelinePlan {
  explicit Broken(Reductions reductions = Reductions::InUpdate)
      : PipelinePlan(2, 2, 1, Receives::BeforeUse, reductions) {}

  plan::StateT &state(const std::string &name, uint32_t role) {
    return *table.states[stateIndex(name, role)];
  }
  plan::EntryT &entry(const std::string &name) {
    return builderOf(name).table();
  }
  EntryBuilder builderOf(const std::string &name) {
    const auto found = std::ranges::find_if(
        table.entries, [&](const auto &each) { return each->name == name; });
    return {*this, size_t(found - table.entries.begin())};
  }
  plan::TimelineT &timeline() { return *entry("step").timeline; }
  plan::MessageT &message(size_t index) { return *timeline().messages[index]; }
  std::vector<plan::Action> &row(size_t role) {
    return timeline().rows[role]->actions;
  }
  plan::BufferT &buffer(size_t index) { return *entry("step").buffers[index]; }
};

struct Case {
  std::function<void(Broken &)> change;
  std::string message;
};

void expectAll(const std::vector<Case> &cases) {
  for (const Case &each : cases) {
    Broken plan;
    each.change(plan);
    EXPECT_THAT(verdict(plan), HasSubstr(each.message));
  }
}

TEST(VerifyTimeline, SampleIsAccepted) {
  for (uint32_t roles : {2, 3, 8})
    for (uint32_t microbatches : {1, 2, 20})
      EXPECT_EQ(verdict(PipelinePlan(roles, microbatches, 2)), "");
}

TEST(VerifyTimeline, Pipeline) {
  expectAll({
      {[](Broken &p) { p.table.pipeline->axis = 2; },
       "the pipeline is over mesh axis 2, but the mesh has 2"},
      {[](Broken &p) { p.table.pipeline->roles.pop_back(); },
       "the number of roles is 1, but mesh axis \"pipe\" has size 2"},
      {[](Broken &p) {
         p.table.pipeline->roles[1]->arena_bytes = p.table.arena_bytes + 1;
       },
       "role 1 has an arena of "},
      {[](Broken &p) { p.state("sum", 1).role = 2; },
       "state \"sum\" is of role 2, but the pipeline has 2"},
      {[](Broken &p) { p.table.pipeline.reset(); },
       "is of role 0, but the plan has no pipeline"},
      {[](Broken &p) {
         p.table.pipeline.reset();
         p.table.states.clear();
         for (auto &entry : p.table.entries)
           entry->role = flatbuffers::nullopt;
         for (auto &buffer : p.entry("step").buffers)
           buffer->role = flatbuffers::nullopt;
       },
       "entry \"step\": has a timeline, but the plan has no pipeline"},
  });
}

TEST(VerifyTimeline, States) {
  expectAll({
      {[](Broken &p) { p.state("h1", 0).slots = 0; },
       "state \"h1\": has 0 slots, must have at least 1"},
      {[](Broken &p) { p.state("h1", 0).slot_bytes = 96; },
       "state \"h1\": slots of 64 bytes begin every 96 bytes, must be a "
       "multiple of 64 that holds one"},
      {[](Broken &p) { p.state("h1", 0).slot_bytes = 0; },
       "slots of 64 bytes begin every 0 bytes"},
      {[](Broken &p) { p.state("h1", 0).slots = 1000; },
       "state \"h1\": bytes "},
      {[](Broken &p) { p.state("h1", 0).slot_bytes = uint64_t(1) << 63; },
       "state \"h1\": 2 slots of 9223372036854775808 bytes are too many bytes"},
      {[](Broken &p) { p.state("h1", 0).slots = 3; }, " overlap"},
      {[](Broken &p) { p.state("sum", 0).counts = true; },
       "state \"sum\" counts micro-batches and must be i32[], got f32[16]"},
      {[](Broken &p) {
         *p.state("sum", 0).type = p.type(DType::F32, {32}, {{"pipe"}});
       },
       "state \"sum\" is of role 0, but split or unreduced over the axis of "
       "the pipeline"},
      {[](Broken &p) { p.state("sum", 0).name = "h1"; },
       "state \"h1\" is listed twice"},
      {[](Broken &p) { p.state("sum", 0).name = "seed"; },
       "state \"seed\" is listed twice"},
      {[](Broken &p) { *p.state("t", 1).type = p.type(DType::I32, {16}); },
       "the states named \"t\" of roles 0 and 1 differ in type"},
  });
}

/// Adds an observed value to an entry.
static void observe(plan::EntryT &entry, uint32_t output) {
  auto value = std::make_unique<plan::ObservedValueT>();
  value->output = output;
  value->kind = plan::ObservedKind::Element;
  value->name = "an op";
  entry.observed.push_back(std::move(value));
}

TEST(VerifyTimeline, ObservedValues) {
  expectAll({
      {[](Broken &p) { observe(p.entry("step"), 1000); },
       "entry \"step\": observed value 0 is output 1000, but the entry has "},
      {[](Broken &p) { observe(p.entry("forward0"), 0); },
       "entry \"forward0\": is a segment and has observed values, which are "
       "those of its entry"},
  });
  Broken right;
  observe(right.entry("step"), 0);
  EXPECT_EQ(verdict(right), "");
}

TEST(VerifyTimeline, Segments) {
  expectAll({
      {[](Broken &p) { p.entry("forward0").role = 2; },
       "entry \"forward0\": the entry is of role 2, but the pipeline has 2"},
      {[](Broken &p) {
         p.entry("forward0").timeline = std::make_unique<plan::TimelineT>();
       },
       "entry \"forward0\": has both a role and a timeline"},
      {[](Broken &p) {
         p.entry("forward0").buffers[0]->kind = plan::BufferKind::Input;
       },
       "entry \"forward0\": is a segment and has buffers of kind input; what "
       "it takes and leaves are states"},
      {[](Broken &p) { p.entry("forward0").buffers[0]->role = 0; },
       "buffer 0 is of role 0, but the entry has no timeline"},
      {[](Broken &p) { p.entry("forward0").buffers[2]->slots = 3; },
       "buffer 2 has 3 slots every 64 bytes, the state 2 every 64"},
      {[](Broken &p) {
         p.entry("forward0").instructions[0]->operation.AsLaunch()->access[1] =
             update;
       },
       "entry \"forward0\": step 0 launch: writes buffer 1 (state \"w0\"), "
       "which is no output"},
      {[](Broken &p) { p.entry("backward0").buffers[2]->slots = 2; },
       "buffer 2 has 2 slots, but is no state"},
      {[](Broken &p) {
         p.entry("update0")
             .instructions[0]
             ->operation.AsCollectiveStart()
             ->group = 1;
       },
       "group 1 {\"pipe\"} is along the axis of the pipeline, where ranks "
       "execute other segments"},
      {[](Broken &p) { p.entry("init").outputs[0]->name = "w0"; },
       "output \"w0\": is not a state of the plan, but buffer 0 is of kind "
       "state"},
      {[](Broken &p) { p.entry("forward0").inputs[0]->name = "h2"; },
       "input \"h2\": is not a state of the plan"},
  });
}

TEST(VerifyTimeline, Values) {
  expectAll({
      {[](Broken &p) {
         p.entry("step").instructions.push_back(
             std::make_unique<plan::InstructionT>());
         p.entry("step").instructions[0]->operation.Set(plan::CopyT());
       },
       "entry \"step\": has a timeline and 1 instructions of its own"},
      {[](Broken &p) { p.entry("step").inputs[3]->copies = {0}; },
       "input \"t\": is f32[16] on a rank, but buffer 0 is f32[2x16]"},
      {[](Broken &p) { p.entry("step").inputs[3]->copies = {99}; },
       "input \"t\": is bound to buffer 99, but the entry has "},
      {[](Broken &p) {
         p.entry("step").inputs[3]->copies = {
             p.entry("step").inputs[3]->buffer};
       },
       "input \"t\": has two buffers in role 0"},
      {[](Broken &p) { p.buffer(0).kind = plan::BufferKind::Output; },
       "input \"x\" is bound to a buffer of kind output"},
      {[](Broken &p) { p.buffer(0).kind = plan::BufferKind::Temporary; },
       "buffer 0 (temporary) is no input and no output"},
      {[](Broken &p) { p.buffer(0).offset += 64; }, "buffer 0 (bytes "},
      {[](Broken &p) { p.buffer(0).offset += 64; },
       "lies in no state of its role, where segments could reach it"},
      {[](Broken &p) { p.entry("step").inputs[1]->name = "x"; },
       "input \"x\" is listed twice"},
      {[](Broken &p) { p.buffer(1).role = flatbuffers::nullopt; },
       "input \"w0\": is not a state of the plan"},
      {[](Broken &p) { p.state("w0", 0).internal = true; },
       "input \"w0\": is not a state of the plan"},
      {[](Broken &p) { p.entry("step").inputs[0]->type = nullptr; },
       "input \"x\": has no type"},
      {[](Broken &p) {
         *p.entry("step").inputs[0]->type =
             p.type(DType::F32, {2, 32}, {{}, {"pipe"}});
       },
       "input \"x\" is split or unreduced over the axis of the pipeline"},
      {[](Broken &p) {
         auto &binding = *p.entry("step").outputs[3];
         binding.copies = {0};
         ASSERT_EQ(binding.name, "out");
       },
       "output \"out\": buffers "},
  });
}

TEST(VerifyTimeline, Messages) {
  expectAll({
      {[](Broken &p) { p.timeline().group = 7; },
       "the timeline is over group 7, but the plan has 2"},
      {[](Broken &p) { p.timeline().group = 0; },
       "the timeline is over group 0 {\"data\"}, which is not along the axis "
       "of the pipeline"},
      {[](Broken &p) { p.message(0).destination_role = 0; },
       "message 0: goes from role 0 to role 0, must be two of the 2"},
      {[](Broken &p) { p.message(0).queue = 3; },
       "message 0: is in queue 3, but there are no more queues than the 3 "
       "messages"},
      {[](Broken &p) { p.message(1).queue = 0; },
       "message 1: goes from role 1 to role 0 in queue 0, which goes from role "
       "0 to role 1"},
      {[](Broken &p) { p.message(0).source_states.clear(); },
       "message 0: moves 0 states to 1"},
      {[](Broken &p) { p.message(0).source_states = {99}; },
       "message 0: moves state 99, but the plan has "},
      {[](Broken &p) { p.message(0).source_states = {p.stateIndex("sum", 1)}; },
       "message 0: state \"sum\" is not of role 0"},
      {[](Broken &p) {
         p.message(0).destination_states = {p.stateIndex("loss_of_t", 1)};
       },
       "message 0: moves state \"h1\" f32[16] to state \"loss_of_t\" f32[]"},
      {[](Broken &p) {
         p.message(0).destination_states = {p.stateIndex("sum", 1)};
       },
       "message 0: moves state \"h1\" of role 0 to state \"sum\" of role 1; "
       "must have one name at both ends"},
      {[](Broken &p) { p.message(1).source_states = {p.stateIndex("h2", 1)}; },
       "message 1: moves state \"h2\" of role 1 to state \"g1\" of role 0; "
       "must have one name at both ends"},
  });
}

TEST(VerifyTimeline, Rows) {
  expectAll({
      {[](Broken &p) { p.timeline().microbatches = 0; },
       "has 0 micro-batches, must have at least 1"},
      {[](Broken &p) { p.timeline().rows.pop_back(); },
       "the number of rows is 1, that of roles is 2"},
      {[](Broken &p) {
         p.row(0)[1] = {static_cast<plan::ActionKind>(9), 0, 0};
       },
       "role 0 action 1: is of unknown kind 9"},
      {[](Broken &p) { p.row(1)[1] = {plan::ActionKind::Receive, 0, 2}; },
       "role 1 action 1: is for micro-batch 2 of 2"},
      {[](Broken &p) { p.row(0)[1] = {plan::ActionKind::Run, 99, 0}; },
       "role 0 action 1: runs entry 99, but the plan has "},
      {[](Broken &p) { std::swap(p.row(0)[1], p.row(1)[2]); },
       "role 0 action 1: runs entry \"forward1\", which is no segment of the "
       "role"},
      {[](Broken &p) { p.row(0)[1] = {plan::ActionKind::Run, 0, 0}; },
       "role 0 action 1: runs entry \"init\", which is no segment of the role"},
      {[](Broken &p) { p.row(0)[2] = {plan::ActionKind::Send, 9, 0}; },
       "role 0 action 2: is for message 9, but the timeline has 3"},
      {[](Broken &p) { p.row(0)[2] = {plan::ActionKind::Send, 1, 0}; },
       "role 0 action 2: sends message 1 \"gradient of stage 0\" of "
       "micro-batch 0, as only role 1 does"},
      {[](Broken &p) { p.row(0)[2] = {plan::ActionKind::Receive, 0, 0}; },
       "role 0 action 2: receives message 0 \"activation of stage 0\" of "
       "micro-batch 0, as only role 1 does"},
  });
}

TEST(VerifyTimeline, RowsThatAreTooLong) {
  Broken plan;
  EntryBuilder longest = plan.segment("long", 0);
  const uint32_t sum = longest.state("sum", true, true);
  longest.repeat((1 << 25) + 1, 1);
  longest.launch("twice", {{sum, update}});
  const auto number = static_cast<uint32_t>(plan.table.entries.size() - 1);
  plan.row(0).emplace_back(plan::ActionKind::Run, number, 0);
  EXPECT_EQ(verdict(plan), "");
  plan.row(0).emplace_back(plan::ActionKind::Run, number, 1);
  EXPECT_THAT(verdict(plan),
              HasSubstr("entry \"step\": role 0 executes more than 67108864 "
                        "instructions"));
}

TEST(VerifyTimeline, SegmentsThatGoOnBesideOthers) {
  EXPECT_EQ(verdict(Broken(Reductions::Early)), "");
  const auto expect = [](auto damage, const char *problem) {
    Broken plan(Reductions::Early);
    damage(plan);
    EXPECT_THAT(verdict(plan), HasSubstr(problem));
  };
  for (uint32_t from : {0, 4, 7})
    expect([&](Broken &p) { p.entry("reduce0").deferred_from = from; },
           "is put off from instruction");
  expect([](Broken &p) { p.entry("reduce0").deferred_from = 1; },
         "segment \"reduce0\": is put off from instruction 1, but instruction "
         "1 starts a collective");
  expect([](Broken &p) { p.entry("init").deferred_from = 0; },
         "entry \"init\": is put off, but is no segment");
  expect([](Broken &p) { p.entry("forward0").deferred_from = 0; },
         "segment \"forward0\": is put off from instruction 0 of 1; some must "
         "come before, and some behind");
  expect(
      [](Broken &p) {
        EntryBuilder longer = p.segment("longer", 0);
        const uint32_t norm = longer.state("norm", true, true);
        longer.repeat(2, 2);
        longer.launch("twice", {{norm, update}});
        longer.launch("twice", {{norm, update}});
        p.table.entries.back()->deferred_from = 2;
        p.row(0).emplace_back(plan::ActionKind::Run,
                              uint32_t(p.table.entries.size() - 1), 0);
      },
      "segment \"longer\": is put off from instruction 2, which is in the loop "
      "of 0");
  // For each micro-batch, over what it has left for the one before.
  const auto keep = [](Broken &p, uint32_t slots) {
    p.PlanBuilder::state("kept", p.type(DType::F32, {16}),
                         {.role = 0, .slots = slots, .isInternal = true});
    EntryBuilder keep = p.segment("keep", 0);
    const uint32_t next = keep.temporary(DType::F32, {16});
    keep.copy(keep.state("w0", true, false), next);
    keep.copy(next, keep.state("kept", false, true));
    p.table.entries.back()->deferred_from = 1;
    for (uint32_t i : {0, 1})
      p.row(0).insert(
          p.row(0).begin() + i,
          {plan::ActionKind::Run, uint32_t(p.table.entries.size() - 1), i});
  };
  Broken often(Reductions::Early);
  keep(often, 1);
  EXPECT_EQ(verdict(often), "");
  expect([&](Broken &p) { keep(p, 2); },
         "role 0: action 1 (run \"keep\") is before what action 0 (run "
         "\"keep\") puts off; a segment can be in flight once");
  // The two run at the same time.
  expect(
      [](Broken &p) {
        const auto temporaryOf = [&](const char *name) -> plan::BufferT & {
          return **std::ranges::find_if(
              p.entry(name).buffers, [](const auto &buffer) {
                return buffer->kind == plan::BufferKind::Temporary;
              });
        };
        temporaryOf("beside0").offset = temporaryOf("reduce0").offset;
      },
      "still in flight, has ");
}

TEST(VerifyTimeline, ReductionsAreDoneOnceBehindTheirGradients) {
  const auto expect = [](auto damage, const char *problem) {
    Broken plan(Reductions::Early);
    auto &row = plan.row(0);
    const auto at = [&](const std::string &segment) {
      return std::ranges::find_if(row, [&](const plan::Action &action) {
        return action.kind() == plan::ActionKind::Run &&
               plan.table.entries[action.index()]->name == segment;
      });
    };
    damage(plan, row, at);
    EXPECT_THAT(verdict(plan), HasSubstr(problem));
  };
  expect([](Broken &, auto &row, auto at) { row.erase(at("reduce0")); },
         "entry \"reduce0\" is a segment that no timeline runs");
  expect(
      [](Broken &, auto &, auto at) {
        std::rotate(at("backward0"), at("reduce0"), at("reduce0") + 1);
      },
      "updates state \"sum\" behind role 0 action 6 (run \"reduce0\" of "
      "micro-batch 0); must come before it");
  expect(
      [](Broken &, auto &, auto at) {
        std::rotate(at("reduce0"), at("update0"), at("update0") + 1);
      },
      "reads state \"sum\" before it is complete; must come behind role 0 "
      "action 10 (run \"reduce0\" of micro-batch 0)");
  expect([](Broken &, auto &row, auto at) { row.push_back(*at("reduce0")); },
         "(run \"reduce0\" of micro-batch 0) repeats action 9; a segment runs "
         "once");
  expect(
      [](Broken &p, auto &, auto) {
        auto &instructions = p.entry("reduce0").instructions;
        std::erase_if(instructions, [](const auto &each) {
          return each->operation.AsCollectiveWait() != nullptr;
        });
      },
      "entry \"reduce0\": step 2 copy: reads buffer 1 (temporary), which "
      "collective 0 in flight writes; its wait must come first");
  expect(
      [](Broken &p, auto &, auto) {
        const uint32_t pipe = p.group({"pipe"});
        for (auto &each : p.entry("reduce0").instructions)
          if (auto *start = each->operation.AsCollectiveStart())
            start->group = pipe;
      },
      "entry \"reduce0\": step 1 all_reduce: group 2 {\"pipe\"} is along the "
      "axis of the pipeline, where ranks execute other segments");
}

TEST(VerifyTimeline, EverySendHasItsReceive) {
  expectAll({
      {[](Broken &p) { std::swap(p.row(0)[2], p.row(0)[4]); },
       "queue 0: role 0 action 2 sends message 0 \"activation of stage 0\" of "
       "micro-batch 1, but role 1 action 1 receives message 0 \"activation of "
       "stage 0\" of micro-batch 0"},
      {[](Broken &p) { p.row(0).pop_back(); },
       "queue 2: role 0 sends 0 messages, but role 1 receives 1"},
  });
}

TEST(VerifyTimeline, Deadlock) {
  // Both wait for the other one's message before they send their own.
  Broken plan;
  auto &row = plan.row(0);
  std::rotate(row.begin() + 1, row.begin() + 5, row.begin() + 7);
  plan.message(1).location = "model.py:7";
  plan.entry("forward1").instructions.back()->location = "model.py:12";
  EXPECT_THAT(
      verdict(plan),
      HasSubstr("entry \"step\": the timeline deadlocks; role 0 waits before "
                "action 2 (segment \"backward0\" of micro-batch 0) until role "
                "1 sends message 1 \"gradient of stage 0\" of micro-batch 0 "
                "(action 1, queue 1, model.py:7); role 1 waits before action 2 "
                "(segment \"forward1\" of micro-batch 0, model.py:12) until "
                "role 0 sends message 0 \"activation of stage 0\" of "
                "micro-batch 0 (action 1, queue 0)"));
}

TEST(VerifyTimeline, SendsAreNotBuffered) {
  // Role 1 takes the second activation only when its gradient has been taken:
  // with one slot for activations, role 0 would have to be ahead of itself.
  Broken plan;
  plan.state("h1", 0).slots = 1;
  plan.entry("forward0").buffers[2]->slots = 1;
  EXPECT_EQ(verdict(plan), "");
  auto &other = plan.row(1);
  // Receive of the first activation behind that of the tied parameter.
  std::rotate(other.begin() + 1, other.begin() + 10, other.begin() + 12);
  EXPECT_THAT(verdict(plan),
              AllOf(HasSubstr("the timeline deadlocks"),
                    HasSubstr("role 0 waits before action 3 (segment "
                              "\"forward0\" of micro-batch 1) until role 1 "
                              "receives message 0 \"activation of stage 0\" "
                              "of micro-batch 0 (action 2, queue 0)"),
                    HasSubstr("until role 0 sends message 2 \"tied "
                              "parameter\" of micro-batch 0 (action 1, queue "
                              "2)")));
}

TEST(VerifyTimeline, StartsAreInOrder) {
  // Role 1 takes the first activation when it has the tied parameter. Role 0,
  // which here has that from the beginning, starts to send it behind the second
  // activation, which is not even started before the first one has been taken.
  Broken plan;
  plan::EntryT &update = plan.entry("update0");
  ASSERT_EQ(update.outputs.back()->name, "new t");
  update.instructions.pop_back();
  update.outputs.pop_back();
  update.buffers.pop_back();
  EntryBuilder begin = plan.builderOf("begin0");
  begin.launch("fill", {{begin.state("new t", false, true), write}}, {{}, {}});
  auto &row = plan.row(0), &other = plan.row(1);
  std::rotate(row.begin() + 5, row.begin() + 10, row.begin() + 11);
  std::rotate(other.begin() + 1, other.begin() + 10, other.begin() + 12);
  EXPECT_THAT(
      verdict(plan),
      HasSubstr(
          "the timeline deadlocks; role 0 waits before action 4 (message "
          "0 \"activation of stage 0\" of micro-batch 1) until role 1 "
          "receives message 0 \"activation of stage 0\" of micro-batch 0 "
          "(action 2, queue 0); role 1 waits before action 2 (segment "
          "\"finish\" of micro-batch 0) until role 0 sends "
          "message 2 \"tied parameter\" of micro-batch 0 (action 1, queue "
          "2)"));
  std::swap(row[4], row[5]);
  EXPECT_EQ(verdict(plan), "");
}

/// Moves an action of a row.
void move(std::vector<plan::Action> &row, size_t from, size_t to) {
  const plan::Action action = row[from];
  row.erase(row.begin() + from);
  row.insert(row.begin() + to, action);
}

TEST(VerifyTimeline, EverythingIsDoneOnce) {
  expectAll({
      {[](Broken &p) { p.row(0)[8] = p.row(0)[6]; },
       "role 0 action 8 (run \"backward0\" of micro-batch 0) repeats action "
       "6; a segment runs once for each of the 2 micro-batches, or once a "
       "step, for micro-batch 0"},
      {[](Broken &p) {
         p.row(0)[0] = {plan::ActionKind::Run, p.row(0)[0].index(), 1};
       },
       "role 0 has no run \"begin0\" of micro-batch 0; a segment runs once "
       "for each of the 2 micro-batches"},
      {[](Broken &p) {
         p.row(0)[10] = {plan::ActionKind::Send, 2, 1};
         p.row(1)[10] = {plan::ActionKind::Receive, 2, 1};
       },
       "role 0 has no send message 2 \"tied parameter\" of micro-batch 0; it "
       "moves what is there once a step, for micro-batch 0"},
      {[](Broken &p) {
         p.row(0).emplace_back(plan::ActionKind::Send, 2, 1);
         p.row(1).emplace_back(plan::ActionKind::Receive, 2, 1);
       },
       "role 0 action 11 (send message 2 \"tied parameter\" of micro-batch "
       "1) is one too many; it moves what is there once a step"},
      {[](Broken &p) {
         p.row(0).erase(p.row(0).begin() + 4);
         p.row(1).erase(p.row(1).begin() + 5);
       },
       "role 0 has no send message 0 \"activation of stage 0\" of "
       "micro-batch 1; it moves a value of each of the 2 micro-batches"},
      {[](Broken &p) {
         p.row(0).pop_back();
         p.row(1).erase(p.row(1).begin() + 10);
       },
       "role 0 has no send message 2 \"tied parameter\" of micro-batch 0"},
      {[](Broken &p) { p.segment("spare", 0); },
       "entry \"spare\" is a segment that no timeline runs"},
  });
}

/// Appends a segment of role 0 that uses one state; returns its number.
uint32_t addSegment(Broken &p, const std::string &name,
                    const std::string &state, bool reads, bool writes) {
  EntryBuilder segment = p.segment(name, 0);
  const uint32_t buffer = segment.state(state, reads, writes);
  if (writes)
    segment.launch("fill", {{buffer, write}}, {{}, {}});
  return static_cast<uint32_t>(p.table.entries.size() - 1);
}

void runForBoth(Broken &p, uint32_t segment) {
  for (uint32_t microbatch : {0, 1})
    p.row(0).emplace_back(plan::ActionKind::Run, segment, microbatch);
}

TEST(VerifyTimeline, MicrobatchesAreToldFromTheStep) {
  expectAll({
      // As many runs as of what is done once a step.
      {[](Broken &p) { p.row(0).erase(p.row(0).begin() + 3); },
       "role 0 action 1 (run \"forward0\" of micro-batch 0) is done once a "
       "step and uses state \"h0\", which each micro-batch has; it must be "
       "done for each of the 2"},
      {[](Broken &p) {
         runForBoth(p, addSegment(p, "carry", "g1", true, true));
       },
       "role 0 action 11 (run \"carry\" of micro-batch 0) updates state "
       "\"g1\", which has 2 slots; what one micro-batch leaves for the next "
       "must have 1"},
      {[](Broken &p) {
         runForBoth(p, addSegment(p, "again", "h1", false, true));
       },
       "role 0 action 11 (run \"again\" of micro-batch 0) writes state \"h1\", "
       "as role 0 action 1 (run \"forward0\" of micro-batch 0) does; each "
       "micro-batch must have one value"},
  });
}

TEST(VerifyTimeline, Counts) {
  const auto count = [](Broken &p, uint32_t slots) {
    p.PlanBuilder::state("number", p.type(DType::I32, {}),
                         {.role = 0, .slots = slots, .isInternal = true});
    p.table.states.back()->counts = true;
    runForBoth(p, addSegment(p, "count", "number", true, false));
  };
  Broken plan;
  count(plan, 2);
  EXPECT_EQ(verdict(plan), "");
  expectAll({
      {[&](Broken &p) { count(p, 1); },
       "role 0 action 11 (run \"count\" of micro-batch 0) reads state "
       "\"number\", which counts 1 micro-batches; there are 2"},
      {[&](Broken &p) {
         count(p, 2);
         p.entry("count").outputs.push_back(std::make_unique<plan::BindingT>(
             *p.entry("count").inputs.front()));
       },
       "role 0 action 11 (run \"count\" of micro-batch 0) writes state "
       "\"number\", which counts micro-batches"},
  });
}

TEST(VerifyTimeline, StatesOfMicrobatches) {
  expectAll({
      // The message is one of both rows, and only behind what it sends.
      {[](Broken &p) { move(p.row(0), 2, 1); },
       "role 0 action 1 (send message 0 \"activation of stage 0\" of "
       "micro-batch 0) reads state \"h1\" before it is written; must come "
       "behind role 0 action 2 (run \"forward0\" of micro-batch 0)"},
      {[](Broken &p) { move(p.row(1), 1, 2); },
       "role 1 action 1 (run \"forward1\" of micro-batch 0) reads state "
       "\"h1\" before it is written; must come behind role 1 action 2 (receive "
       "message 0 \"activation of stage 0\" of micro-batch 0)"},
      {[](Broken &p) {
         p.state("h1", 0).slots = 1;
         p.entry("forward0").buffers[2]->slots = 1;
         std::swap(p.row(0)[2], p.row(0)[3]);
       },
       "role 0 action 3 (send message 0 \"activation of stage 0\" of "
       "micro-batch 0) reads state \"h1\" of micro-batch 1, which role 0 "
       "action 2 (run \"forward0\" of micro-batch 1) wrote; must come behind "
       "role 0 action 1 (run \"forward0\" of micro-batch 0), with nothing "
       "written to the slot in between (it has 1)"},
      {[](Broken &p) {
         p.entry("begin0").inputs.push_back(
             std::make_unique<plan::BindingT>(*p.entry("update0").inputs[0]));
       },
       "role 0 action 0 (run \"begin0\" of micro-batch 0) updates state "
       "\"sum\" before it is written"},
  });
}

TEST(VerifyTimeline, StatesOfTheStep) {
  expectAll({
      {[](Broken &p) { move(p.row(1), 0, 3); },
       "role 1 action 2 (run \"backward1\" of micro-batch 0) updates state "
       "\"sum\" before it is written"},
      {[](Broken &p) { move(p.row(1), 9, 7); },
       "role 1 action 8 (run \"backward1\" of micro-batch 1) updates state "
       "\"sum\" behind role 1 action 7 (run \"update1\" of micro-batch 0); "
       "must come before it: micro-batches in ascending order, then what is "
       "done once a step"},
      // The parameter has its new value only behind the last forward.
      {[](Broken &p) {
         const uint32_t early = addSegment(p, "early", "w0", true, true);
         p.row(0).insert(p.row(0).begin() + 1,
                         {plan::ActionKind::Run, early, 0});
       },
       "role 0 action 2 (run \"forward0\" of micro-batch 0) reads the value "
       "of state \"w0\" before the call; must come before role 0 action 1 "
       "(run \"early\" of micro-batch 0), which writes another"},
      {[](Broken &p) { move(p.row(0), 10, 9); },
       "role 0 action 9 (send message 2 \"tied parameter\" of micro-batch 0) "
       "reads state \"new t\" before it is complete; must come behind role 0 "
       "action 10 (run \"update0\" of micro-batch 0)"},
      {[](Broken &p) { move(p.row(1), 11, 10); },
       "role 1 action 10 (run \"finish\" of micro-batch 0) reads state \"new "
       "t\" before it is complete; must come behind role 1 action 11 (receive "
       "message 2 \"tied parameter\" of micro-batch 0)"},
      {[](Broken &p) {
         p.message(2).source_states = {p.stateIndex("sum", 0)};
         p.message(2).destination_states = {p.stateIndex("sum", 1)};
       },
       "role 1 action 10 (receive message 2 \"tied parameter\" of micro-batch "
       "0) writes state \"sum\" anew; must come before role 1 action 9 (run "
       "\"update1\" of micro-batch 0)"},
      {[](Broken &p) {
         p.PlanBuilder::state("nothing", p.type(DType::F32, {16}),
                              {.role = 0, .isInternal = true});
         p.row(0).emplace_back(plan::ActionKind::Run,
                               addSegment(p, "lost", "nothing", true, false),
                               0);
       },
       "role 0 action 11 (run \"lost\" of micro-batch 0) reads state "
       "\"nothing\", which no action of the role writes"},
  });
}

TEST(VerifyTimeline, Results) {
  const auto loss = [](Broken &p) -> plan::BufferT & {
    return p.buffer(p.entry("step").outputs.back()->buffer);
  };
  expectAll({
      {[&](Broken &p) {
         p.PlanBuilder::state("nothing", p.type(DType::F32, {16}),
                              {.role = 1, .isInternal = true});
         loss(p).offset = p.state("nothing", 1).offset;
       },
       "output \"loss\": no action of role 1 writes state \"nothing\""},
      {[&](Broken &p) {
         p.state("g1", 1).slots = 1;
         for (auto &buffer : p.entry("backward1").buffers)
           if (buffer->offset == p.state("g1", 1).offset)
             buffer->slots = 1;
         loss(p).offset = p.state("g1", 1).offset;
       },
       "output \"loss\": state \"g1\" of role 1 has 1 slots, which do not keep "
       "the values of 2 micro-batches"},
  });
}

TEST(VerifyTimeline, ManyRanksTakeLittleTime) {
  const std::vector<std::byte> bytes = PipelinePlan(64, 256).bytes();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(Plan::parse(bytes).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

} // namespace
} // namespace weft::runtime
