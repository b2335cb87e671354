//===- DeviceSessionTest.cpp - Plans are executed on a GPU ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same hand-written plans for "cpu" and for "cuda", step by step, with all
// ranks on one device: the bits must be the same.
//
//===----------------------------------------------------------------------===//

#include "DeviceLibraries.h"
#include "SamplePlan.h"
#include "weft/runtime/Session.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace weft::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// This program's tests run several times at once.
std::string ownPath(const std::string &name) {
  return testing::TempDir() + name + "-" + std::to_string(getpid());
}

std::unique_ptr<Session> makeSession(const PlanBuilder &builder,
                                     SessionOptions options = {}) {
  auto session = Session::create(builder.build(), options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return session.ok() ? *std::move(session) : nullptr;
}

/// Ranks, and whether graphs are captured.
struct DeviceSteps : testing::TestWithParam<std::tuple<int, bool>> {
  DeviceLibraries libraries;
};

TEST_P(DeviceSteps, HaveTheBitsOfTheHost) {
  const auto [ranks, cudaGraphs] = GetParam();
  SamplePlan host(ranks), device(ranks);
  makeCudaPlan(device, testKernels());
  SessionOptions options;
  options.cudaGraphs = cudaGraphs;
  const auto expected = makeSession(host),
             session = makeSession(device, options);
  ASSERT_NE(session, nullptr);
  for (Session *each : {expected.get(), session.get()})
    ASSERT_TRUE(each->run("init").ok());
  // Enough for steps before, in and after the capture of a graph.
  for (int step = 0; step < 6; ++step) {
    const Array x = countingArray({16 * ranks}, 0.1f * (step + 1));
    for (Session *each : {expected.get(), session.get()}) {
      ASSERT_TRUE(each->setInput("train_step", "x", x).ok());
      const Status status = each->run("train_step");
      ASSERT_TRUE(status.ok()) << status.message();
    }
    EXPECT_EQ(session->getOutput("loss")->data,
              expected->getOutput("loss")->data);
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(session->getShard("w", rank)->data,
                expected->getShard("w", rank)->data);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, DeviceSteps,
                         testing::Combine(testing::Values(1, 2, 4),
                                          testing::Bool()));

struct DeviceSession : testing::Test {
  DeviceLibraries libraries;
};

TEST_F(DeviceSession, StatesAndShardsGoInAndOut) {
  SamplePlan sample(2);
  makeCudaPlan(sample, testKernels());
  const auto session = makeSession(sample);
  ASSERT_NE(session, nullptr);
  const Array w = countingArray({16}, 0.5f);
  ASSERT_TRUE(session->setState("w", w).ok());
  EXPECT_EQ(session->getState("w")->data, w.data);
  const Array part = countingArray({16}, 2);
  ASSERT_TRUE(session
                  ->setInputShards("train_step", "x",
                                   std::vector<ArrayView>{part, part})
                  .ok());
  ASSERT_TRUE(session->run("train_step").ok());
  // w + 2 (part + w)
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(floats(*session->getState("w"))[i], 5.5f * i);
  EXPECT_EQ(session->arenaBytes(),
            std::vector<uint64_t>(2, sample.table.arena_bytes));
}

TEST_F(DeviceSession, ConstantsAndCopies) {
  PlanBuilder builder({{"data", 2}});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {16});
  const uint32_t c = entry.constant(countingArray({16}, 3));
  const uint32_t y = entry.output("y", type);
  entry.copy(c, y);
  makeCudaPlan(builder, ".version 9.0\n.target sm_80\n.address_size 64\n");
  const auto session = makeSession(builder);
  ASSERT_NE(session, nullptr);
  for (int run = 0; run < 4; ++run) {
    ASSERT_TRUE(session->run("e").ok());
    EXPECT_EQ(session->getOutput("y")->data, countingArray({16}, 3).data);
  }
}

TEST_F(DeviceSession, TheWorkspaceOfKernelsIsZeroAtFirstAndStays) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const uint32_t y = entry.output("y", builder.type(DType::F32, {16}));
  entry.launch("count", {{y, write}});
  makeCudaPlan(builder, testKernels());
  builder.table.kernels[0]->grid->workspace_bytes = 64;
  const auto session = makeSession(builder);
  ASSERT_NE(session, nullptr);
  for (int run = 1; run <= 5; ++run) {
    ASSERT_TRUE(session->run("e").ok());
    EXPECT_EQ(floats(*session->getOutput("y")),
              std::vector<float>(16, static_cast<float>(run)));
  }
}

/// Several sets in one launch, and one of a kernel that has room for several.
TEST_F(DeviceSession, LaunchesOfSeveralSets) {
  for (const bool cudaGraphs : {false, true}) {
    PlanBuilder builder({{"data", 2}});
    EntryBuilder entry = builder.entry("e");
    const auto type = builder.type(DType::F32, {16, 2}, {{}, {"data"}});
    const uint32_t x = entry.input("x", type), y = entry.input("y", type);
    const uint32_t a = entry.output("a", type), b = entry.output("b", type),
                   c = entry.output("c", type), d = entry.output("d", type);
    entry.launchBatch("addSets",
                      {{{x, read}, {y, read}, {a, write}},
                       {{y, read}, {x, read}, {b, write}},
                       {{x, read}, {y, read}, {c, write}}},
                      {{"data"}});
    entry.launch("addSets", {{a, read}, {b, read}, {d, write}}, {{"data"}});
    makeCudaPlan(builder, testKernels());
    builder.table.kernels[0]->grid->max_batch = 5;
    SessionOptions options;
    options.cudaGraphs = cudaGraphs;
    const auto session = makeSession(builder, options);
    ASSERT_NE(session, nullptr);
    for (int run = 1; run <= 5; ++run) {
      ASSERT_TRUE(
          session->setInput("e", "x", countingArray({16, 2}, run)).ok());
      ASSERT_TRUE(session->setInput("e", "y", countingArray({16, 2}, 10)).ok());
      ASSERT_TRUE(session->run("e").ok());
      for (int rank = 0; rank < 2; ++rank) {
        const auto shard = [&](const char *name) {
          return floats(*session->getShard(name, rank));
        };
        for (int i = 0; i < 16; ++i) {
          const float at = 2.0f * i + rank, xi = run * at, yi = 10 * at;
          EXPECT_EQ(shard("a")[i], xi + rank * yi);
          EXPECT_EQ(shard("b")[i], yi + rank * xi);
          EXPECT_EQ(shard("c")[i], xi + rank * yi);
          EXPECT_EQ(shard("d")[i], xi + rank * yi + rank * (yi + rank * xi));
        }
      }
    }
  }
}

TEST_F(DeviceSession, TracesShowStreamsAndPredictions) {
  SamplePlan sample(2);
  sample.instruction(0).bytes = 1 << 20;
  sample.instruction(0).cause = "sum of x and w";
  makeCudaPlan(sample, testKernels());
  SessionOptions options;
  options.traceRuns = 2;
  const auto session = makeSession(sample, options);
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->run("init").ok());
  ASSERT_TRUE(session->setInput("train_step", "x", countingArray({32})).ok());
  for (int step = 0; step < 4; ++step)
    ASSERT_TRUE(session->run("train_step").ok());
  const std::string path = ownPath("weft-device-trace") + ".json";
  ASSERT_TRUE(session->writeTrace(path).ok());
  std::ifstream file(path);
  const auto trace = nlohmann::json::parse(file);
  int kernels = 0, collectives = 0;
  for (const auto &event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["args"]["entry"] != "train_step")
      continue;
    EXPECT_GE(event["dur"], 0.0);
    if (event["args"]["step"] == 0) {
      ++kernels;
      EXPECT_EQ(event["tid"], 0);
      EXPECT_EQ(event["args"]["cause"], "sum of x and w");
      EXPECT_GT(event["args"]["predicted_us"], 0.0);
    }
    if (event["name"] == "all_reduce") {
      ++collectives;
      EXPECT_EQ(event["tid"], 1);
      EXPECT_EQ(event["args"]["location"], "model.py:12");
    }
  }
  // Of the two traced runs, init is the first.
  EXPECT_EQ(kernels, 2);
  EXPECT_EQ(collectives, 2);
  std::filesystem::remove(path);
}

TEST_F(DeviceSession, NotEnoughMemory) {
  SamplePlan sample(2);
  makeCudaPlan(sample, testKernels());
  SessionOptions options;
  options.memoryLimit = 100;
  const Status status = Session::create(sample.build(), options).status();
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("2 ranks on device 0 ("),
                    HasSubstr("need 768 bytes, 384 each: arena 384; 100 bytes "
                              "are available; compile for a larger mesh, or "
                              "shrink the batch")));
}

TEST_F(DeviceSession, ProcessorsForCollectives) {
  SamplePlan sample(1);
  makeCudaPlan(sample, testKernels());
  SessionOptions options;
  options.processorsForCollectives = 132;
  const Status status = Session::create(sample.build(), options).status();
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(
      status.message(),
      AllOf(HasSubstr("132 multiprocessors for collectives; device 0 ("),
            HasSubstr(") has 132, and GEMMs need at least 1")));
}

TEST_F(DeviceSession, NoSuchDevice) {
  SamplePlan sample(2);
  makeCudaPlan(sample, testKernels());
  SessionOptions options;
  options.device = 1000;
  const Status status = Session::create(sample.build(), options).status();
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("device 1000 is not one of the "));
}

TEST_F(DeviceSession, OtherProcessor) {
  SamplePlan sample(2);
  makeCudaPlan(sample, testKernels(), "sm_999");
  const Status status = Session::create(sample.build()).status();
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("the plan is for sm_999, but device 0 ("),
                    HasSubstr("compile it with --target=cuda:sm_")));
}

/// A cubin that no driver loads.
std::vector<uint8_t> brokenCubin() {
  std::vector<uint8_t> cubin(64);
  const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
  std::copy(std::begin(magic), std::end(magic), cubin.begin());
  cubin[18] = 190; // e_machine: CUDA
  cubin[58] = 64;  // e_shentsize
  return cubin;
}

/// The notes of a session with PTX, and a cubin for this processor that no
/// driver loads.
std::vector<std::string> notesOfCubin(const std::string &processor) {
  SamplePlan sample(2);
  makeCudaPlan(sample, testKernels(), processor);
  sample.table.object = brokenCubin();
  std::vector<std::string> notes;
  SessionOptions options;
  options.note = [&](const std::string &text) { notes.push_back(text); };
  const auto session = makeSession(sample, options);
  EXPECT_TRUE(session && session->run("init").ok());
  return notes;
}

TEST_F(DeviceSession, PtxStandsInForACubinThatDoesNotLoad) {
  const auto noteFor = [](const std::string &processor) {
    return AllOf(HasSubstr("the driver compiled the plan's PTX for device 0 ("),
                 HasSubstr("because the cubin for " + processor +
                           " does not load there: cudaLibraryLoadData: no "
                           "kernel image is available"));
  };
  EXPECT_THAT(notesOfCubin("sm_80"),
              testing::ElementsAre(
                  AllOf(noteFor("sm_80"), HasSubstr("; --target=cuda:sm_"),
                        HasSubstr(" compiles one that does"))));
  // It is for this device: another target would not help.
  EXPECT_THAT(notesOfCubin("sm_90"),
              testing::ElementsAre(AllOf(
                  noteFor("sm_90"),
                  HasSubstr("; a newer driver than this one, for CUDA 13."),
                  HasSubstr(", may take it, and --ptxas=none compiles a plan "
                            "without one"),
                  testing::Not(HasSubstr("--target")))));
}

TEST_F(DeviceSession, WithoutCudnnThereIsANote) {
  // A folder with the device alone.
  const std::string folder = ownPath("weft-device-alone");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink(WEFT_CUDA_EMULATOR "/libcudart.so.13",
                                  folder + "/libcudart.so.13");
  setenv("WEFT_CUDA_LIBRARIES", folder.c_str(), 1);
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {1, 2, 1, 4});
  const uint32_t query = entry.input("q", type), key = entry.input("k", type),
                 value = entry.input("v", type), out = entry.output("o", type),
                 sums = entry.temporary(DType::F32, {1, 1, 2});
  entry.attention(query, key, value, out, sums, {1, 2, 2, 1, 1, 4});
  entry.attention(query, key, value, out, sums, {1, 2, 2, 1, 1, 4});
  makeCudaPlan(builder, ".version 9.0\n.target sm_80\n.address_size 64\n");
  std::vector<std::string> notes;
  SessionOptions options;
  options.note = [&](const std::string &text) { notes.push_back(text); };
  ASSERT_NE(makeSession(builder, options), nullptr);
  // Two layers, one note.
  EXPECT_THAT(notes, testing::ElementsAre(
                         AllOf(HasSubstr("attention is not by cuDNN but by the "
                                         "runtime's kernels, which are slower: "
                                         "cannot open libcudnn.so.9: "),
                               HasSubstr("install cuDNN 9 for CUDA 13"))));
  std::filesystem::remove_all(folder);
}

TEST_F(DeviceSession, CodeThatDoesNotLoad) {
  SamplePlan sample(2);
  makeCudaPlan(sample, "no PTX, but .entry add( and .entry fill( and .entry "
                       "total(");
  sample.table.object = brokenCubin();
  const Status status = Session::create(sample.build()).status();
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("can load neither the plan's cubin for sm_80 "
                              "(cudaLibraryLoadData: "),
                    HasSubstr(") nor its PTX (cudaLibraryLoadData: "),
                    HasSubstr("update the driver, or compile the plan with an "
                              "older ptxas")));
}

TEST_F(DeviceSession, TooManyRanksForOneDevice) {
  PlanBuilder builder({{"data", 17}});
  builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {16});
  entry.copy(entry.input("x", type), entry.output("y", type));
  makeCudaPlan(builder, ".version 9.0\n.target sm_80\n.address_size 64\n");
  EXPECT_THAT(Session::create(builder.build()).status().message(),
              HasSubstr("group 0: ranks that share one GPU meet in groups of "
                        "at most 16, this one has 17; run one rank a GPU"));
}

} // namespace
} // namespace weft::runtime
