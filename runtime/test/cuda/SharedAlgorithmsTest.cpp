//===- SharedAlgorithmsTest.cpp - One choice for all ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank whose first rank is the test.
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/SharedAlgorithms.h"

#include "cuda/gemm/AlgorithmCache.h"
#include "launch/Store.h"

#include <gmock/gmock.h>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

struct SharedAlgorithmsTest : testing::Test {
  static cublasLtMatmulAlgo_t algorithmOf(uint64_t number) {
    cublasLtMatmulAlgo_t algorithm = {};
    algorithm.data[0] = number;
    return algorithm;
  }
  /// What the first rank, 5, puts into the store for a key.
  void putFor(const std::string &key, const std::string &value) {
    put(SharedAlgorithms::nameOf(key), value);
  }
  void put(const std::string &what, const std::string &value) {
    ASSERT_TRUE(bootstrap->store().set("algorithms/5/s/" + what, value).ok());
  }

  std::unique_ptr<Bootstrap> bootstrap =
      *Bootstrap::connect({}, std::chrono::seconds(1));
  SharedAlgorithms other{*bootstrap, 5, "s", std::chrono::milliseconds(50)};
};

TEST_F(SharedAlgorithmsTest, TakesWhatItIsTold) {
  EXPECT_FALSE(other.isFirst());
  putFor("a b | c", toHex(algorithmOf(3)) + " a b | c");
  putFor("d", toHex(algorithmOf(4)) + " d");
  EXPECT_EQ((*other.ask("a b | c"))->data[0], 3u);
  EXPECT_EQ((*other.ask("d"))->data[0], 4u);
  EXPECT_EQ(other.known("a b | c")->data[0], 3u);
  EXPECT_FALSE(other.known("e"));
}

TEST_F(SharedAlgorithmsTest, NothingForAnotherProductOrNone) {
  putFor("b", toHex(algorithmOf(3)) + " a");
  putFor("algorithm", "no algorithm");
  putFor("", "");
  put("end", "");
  for (const char *key : {"b", "algorithm", "", "a"}) {
    const auto told = other.ask(key);
    ASSERT_TRUE(told.ok());
    EXPECT_FALSE(*told) << key;
  }
}

TEST_F(SharedAlgorithmsTest, OneThatIsMissingMisleadsNoOther) {
  putFor("a", toHex(algorithmOf(3)) + " a");
  putFor("c", toHex(algorithmOf(4)) + " c");
  put("end", "");
  EXPECT_EQ((*other.ask("a"))->data[0], 3u);
  EXPECT_FALSE(*other.ask("b"));
  EXPECT_EQ((*other.ask("a"))->data[0], 3u) << "asked once more";
  EXPECT_EQ((*other.ask("c"))->data[0], 4u);
  other.remember("b", algorithmOf(7));
  EXPECT_EQ(other.known("b")->data[0], 7u);
}

TEST_F(SharedAlgorithmsTest, NamesAreAlikeOnAllRanks) {
  EXPECT_EQ(SharedAlgorithms::nameOf(""), "cbf29ce484222325");
  EXPECT_EQ(SharedAlgorithms::nameOf("a"), "af63dc4c8601ec8c");
}

TEST_F(SharedAlgorithmsTest, WaitsNotForEver) {
  EXPECT_EQ(other.ask("a").status().message(),
            "rank 0 waited 50 ms for rank 5 to choose the algorithm of a "
            "GEMM");
  bootstrap->fail("rank 5: its device is gone");
  EXPECT_THAT(other.ask("a").status().message(),
              HasSubstr("rank 5: its device is gone"));
}

TEST_F(SharedAlgorithmsTest, TheFirstTells) {
  SharedAlgorithms first{*bootstrap, 0, "s", std::chrono::seconds(1)};
  EXPECT_TRUE(first.isFirst());
  EXPECT_TRUE(first.tell("a", algorithmOf(3)).ok());
  EXPECT_EQ(first.known("a")->data[0], 3u);
  EXPECT_TRUE(first.end().ok());
  EXPECT_EQ(**bootstrap->store().find("algorithms/0/s/af63dc4c8601ec8c"),
            toHex(algorithmOf(3)) + " a");
  EXPECT_TRUE(*bootstrap->store().find("algorithms/0/s/end"));
}

} // namespace
} // namespace weft::runtime
