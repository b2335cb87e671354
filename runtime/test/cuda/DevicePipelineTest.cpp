//===- DevicePipelineTest.cpp - Timelines on a GPU ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same pipelines for "cpu" and for "cuda", with all ranks on one device:
// the bits must be the same.
//
//===----------------------------------------------------------------------===//

#include "DeviceLibraries.h"
#include "PipelinePlan.h"
#include "weft/runtime/Session.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace weft::runtime {
namespace {

using testing::ElementsAre;

std::unique_ptr<Session> makeSession(const PipelinePlan &plan,
                                     SessionOptions options = {}) {
  auto session = Session::create(plan.build(), options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  if (!session.ok())
    return nullptr;
  for (uint32_t role = 0; role < plan.roles; ++role)
    EXPECT_EQ((*session)->setState(PipelinePlan::of("w", role),
                                   countingArray({16}, 0.5f * (role + 1))),
              Status());
  EXPECT_EQ((*session)->setState("t", countingArray({16}, 3)), Status());
  return *std::move(session);
}

struct DevicePipeline : testing::Test {
  DeviceLibraries libraries;
};

TEST_F(DevicePipeline, HasTheBitsOfTheHost) {
  for (uint32_t roles : {2, 4})
    for (const auto &[data, reductions] :
         std::vector<std::pair<int64_t, Reductions>>{{1, Reductions::InUpdate},
                                                     {2, Reductions::InUpdate},
                                                     {2, Reductions::Early}}) {
      const auto make = [&] {
        return PipelinePlan(roles, 5, data, Receives::BeforeUse, reductions);
      };
      PipelinePlan host = make(), device = make();
      makeCudaPlan(device, testKernels());
      const auto expected = makeSession(host), session = makeSession(device);
      ASSERT_NE(session, nullptr);
      EXPECT_EQ(session->arenaBytes(), expected->arenaBytes());
      for (int step = 0; step < 4; ++step) {
        const Array x = countingArray({5, 16 * data}, 0.1f * (step + 1));
        for (Session *each : {expected.get(), session.get()}) {
          ASSERT_EQ(each->setInput("step", "x", x), Status());
          ASSERT_EQ(each->run("step"), Status());
        }
        for (const char *name : {"out", "loss", "t", "w0", "w1"})
          EXPECT_EQ(session->getOutput(name)->data,
                    expected->getOutput(name)->data)
              << name;
      }
    }
}

TEST_F(DevicePipeline, CountsAreThereFromTheLoad) {
  PipelinePlan plan(2, 2);
  const auto number = plan.type(DType::I32, {});
  plan.state("count", number,
             {.role = 1, .slots = 2, .isInternal = true, .counts = true});
  plan.state("seen", number, {.role = 1, .slots = 2, .isInternal = true});
  EntryBuilder copy = plan.segment("copy", 1);
  copy.copy(copy.state("count", true, false), copy.state("seen", false, true));
  TimelineBuilder look = plan.timeline("look", 2);
  for (uint32_t i : {0, 1}) {
    look.run(1, "copy", i);
    look.output(PipelinePlan::of("seen", i), number, {{1, "seen"}});
    look.table().buffers.back()->offset += uint64_t(i) * 64;
  }
  makeCudaPlan(plan, testKernels());
  const auto session = makeSession(plan);
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(session->run("look"), Status());
  for (int32_t i : {0, 1})
    EXPECT_EQ(session->getOutput(PipelinePlan::of("seen", i))->as<int32_t>()[0],
              i);
}

TEST_F(DevicePipeline, Trace) {
  PipelinePlan plan(2, 2);
  makeCudaPlan(plan, testKernels());
  SessionOptions options;
  options.traceRuns = 1;
  const auto session = makeSession(plan, options);
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(session->setInput("step", "x", countingArray({2, 16})), Status());
  ASSERT_EQ(session->run("step"), Status());
  const std::string path =
      testing::TempDir() + "pipeline-" + std::to_string(getpid());
  ASSERT_EQ(session->writeTrace(path), Status());
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file);
  std::vector<std::string> messages;
  std::vector<int> forwards;
  for (const auto &event : json.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("pid") != 1 ||
        event.at("name") == "bubble")
      continue;
    const auto &args = event.at("args");
    EXPECT_EQ(args.at("role"), 1);
    if (args.contains("message"))
      messages.push_back(event.at("name"));
    if (args.at("entry") == "forward1")
      forwards.push_back(args.at("microbatch"));
  }
  EXPECT_THAT(forwards, ElementsAre(0, 1));
  EXPECT_THAT(messages,
              ElementsAre("activation of stage 0", "activation of stage 0",
                          "tied parameter", "gradient of stage 0",
                          "gradient of stage 0"));
  std::filesystem::remove(path);
}

} // namespace
} // namespace weft::runtime
