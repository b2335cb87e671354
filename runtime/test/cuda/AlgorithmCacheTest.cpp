//===- AlgorithmCacheTest.cpp - Measured algorithms on disk -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/AlgorithmCache.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace weft::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

cublasLtMatmulAlgo_t algorithmOf(uint64_t number) {
  cublasLtMatmulAlgo_t algorithm = {};
  for (uint64_t &word : algorithm.data)
    word = number++ * 0x0123456789abcdefu;
  return algorithm;
}

void expectFound(AlgorithmCache &cache, const std::string &key,
                 uint64_t number) {
  const auto found = cache.find(key);
  ASSERT_TRUE(found) << key;
  EXPECT_TRUE(std::ranges::equal(found->data, algorithmOf(number).data));
}

class AlgorithmCacheFile : public testing::Test {
protected:
  AlgorithmCacheFile()
      : folder(testing::TempDir() + fmt::format("weft-cache-{}", getpid())) {
    std::filesystem::remove_all(folder);
  }
  ~AlgorithmCacheFile() override { std::filesystem::remove_all(folder); }

  void write(std::string_view text) {
    std::filesystem::create_directories(folder + "/weft");
    std::ofstream(path) << text;
  }

  const std::string folder;
  const std::string path = folder + "/weft/cublaslt.json";
};

TEST_F(AlgorithmCacheFile, RemembersAcrossProcesses) {
  AlgorithmCache first(path);
  EXPECT_FALSE(first.find("a"));
  first.add("a", algorithmOf(1));
  first.add("b", algorithmOf(2));
  first.add("a", algorithmOf(3));
  expectFound(first, "a", 3);
  AlgorithmCache second(path);
  expectFound(second, "a", 3);
  expectFound(second, "b", 2);
  EXPECT_FALSE(second.find("c"));
  EXPECT_THAT(second.takeNotes(), IsEmpty());
}

TEST_F(AlgorithmCacheFile, KeepsWhatOthersAdded) {
  AlgorithmCache first(path), second(path);
  EXPECT_FALSE(first.find("a"));
  EXPECT_FALSE(second.find("b"));
  first.add("a", algorithmOf(1));
  second.add("b", algorithmOf(2));
  AlgorithmCache third(path);
  expectFound(third, "a", 1);
  expectFound(third, "b", 2);
}

TEST_F(AlgorithmCacheFile, ProcessesAndThreadsAtOnce) {
  constexpr int processes = 4, threads = 3, keys = 5;
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      AlgorithmCache cache(path);
      std::vector<std::thread> workers;
      for (int thread = 0; thread < threads; ++thread)
        workers.emplace_back([&, thread] {
          for (int key = 0; key < keys; ++key)
            cache.add(fmt::format("{} {} {}", process, thread, key),
                      algorithmOf(100 * process + 10 * thread + key));
        });
      for (std::thread &worker : workers)
        worker.join();
      _exit(cache.takeNotes().empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  AlgorithmCache cache(path);
  for (int process = 0; process < processes; ++process)
    for (int thread = 0; thread < threads; ++thread)
      for (int key = 0; key < keys; ++key)
        expectFound(cache, fmt::format("{} {} {}", process, thread, key),
                    100 * process + 10 * thread + key);
}

TEST_F(AlgorithmCacheFile, DamageIsANoteAndIsRepaired) {
  const std::string hex = std::string(128, '0');
  const std::pair<std::string, std::string> damages[] = {
      {"", "it is not JSON"},
      {"{\"weft-cublaslt\": 1, \"algo", "it is not JSON"},
      {"[1, 2]", "it is not JSON"},
      {"{\"algorithms\": {}}", "its format is not 1"},
      {"{\"weft-cublaslt\": 2, \"algorithms\": {}}", "its format is not 1"},
      {"{\"weft-cublaslt\": 1}", "it has no algorithms"},
      {"{\"weft-cublaslt\": 1, \"algorithms\": []}", "it has no algorithms"},
      {"{\"weft-cublaslt\": 1, \"algorithms\": {\"a\": 7}}",
       "\"a\" is not an algorithm"},
      {"{\"weft-cublaslt\": 1, \"algorithms\": {\"a\": \"" + hex + "0\"}}",
       "\"a\" is not an algorithm"},
      {"{\"weft-cublaslt\": 1, \"algorithms\": {\"a\": \"" +
           hex.substr(0, 127) + "x\"}}",
       "\"a\" is not an algorithm"},
  };
  for (const auto &[text, why] : damages) {
    SCOPED_TRACE(text);
    write(text);
    AlgorithmCache cache(path);
    EXPECT_FALSE(cache.find("a"));
    EXPECT_THAT(cache.takeNotes(),
                ElementsAre("ignored the damaged cache of algorithms " + path +
                            ": " + why));
    cache.add("a", algorithmOf(5));
    EXPECT_THAT(cache.takeNotes(), IsEmpty());
    AlgorithmCache repaired(path);
    expectFound(repaired, "a", 5);
    EXPECT_THAT(repaired.takeNotes(), IsEmpty());
  }
}

TEST_F(AlgorithmCacheFile, AFolderThatCannotBeIsANote) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/weft") << "a file";
  AlgorithmCache cache(path);
  EXPECT_FALSE(cache.find("a"));
  cache.add("a", algorithmOf(1));
  cache.add("b", algorithmOf(2));
  expectFound(cache, "a", 1);
  EXPECT_THAT(
      cache.takeNotes(),
      ElementsAre(HasSubstr("measured algorithms are not kept in " + path)));
}

TEST(AlgorithmCache, WithoutAPathItRemembersToo) {
  AlgorithmCache cache("");
  cache.add("a", algorithmOf(1));
  expectFound(cache, "a", 1);
  EXPECT_THAT(cache.takeNotes(), IsEmpty());
}

TEST(AlgorithmCache, LiesWhereTheEnvironmentSays) {
  const char *home = std::getenv("HOME"),
             *cache = std::getenv("XDG_CACHE_HOME");
  const std::string oldHome = home ? home : "", oldCache = cache ? cache : "";
  setenv("HOME", "/home/somebody", 1);
  setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(AlgorithmCache::defaultPath(), "/caches/weft/cublaslt.json");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(AlgorithmCache::defaultPath(),
            "/home/somebody/.cache/weft/cublaslt.json");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(AlgorithmCache::defaultPath(), "");
  if (home)
    setenv("HOME", oldHome.c_str(), 1);
  if (cache)
    setenv("XDG_CACHE_HOME", oldCache.c_str(), 1);
}

} // namespace
} // namespace weft::runtime
