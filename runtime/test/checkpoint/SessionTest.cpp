//===- SessionTest.cpp - States of sessions in checkpoints ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Session.h"
#include "PipelinePlan.h"
#include "SamplePlan.h"
#include "Tensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <pthread.h>

namespace weft::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using SessionCheckpoint = ScratchDirectory;
using Dims = std::vector<std::vector<std::string>>;

/// Two states on a mesh <["a"=2, "b"=ranks]>, which no entry computes.
struct StatesPlan : PlanBuilder {
  StatesPlan(int64_t b, const Dims &dims, const std::vector<int64_t> &shape,
             bool isPartial = false)
      : PlanBuilder({{"a", 2}, {"b", b}}) {
    state("x", type(DType::F32, shape, dims));
    state("y", type(DType::F32, {4}, {},
                    isPartial ? std::vector<std::string>{"b"}
                              : std::vector<std::string>{}));
    EntryBuilder step = entry("step");
    step.state("x", true, true);
    step.state("y", true, true);
  }
};

std::unique_ptr<Session> create(const PlanBuilder &builder) {
  auto session = Session::create(builder.build());
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

Status save(Session &session, const std::string &folder, int64_t step) {
  WEFT_ASSIGN_OR_RETURN(auto writer, CheckpointWriter::open(folder, {}));
  WEFT_RETURN_IF_ERROR(session.save(*writer, step));
  return writer->wait();
}

/// Threads get the default attributes: stacks that no address space has room
/// for.
TEST_F(SessionCheckpoint, ThreadsThatCannotBeStarted) {
  const auto session = create(StatesPlan(1, {}, {12, 8}));
  ASSERT_EQ(session->setState("x", countingArray({12, 8})), Status());
  ASSERT_EQ(session->setState("y", countingArray({4})), Status());
  auto writer = CheckpointWriter::open(file("run"), {});
  ASSERT_TRUE(writer.ok());
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  pthread_attr_init(&huge);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t(1) << 46), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const Status prepared = session->prepareSave(**writer);
  const Status saved = session->save(**writer, 1);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(prepared, Status());
  EXPECT_EQ(saved.code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(saved.message(),
              HasSubstr("cannot start the thread that writes a checkpoint: "));
  EXPECT_EQ(session->save(**writer, 1), Status());
  EXPECT_EQ((*writer)->wait(), Status());
}

/// Sizes that axes divide and such that they do not; the files have the same
/// bytes for every mesh.
TEST_F(SessionCheckpoint, AnyMeshToAnyMesh) {
  const std::vector<Dims> shardings = {
      {}, {{"a"}, {"b"}}, {{}, {"b", "a"}}, {{"b"}, {}}};
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{12, 8}, {7, 5}, {3, 1}}) {
    Array x = countingArray(shape);
    const Array y = countingArray({4}, 0.5f);
    std::string bytes;
    for (size_t from = 0; from < shardings.size(); ++from) {
      const auto saved =
          create(StatesPlan(from == 0 ? 1 : 2, shardings[from], shape,
                            /*isPartial=*/from == 1));
      ASSERT_EQ(saved->setState("x", x), Status());
      ASSERT_EQ(saved->setState("y", y), Status());
      ASSERT_EQ(save(*saved, file("run"), 1), Status());
      const std::string now =
          load("run/step-00000001/model-00001-of-00001.safetensors") +
          load("run/step-00000001/checkpoint.json");
      EXPECT_EQ(bytes.empty() ? now : bytes, now);
      bytes = now;
      for (size_t to = 0; to < shardings.size(); ++to) {
        SCOPED_TRACE(fmt::format("{} to {}", from, to));
        const auto restored = create(StatesPlan(to == 0 ? 3 : 2, shardings[to],
                                                shape, /*isPartial=*/to == 2));
        ASSERT_EQ(restored->restore(file("run/step-00000001")), Status());
        EXPECT_EQ(restored->getState("x")->data, x.data);
        EXPECT_EQ(restored->getState("y")->data, y.data);
        for (int64_t rank = 0; rank < 4; ++rank)
          EXPECT_EQ(restored->getShard("x", rank)->data, [&] {
            const auto direct = create(
                StatesPlan(to == 0 ? 3 : 2, shardings[to], shape, to == 2));
            EXPECT_EQ(direct->setState("x", x), Status());
            return direct->getShard("x", rank)->data;
          }());
      }
    }
  }
}

TEST_F(SessionCheckpoint, Pipelines) {
  const PipelinePlan three(3, 2, 2), same(3, 4, 1);
  const auto first = create(three), second = create(same);
  for (const ValueSpec &state : first->plan().states())
    ASSERT_EQ(first->setState(state.name, countingArray({16}, 0.25f)),
              Status());
  ASSERT_EQ(first->setState(PipelinePlan::of("w", 2), countingArray({16}, 7)),
            Status());
  ASSERT_EQ(save(*first, file("run"), 5), Status());
  ASSERT_EQ(second->restore(file("run/step-00000005")), Status());
  for (const ValueSpec &state : first->plan().states())
    EXPECT_EQ(second->getState(state.name)->data,
              first->getState(state.name)->data)
        << state.name;
}

/// The states of the time of the call are saved, whatever runs meanwhile.
TEST_F(SessionCheckpoint, StepsGoOnMeanwhile) {
  const auto session = create(SamplePlan(2));
  ASSERT_EQ(session->run("init"), Status());
  ASSERT_EQ(session->setInput("train_step", "x", countingArray({32}, 0)),
            Status());
  const auto writer = CheckpointWriter::open(file("run"), {});
  ASSERT_TRUE(writer.ok());
  ASSERT_EQ(session->prepareSave(**writer), Status());
  for (int64_t step = 1; step <= 5; ++step) {
    ASSERT_EQ(session->run("train_step"), Status());
    ASSERT_EQ(session->save(**writer, step), Status());
  }
  ASSERT_EQ((*writer)->wait(), Status());
  float factor = 1;
  for (int64_t step = 1; step <= 5; ++step) {
    factor *= 3;
    const auto found = readAll(file(fmt::format("run/step-{:08}", step)));
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->at("w").data, countingArray({16}, factor).data);
  }
}

TEST_F(SessionCheckpoint, DoesNotFit) {
  const auto session = create(SamplePlan(2));
  EXPECT_THAT(save(*session, file("run"), 1).message(),
              HasSubstr("state \"w\" is read, but nothing has set it"));
  ASSERT_EQ(writeCheckpoint(file("run"),
                            {{"v", countingArray(DType::F32, {16})},
                             {"w", countingArray(DType::F32, {8})}},
                            1),
            Status());
  EXPECT_THAT(
      session->restore(file("run/step-00000001")).message(),
      AllOf(HasSubstr("step-00000001: it has \"w\" as f32[8], the plan wants "
                      "f32[16]"),
            HasSubstr("; it has \"v\", which is no state of the plan")));
  ASSERT_EQ(writeCheckpoint(file("run"), {}, 2), Status());
  EXPECT_THAT(session->restore(file("run/step-00000002")).message(),
              HasSubstr("step-00000002: it has no state \"w\""));
  EXPECT_FALSE(session->getState("w").ok());
}

TEST_F(SessionCheckpoint, DamagedShard) {
  const auto session = create(SamplePlan(4));
  ASSERT_EQ(session->run("init"), Status());
  ASSERT_EQ(save(*session, file("run"), 1), Status());
  const std::string name = "run/step-00000001/model-00001-of-00001.safetensors";
  std::string text = load(name);
  text.back() ^= 1;
  store(name, text);
  EXPECT_THAT(session->restore(file("run/step-00000001")).message(),
              HasSubstr(name + ": tensor \"w\" has changed since the file was "
                               "written"));
}

} // namespace
} // namespace weft::runtime
