//===- ProcessesTest.cpp - Checkpoints of several processes ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/Processes.h"
#include "SamplePlan.h"
#include "Tensors.h"
#include "weft/runtime/Session.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <random>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

struct Processes : ScratchDirectory {
  /// What every process of a job returns that does `use`, in their order.
  std::vector<std::string>
  run(int world,
      const std::function<Status(std::shared_ptr<Bootstrap>)> &use) const {
    const uint16_t port = freePort();
    std::vector<Process> processes;
    for (int rank = 0; rank < world; ++rank)
      processes.emplace_back([&, rank] {
        Launch launch;
        launch.rank = rank;
        launch.world = world;
        launch.job = "test/job";
        launch.meeting = {"127.0.0.1", port, 1};
        auto bootstrap = Bootstrap::connect(launch, 20s);
        return bootstrap.ok() ? use(*std::move(bootstrap)).toString()
                              : bootstrap.status().toString();
      });
    std::vector<std::string> texts;
    for (Process &process : processes)
      texts.push_back(process.finish());
    return texts;
  }
  static CheckpointOptions with(std::shared_ptr<Bootstrap> bootstrap) {
    CheckpointOptions options;
    options.bootstrap = std::move(bootstrap);
    options.fileBytes = 1000;
    options.deadline = 20s;
    return options;
  }
};

TEST_F(Processes, WriteTheBytesOfOne) {
  const Tensors tensors = sampleTensors();
  ASSERT_EQ(writeCheckpoint(file("alone"), tensors, 8, with(nullptr)),
            Status());
  for (int world : {2, 3, 5}) {
    const std::string folder = fmt::format("run{}", world);
    EXPECT_THAT(run(world,
                    [&](auto bootstrap) {
                      return writeCheckpoint(file(folder), tensors, 8,
                                             with(bootstrap));
                    }),
                testing::Each("ok"));
    for (const char *name : {"checkpoint.json", "model.safetensors.index.json",
                             "model-00001-of-00003.safetensors",
                             "model-00002-of-00003.safetensors",
                             "model-00003-of-00003.safetensors"})
      EXPECT_EQ(load(folder + "/step-00000008/" + name),
                load(std::string("alone/step-00000008/") + name));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(
                                file(folder + "/step-00000008")),
                            {}),
              5);
  }
}

/// A limit of the size of files stands for a full disk.
TEST_F(Processes, AllLearnOfAFullDisk) {
  const Tensors tensors = sampleTensors();
  for (int full : {0, 1}) {
    const auto texts = run(2, [&](std::shared_ptr<Bootstrap> bootstrap) {
      if (bootstrap->launch().rank == full) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4000, 4000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
      }
      return writeCheckpoint(file("run"), tensors, 9, with(bootstrap));
    });
    for (const std::string &text : texts)
      EXPECT_THAT(text, AllOf(HasSubstr("checkpoint of step 9: "),
                              HasSubstr("cannot write the file: File too "
                                        "large")));
    EXPECT_TRUE(listCheckpoints(file("run"))->empty());
  }
}

TEST_F(Processes, OneThatEnds) {
  const auto texts = run(2, [&](std::shared_ptr<Bootstrap> bootstrap) {
    auto writer = CheckpointWriter::open(file("run"), with(bootstrap));
    if (bootstrap->launch().rank == 1)
      ::_exit(3);
    EXPECT_EQ((*writer)->start(contentsOf(sampleTensors(), 2, {0, 2})),
              Status());
    return (*writer)->wait();
  });
  EXPECT_THAT(texts[0], HasSubstr("process 1 ended before it had written its "
                                  "part of checkpoint step-00000002"));
  EXPECT_TRUE(listCheckpoints(file("run"))->empty());
}

TEST_F(Processes, OneThatIsLate) {
  const auto texts = run(2, [&](std::shared_ptr<Bootstrap> bootstrap) {
    CheckpointOptions options = with(bootstrap);
    options.deadline = 1s;
    auto writer = CheckpointWriter::open(file("run"), options);
    if (bootstrap->launch().rank == 1) {
      std::this_thread::sleep_for(3s);
      return Status();
    }
    EXPECT_EQ((*writer)->start(contentsOf(sampleTensors(), 2, {0, 2})),
              Status());
    return (*writer)->wait();
  });
  EXPECT_THAT(texts[0], HasSubstr("process 1 had not written its part of "
                                  "checkpoint step-00000002 within 1 s"));
}

/// Process 1 saves something else: nothing is left that cannot be read.
TEST_F(Processes, AllSaveTheSame) {
  const auto differing = [&](const std::function<void(Tensors &)> &change,
                             int64_t step) {
    const auto texts = run(2, [&](std::shared_ptr<Bootstrap> bootstrap) {
      Tensors tensors{{"b", countingArray(DType::F32, {4})},
                      {"w", countingArray(DType::F32, {8, 4})}};
      const bool isOther = bootstrap->launch().rank == 1;
      if (isOther)
        change(tensors);
      return writeCheckpoint(file("run"), tensors, isOther ? step : 2,
                             with(bootstrap));
    });
    EXPECT_TRUE(listCheckpoints(file("run"))->empty());
    EXPECT_THAT(texts[1], HasSubstr(texts[0].substr(texts[0].find("process"))));
    return texts[0];
  };
  const auto none = [](Tensors &) {};
  EXPECT_THAT(differing(none, 3),
              HasSubstr("checkpoint of step 2: process 1 saves step 3, and "
                        "process 0 step 2; all save the same"));
  EXPECT_THAT(
      differing([](Tensors &all) { all.erase("b"); }, 2),
      HasSubstr("process 1 saves 1 tensors, and process 0 saves 2; all save "
                "the same"));
  EXPECT_THAT(
      differing(
          [](Tensors &all) { all["w"] = countingArray(DType::F32, {4, 4}); },
          2),
      HasSubstr("process 1 saves f32[4, 4] w, and process 0 f32[8, 4] "
                "w; all save the same"));
  EXPECT_THAT(
      differing(
          [](Tensors &all) { all["w"] = countingArray(DType::I32, {8, 4}); },
          2),
      HasSubstr("process 1 saves i32[8, 4] w"));
  EXPECT_THAT(differing(
                  [](Tensors &all) {
                    all["v"] = all["w"];
                    all.erase("w");
                  },
                  2),
              HasSubstr("process 1 saves f32[8, 4] v"));
}

/// A session whose ranks are all of one process.
TEST_F(Processes, AsManyAsTheSessionHas) {
  const auto texts =
      run(2, [&](std::shared_ptr<Bootstrap> bootstrap) -> Status {
        WEFT_ASSIGN_OR_RETURN(auto session,
                              Session::create(SamplePlan(2).build()));
        WEFT_ASSIGN_OR_RETURN(
            auto writer, CheckpointWriter::open(file("run"), with(bootstrap)));
        return session->save(*writer, 1);
      });
  EXPECT_THAT(texts,
              testing::Each(HasSubstr(
                  "the ranks of the session are in 1 processes, the checkpoint "
                  "is written by 2")));
}

/// Killed at any moment: what is there is whole.
TEST_F(Processes, KilledDuringSave) {
  const Tensors tensors = sampleTensors();
  ASSERT_EQ(writeCheckpoint(file("run"), tensors, 1), Status());
  std::mt19937 random(1);
  int lost = 0;
  for (int64_t step = 2; step < 52; ++step) {
    Process process([&] {
      while (true)
        if (Status status = writeCheckpoint(file("run"), tensors, step);
            !status.ok())
          return status.message();
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
    process.kill(SIGKILL);
    process.finish();
    const auto found = listCheckpoints(file("run"));
    ASSERT_TRUE(found.ok() && !found->empty());
    lost += found->back().step != step;
    for (const CheckpointFolder &each : *found)
      expectEqual(readAll(each.path), tensors);
  }
  ASSERT_TRUE(CheckpointWriter::open(file("run"), {}).ok());
  for (const auto &entry : std::filesystem::directory_iterator(file("run")))
    EXPECT_FALSE(entry.path().string().ends_with(".unfinished"));
  RecordProperty("lost", lost);
}

} // namespace
} // namespace weft::runtime
