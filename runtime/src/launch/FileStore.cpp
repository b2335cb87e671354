//===- FileStore.cpp - A store in a folder that all ranks see ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/FileStore.h"

#include "io/File.h"
#include "launch/Arrival.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>

namespace weft::runtime {
namespace {

Status writeValue(const std::string &path, const std::string &value) {
  WEFT_ASSIGN_OR_RETURN(auto file, OutputFile::create(path));
  WEFT_RETURN_IF_ERROR(file->append(value));
  return file->commit();
}

/// Files appear whole, so what can be opened can be read to its end.
std::optional<std::string> readValue(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

std::string randomName() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 4; ++i)
    name += fmt::format("{:08x}", random());
  return name;
}

class FileStore final : public Store {
public:
  /// `isOwner` removes the values in the end.
  FileStore(std::string folder, std::string where, bool isOwner)
      : folder(std::move(folder)), where(std::move(where)), isOwner(isOwner) {}
  ~FileStore() override {
    std::error_code ignored;
    if (isOwner)
      std::filesystem::remove_all(folder, ignored);
  }

  Status set(const std::string &key, const std::string &value) override {
    return writeValue(path(key), value);
  }
  Result<std::optional<std::string>> find(const std::string &key) override {
    return readValue(path(key));
  }
  std::string address() const override { return where; }

private:
  std::string path(std::string key) const {
    std::replace(key.begin(), key.end(), '/', '.');
    return folder + "/" + key;
  }

  const std::string folder;
  const std::string where;
  const bool isOwner;
};

/// The folder of the job: its name with everything unusual replaced.
std::string folderOf(const Launch &launch) {
  std::string name = launch.job.empty() ? "job" : launch.job;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-')
      c = '_';
  return fmt::format("{}/{}-{}", launch.meeting.directory, name,
                     launch.restart);
}

/// Rank 0: answers knocks until all have come in.
Status answerKnocks(const Launch &launch, const std::string &folder,
                    const std::string &name, std::chrono::nanoseconds timeout) {
  WaitBudget budget(timeout);
  std::string answered;
  std::set<int> arrived{0};
  for (Backoff backoff;; backoff.sleep(budget)) {
    std::string answer = name;
    for (int r = 1; r < launch.world; ++r) {
      if (const auto knock = readValue(fmt::format("{}/knock-{}", folder, r)))
        answer += " " + *knock;
      if (std::filesystem::exists(
              fmt::format("{}/{}/joined-{}", folder, name, r)))
        arrived.insert(r);
    }
    if (static_cast<int>(arrived.size()) == launch.world)
      return {};
    if (answer != answered)
      WEFT_RETURN_IF_ERROR(writeValue(folder + "/answer", answer));
    answered = answer;
    if (budget.isSpent())
      return notArrived(launch, arrived, launch.meeting.toString(), timeout);
  }
}

/// Other ranks: knock and wait for the answer; the name of rank 0.
Result<std::string> knock(const Launch &launch, const std::string &folder,
                          const std::string &name,
                          std::chrono::nanoseconds timeout) {
  WaitBudget budget(timeout);
  WEFT_RETURN_IF_ERROR(
      writeValue(fmt::format("{}/knock-{}", folder, launch.rank), name));
  for (Backoff backoff;; backoff.sleep(budget)) {
    std::istringstream words(readValue(folder + "/answer").value_or(""));
    const std::vector<std::string> names{
        std::istream_iterator<std::string>(words), {}};
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      WEFT_RETURN_IF_ERROR(writeValue(
          fmt::format("{}/{}/joined-{}", folder, names[0], launch.rank), ""));
      return names[0];
    }
    if (budget.isSpent())
      return deadlineExceeded(fmt::format(
          "rank {} waited {} for rank 0 in the folder {}: it has not answered",
          launch.rank, describeDuration(timeout), launch.meeting.toString()));
  }
}

} // namespace

Result<std::unique_ptr<Store>>
connectFileStore(const Launch &launch, std::chrono::nanoseconds timeout) {
  const std::string folder = folderOf(launch);
  std::string name = randomName();
  std::error_code error;
  std::filesystem::create_directories(
      launch.rank == 0 ? folder + "/" + name : folder, error);
  if (error)
    return unavailable(
        fmt::format("cannot create a folder in {} for the ranks to meet: {}",
                    launch.meeting.toString(), error.message()));
  if (launch.rank == 0) {
    WEFT_RETURN_IF_ERROR(answerKnocks(launch, folder, name, timeout));
  } else {
    WEFT_ASSIGN_OR_RETURN(name, knock(launch, folder, name, timeout));
  }
  return std::make_unique<FileStore>(
      folder + "/" + name, launch.meeting.toString(), launch.rank == 0);
}

} // namespace weft::runtime
