//===- AlgorithmCache.cpp - Measured algorithms on disk ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/AlgorithmCache.h"

#include "io/File.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace weft::runtime {

using Json = nlohmann::json;

static constexpr const char *formatKey = "weft-cublaslt";
static constexpr int formatVersion = 1;

std::string AlgorithmCache::defaultPath() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') // others are to be ignored
    return std::string(cache) + "/weft/cublaslt.json";
  const char *home = std::getenv("HOME");
  if (home && *home)
    return std::string(home) + "/.cache/weft/cublaslt.json";
  return {};
}

AlgorithmCache::AlgorithmCache(std::string path) : path(std::move(path)) {}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

std::string toHex(const cublasLtMatmulAlgo_t &algorithm) {
  std::string text;
  for (const uint64_t word : algorithm.data)
    text += fmt::format("{:016x}", word);
  return text;
}

std::optional<cublasLtMatmulAlgo_t> fromHex(std::string_view text) {
  cublasLtMatmulAlgo_t algorithm = {};
  if (text.size() != 16 * std::size(algorithm.data))
    return std::nullopt;
  for (uint64_t &word : algorithm.data) {
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + 16, word, 16);
    if (error != std::errc() || end != text.data() + 16)
      return std::nullopt;
    text.remove_prefix(16);
  }
  return algorithm;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

namespace {

/// Holds a lock that all processes know, so that none loses what another adds.
class FileLock {
public:
  explicit FileLock(const std::string &path)
      : descriptor(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    while (descriptor >= 0 && flock(descriptor, LOCK_EX) != 0 && errno == EINTR)
      ;
  }
  ~FileLock() {
    if (descriptor >= 0)
      close(descriptor);
  }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

private:
  int descriptor;
};

} // namespace

void AlgorithmCache::note(std::string text) {
  if (std::find(toldNotes.begin(), toldNotes.end(), text) != toldNotes.end())
    return;
  toldNotes.push_back(text);
  notes.push_back(std::move(text));
}

AlgorithmCache::Algorithms AlgorithmCache::read() {
  const auto damaged = [&](std::string_view why) {
    note(fmt::format("ignored the damaged cache of algorithms {}: {}", path,
                     why));
    return Algorithms();
  };
  Result<std::unique_ptr<InputFile>> file = InputFile::open(path);
  if (!file.ok())
    return {}; // most likely there is none yet
  std::string text((*file)->size(), '\0');
  if (Status status = (*file)->readAt(
          0, std::as_writable_bytes(std::span(text.data(), text.size())));
      !status.ok())
    return damaged(status.message());
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return damaged("it is not JSON");
  if (json.value(formatKey, Json()) != formatVersion)
    return damaged(fmt::format("its format is not {}", formatVersion));
  const auto found = json.find("algorithms");
  if (found == json.end() || !found->is_object())
    return damaged("it has no algorithms");
  Algorithms read;
  for (const auto &[key, value] : found->items()) {
    const auto algorithm = value.is_string()
                               ? fromHex(value.get_ref<const std::string &>())
                               : std::nullopt;
    if (!algorithm)
      return damaged(fmt::format("\"{}\" is not an algorithm", key));
    read.emplace(key, *algorithm);
  }
  return read;
}

Status AlgorithmCache::write() {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(),
                                      error);
  const FileLock lock(path + ".lock");
  // What this process has measured is newer.
  algorithms.merge(read());
  Json texts = Json::object();
  for (const auto &[key, algorithm] : algorithms)
    texts[key] = toHex(algorithm);
  const Json json = {{formatKey, formatVersion}, {"algorithms", texts}};
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                        OutputFile::create(path));
  WEFT_RETURN_IF_ERROR(file->append(json.dump(1) + "\n"));
  return file->commit();
}

//===----------------------------------------------------------------------===//
// Use
//===----------------------------------------------------------------------===//

std::optional<cublasLtMatmulAlgo_t>
AlgorithmCache::find(const std::string &key) {
  const std::lock_guard lock(mutex);
  if (!isRead && !path.empty())
    algorithms.merge(read());
  isRead = true;
  const auto found = algorithms.find(key);
  if (found == algorithms.end())
    return std::nullopt;
  return found->second;
}

void AlgorithmCache::add(const std::string &key,
                         const cublasLtMatmulAlgo_t &algorithm) {
  const std::lock_guard lock(mutex);
  algorithms.insert_or_assign(key, algorithm);
  if (path.empty())
    return;
  if (Status status = write(); !status.ok())
    note(fmt::format("measured algorithms are not kept in {}: {}", path,
                     status.message()));
}

std::vector<std::string> AlgorithmCache::takeNotes() {
  const std::lock_guard lock(mutex);
  return std::exchange(notes, {});
}

} // namespace weft::runtime
