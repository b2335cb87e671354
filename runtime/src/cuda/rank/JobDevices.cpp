//===- JobDevices.cpp - The devices of the ranks of a job -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/JobDevices.h"

#include "launch/Arrival.h"
#include "launch/Host.h"
#include "plan/Text.h"

#include <fmt/ranges.h>

#include <array>
#include <atomic>
#include <cstdlib>

namespace weft::runtime {

JobDevice jobDevice(const CudaDevice &device, size_t cublasLt) {
  static std::atomic<int> sessions{0};
  const char *host = std::getenv("NCCL_HOSTID");
  return {host && *host ? escaped(host) : hostIdentity(), device.uuid,
          fmt::format("{}, cuBLASLt {}", escaped(device.name), cublasLt),
          fmt::format("{}", sessions++)};
}

static JobDevice decode(std::string_view text) {
  std::array<std::string, 4> fields;
  for (std::string &field : fields) {
    const size_t end = std::min(text.find('\n'), text.size());
    field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {fields[0], fields[1], fields[2], fields[3]};
}

Result<std::vector<JobDevice>> exchangeDevices(Bootstrap &bootstrap,
                                               const JobDevice &mine,
                                               std::chrono::nanoseconds time) {
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<std::string> texts,
      bootstrap.gather("their devices",
                       fmt::format("{}\n{}\n{}\n{}", mine.host, mine.uuid,
                                   mine.kind, mine.session),
                       time));
  std::vector<JobDevice> devices;
  for (const std::string &text : texts)
    devices.push_back(decode(text));
  return devices;
}

Status checkOneDeviceEach(const std::vector<JobDevice> &devices) {
  // NCCL has its own switch for it from 2.30 on.
  const char *allowed = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  if (allowed && std::string_view(allowed) == "1")
    return {};
  std::vector<std::string> problems;
  std::vector<bool> isTold(devices.size());
  for (size_t r = 0; r < devices.size(); ++r) {
    if (isTold[r])
      continue;
    std::vector<int> same;
    for (size_t other = r; other < devices.size(); ++other)
      if (devices[other].host == devices[r].host &&
          devices[other].uuid == devices[r].uuid) {
        same.push_back(static_cast<int>(other));
        isTold[other] = true;
      }
    if (same.size() > 1)
      problems.push_back(fmt::format("{} have {} ({}) of one host",
                                     shortList(same), devices[r].uuid,
                                     devices[r].kind));
  }
  if (problems.empty())
    return {};
  return failedPrecondition(fmt::format(
      "NCCL wants a device for each rank, and {}; start at most one process a "
      "device, or show each process another one with CUDA_VISIBLE_DEVICES; to "
      "try several ranks on one device, slowly, set NCCL_HOSTID to something "
      "else in each process",
      fmt::join(problems, ", ")));
}

int firstOfKind(const std::vector<JobDevice> &devices, int rank) {
  int first = 0;
  while (devices[first].kind != devices[rank].kind)
    ++first;
  return first;
}

} // namespace weft::runtime
