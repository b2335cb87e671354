//===- DeviceCollectives.h - Times collectives of GPUs ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On GPUs a communicator belongs to a plan, so that collectives are timed as
// entries of one, each of which is a single collective. Started by torchrun,
// mpirun or srun it is NCCL between processes of one GPU each; otherwise all
// ranks are on one GPU.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_DEVICECOLLECTIVES_H
#define WEFT_TOOLS_SHARD_BENCH_DEVICECOLLECTIVES_H

#include "Collectives.h"

#include <memory>
#include <string>

namespace weft::runtime {
class Bootstrap;
class Session;
} // namespace weft::runtime

namespace weft::tools {

class DeviceCollectives {
public:
  /// `target` is that of a plan: "cuda:sm_90". `mostRanks` is for one GPU; how
  /// many processes there are is for them to say.
  static runtime::Result<std::unique_ptr<DeviceCollectives>>
  create(const std::string &target, int mostRanks, int64_t largestBytes);
  ~DeviceCollectives();

  const std::vector<CollectiveCase> &cases() const { return all; }
  bool isFirstProcess() const;
  /// "NCCL, 8 processes", for the head of the table.
  std::string describe() const;

  /// By the clock of the host, launch and all.
  runtime::Result<CollectiveTiming> time(const CollectiveCase &run);

private:
  DeviceCollectives();
  runtime::Status connect(int mostRanks);
  runtime::Status load(const std::string &target);
  runtime::Status fill(const CollectiveCase &run);
  runtime::Result<int64_t> countErrors(const CollectiveCase &run);

  int ranks = 1;
  std::vector<CollectiveCase> all;
  std::shared_ptr<runtime::Bootstrap> bootstrap;
  std::unique_ptr<runtime::Session> session;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_DEVICECOLLECTIVES_H
