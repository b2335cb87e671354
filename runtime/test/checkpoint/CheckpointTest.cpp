//===- CheckpointTest.cpp - Checkpoints of one process --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"
#include "checkpoint/CheckpointFiles.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <set>

namespace weft::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using CheckpointTest = ScratchDirectory;

std::vector<int64_t> stepsIn(const std::string &folder) {
  const auto found = listCheckpoints(folder);
  EXPECT_TRUE(found.ok()) << found.status().message();
  std::vector<int64_t> steps;
  for (const CheckpointFolder &each : *found)
    steps.push_back(each.step);
  return steps;
}

TEST_F(CheckpointTest, RoundTrip) {
  const Tensors tensors = sampleTensors();
  ASSERT_EQ(writeCheckpoint(file("run/here"), tensors, 12), Status());
  const auto checkpoint = Checkpoint::open(file("run/here/step-00000012"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->step(), 12);
  EXPECT_EQ(checkpoint->metadata(), (Metadata{{"run", "a test"}}));
  EXPECT_EQ(checkpoint->find("none"), std::nullopt);
  expectEqual(readAll(checkpoint->path()), tensors);
}

TEST_F(CheckpointTest, NoTensors) {
  ASSERT_EQ(writeCheckpoint(file("run"), {}, 0), Status());
  expectEqual(readAll(file("run/step-00000000")), {});
}

/// What other programs read.
TEST_F(CheckpointTest, FilesOfTheHub) {
  const Tensors tensors = sampleTensors();
  CheckpointOptions options;
  options.fileBytes = 1000;
  ASSERT_EQ(writeCheckpoint(file("run"), tensors, 1, options), Status());
  const std::string folder = "run/step-00000001/";
  const auto index =
      nlohmann::json::parse(load(folder + "model.safetensors.index.json"));
  uint64_t bytes = 0;
  std::set<std::string> files;
  for (const auto &[name, array] : tensors) {
    bytes += array.bytes();
    const auto where = index["weight_map"].at(name).get<std::string>();
    files.insert(where);
    const auto opened = SafetensorsFile::open(file(folder + where));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened->metadata(), (Metadata{{"format", "pt"}}));
    const auto found = opened->read(name);
    ASSERT_TRUE(found.ok()) << found.status().message();
    expectEqual(*found, array);
  }
  EXPECT_EQ(index["metadata"]["total_size"], bytes);
  EXPECT_THAT(files, ElementsAre("model-00001-of-00003.safetensors",
                                 "model-00002-of-00003.safetensors",
                                 "model-00003-of-00003.safetensors"));
  expectEqual(readAll(file(folder)), tensors);
}

TEST_F(CheckpointTest, OldOnesAreRemoved) {
  CheckpointOptions options;
  options.keep = 2;
  const auto writer = CheckpointWriter::open(file("run"), options);
  ASSERT_TRUE(writer.ok());
  for (int64_t step : {1, 2, 10, 20}) {
    ASSERT_EQ((*writer)->wait(), Status());
    ASSERT_EQ((*writer)->start(contentsOf(sampleTensors(), step)), Status());
  }
  ASSERT_EQ((*writer)->wait(), Status());
  EXPECT_THAT(stepsIn(file("run")), ElementsAre(10, 20));
  // Of a run that went back to step 10: what is written stays.
  ASSERT_EQ((*writer)->start(contentsOf(sampleTensors(), 11)), Status());
  ASSERT_EQ((*writer)->wait(), Status());
  EXPECT_THAT(stepsIn(file("run")), ElementsAre(11, 20));
}

TEST_F(CheckpointTest, OneOfTheSameStepIsReplaced) {
  Tensors tensors = sampleTensors();
  ASSERT_EQ(writeCheckpoint(file("run"), tensors, 3), Status());
  tensors["scalar"].data[0] = std::byte(99);
  ASSERT_EQ(writeCheckpoint(file("run"), tensors, 3), Status());
  expectEqual(readAll(file("run/step-00000003")), tensors);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file("run")), {}),
            1);
}

/// What a killed run leaves is no checkpoint, and goes when the next begins.
/// Who resumes would continue from the later one.
TEST_F(CheckpointTest, NoneBeforeALaterOneOfAnotherRun) {
  const Tensors tensors = sampleTensors();
  auto writer = *CheckpointWriter::open(file("run"), {});
  for (int64_t step : {4, 2}) { // both of this run
    ASSERT_EQ(writer->start(contentsOf(tensors, step)), Status());
    ASSERT_EQ(writer->wait(), Status());
  }
  EXPECT_THAT(
      writeCheckpoint(file("run"), tensors, 3).message(),
      HasSubstr("checkpoint of step 3: " + file("run") +
                "/step-00000004 is later and was there before; remove it, or "
                "name another folder"));
  EXPECT_EQ(listCheckpoints(file("run"))->size(), 2);
  // A damaged one was passed over.
  const std::string data =
      file("run/step-00000004/model-00001-of-00001.safetensors");
  std::fstream stream(data, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-1, std::ios::end);
  stream.put('!');
  stream.close();
  EXPECT_EQ(writeCheckpoint(file("run"), tensors, 3), Status());
}

TEST_F(CheckpointTest, WhatIsUnfinishedIsNoCheckpoint) {
  ASSERT_EQ(writeCheckpoint(file("run"), sampleTensors(), 4), Status());
  for (const char *name : {"step-00000005.abc.unfinished", "step-5",
                           "step-000000005", "step-", "other"}) {
    std::filesystem::create_directory(file("run/" + std::string(name)));
    store("run/" + std::string(name) + "/model-00001-of-00001.safetensors", "");
  }
  EXPECT_THAT(stepsIn(file("run")), ElementsAre(4));
  ASSERT_TRUE(CheckpointWriter::open(file("run"), {}).ok());
  EXPECT_FALSE(
      std::filesystem::exists(file("run/step-00000005.abc.unfinished")));
  EXPECT_TRUE(std::filesystem::exists(file("run/other")));
  EXPECT_THAT(stepsIn(file("nowhere")), IsEmpty());
}

TEST_F(CheckpointTest, BadRequests) {
  CheckpointOptions options;
  options.keep = -1;
  EXPECT_THAT(CheckpointWriter::open(file("run"), options).status().message(),
              HasSubstr("-1 checkpoints to keep, need at least 1, or 0 for "
                        "all"));
  store("file", "");
  EXPECT_THAT(CheckpointWriter::open(file("file/run"), {}).status().message(),
              HasSubstr("file/run: cannot create the folder: Not a directory"));
  EXPECT_THAT(listCheckpoints(file("file")).status().message(),
              HasSubstr("file: cannot read the folder: Not a directory"));
  const auto writer = CheckpointWriter::open(file("run"), {});
  ASSERT_TRUE(writer.ok());
  CheckpointContents contents = contentsOf(sampleTensors(), 1);
  contents.metadata["a"] = "\xff";
  ASSERT_EQ((*writer)->start(std::move(contents)), Status());
  EXPECT_THAT((*writer)->wait().message(),
              HasSubstr("checkpoint of step 1: the metadata of a checkpoint "
                        "are not UTF-8"));
  EXPECT_EQ((*writer)->wait(), Status());
  EXPECT_THAT(stepsIn(file("run")), IsEmpty());
  contents = contentsOf(sampleTensors(), 1);
  contents.tensors[1].name = contents.tensors[0].name;
  EXPECT_THAT((*writer)->start(std::move(contents)).message(),
              HasSubstr("two tensors have the name"));
}

/// A folder that cannot be replaced, say.
TEST_F(CheckpointTest, WhatCannotGetItsNameIsRemoved) {
  std::filesystem::create_directory(file("run"));
  store("run/step-00000007", "a file in the way");
  const Status status = writeCheckpoint(file("run"), sampleTensors(), 7);
  EXPECT_EQ(status, Status()) << "it changes places with the file";
  expectEqual(readAll(file("run/step-00000007")), sampleTensors());
}

TEST_F(CheckpointTest, SharesCoverABoxOnce) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{300, 400}, {2, 100000}, {1, 1, 200000}, {3}, {}})
    for (int count : {1, 2, 3, 7})
      for (size_t number : {0, 1, 5}) {
        const Box whole = Box::whole(shape);
        int64_t covered = 0, most = 0;
        for (int index = 0; index < count; ++index)
          if (const auto share = shareOf(whole, 4, {index, count}, number)) {
            EXPECT_TRUE(whole.contains(*share));
            covered += share->elements();
            most = std::max(most, share->elements());
          }
        EXPECT_EQ(covered, whole.elements());
        if (covered * 4 > count * 65536)
          EXPECT_LE(most, covered / count + covered / shape.back());
      }
}

} // namespace
} // namespace weft::runtime
