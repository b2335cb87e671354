//===- ShardRunFixture.h - Runs the command line tool -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder for files of a test, a plan in it, and the binary.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_TOOL_SHARDRUNFIXTURE_H
#define WEFT_RUNTIME_TEST_TOOL_SHARDRUNFIXTURE_H

#include "SamplePlan.h"
#include "weft/runtime/Npy.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace weft::runtime {

struct Outcome {
  int status = -1;
  /// Standard output and standard error.
  std::string text;
};

struct ShardRun : testing::Test {
  void SetUp() override {
    std::string name = testing::TempDir() + "/shard-run-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory = name;
    plan = writePlan("sample.plan", SamplePlan(2));
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string path(const std::string &name) const {
    return directory + "/" + name;
  }
  std::string writePlan(const std::string &name, const PlanBuilder &builder) {
    const auto bytes = builder.bytes();
    std::ofstream(path(name), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    return path(name);
  }
  std::string writeArray(const std::string &name, const Array &array) {
    EXPECT_TRUE(writeNpy(path(name), array).ok());
    return path(name);
  }
  static std::string contents(const std::string &file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::vector<std::string> filesIn() const {
    std::vector<std::string> names;
    for (const auto &file : std::filesystem::directory_iterator(directory))
      names.push_back(file.path().filename());
    return names;
  }

  static Outcome run(const std::string &arguments) {
    return shell(WEFT_SHARD_RUN " " + arguments);
  }
  static Outcome shell(const std::string &text) {
    const std::string command = text + " 2>&1";
    Outcome outcome;
    std::FILE *pipe = popen(command.c_str(), "r");
    for (int c; (c = std::fgetc(pipe)) != EOF;)
      outcome.text.push_back(static_cast<char>(c));
    const int status = pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }

  std::string directory;
  std::string plan;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_TOOL_SHARDRUNFIXTURE_H
