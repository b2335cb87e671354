//===- NotesTest.cpp - What a session tells once ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/Notes.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

namespace weft::runtime {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(Notes, EachTextOnceAndOneAtATime) {
  std::vector<std::string> told; // without a lock
  Notes notes([&](const std::string &text) { told.push_back(text); });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round)
        for (const char *text : {"a", "b", "c"})
          notes.add(text);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(told, UnorderedElementsAre("a", "b", "c"));
}

TEST(Notes, NothingAfterTheEnd) {
  std::vector<std::string> told;
  Notes notes([&](const std::string &text) { told.push_back(text); });
  notes.add("a");
  notes.close();
  notes.add("b");
  EXPECT_THAT(told, ElementsAre("a"));
  Notes(nullptr).add("nobody listens");
}

} // namespace
} // namespace weft::runtime
