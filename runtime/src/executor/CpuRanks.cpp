//===- CpuRanks.cpp - The ranks of a plan for CPUs --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/mpi/MpiWorld.h"
#include "cpu/CpuFeatures.h"
#include "executor/CpuRank.h"
#include "plan/Text.h"
#include "weft/runtime/InProcessWorld.h"

#include <numeric>

namespace weft::runtime {
namespace {

class CpuRanks final : public RankSet {
public:
  CpuRanks(const RankRequest &request, KernelLibrary kernels,
           std::unique_ptr<World> world, const std::vector<int> &localRanks,
           PipelineQueues queues, Communicator *processes)
      : kernels(std::move(kernels)), world(std::move(world)),
        roles(request.plan.contents(), request.mesh), queues(std::move(queues)),
        processes(processes),
        setup{request, roles, this->queues, *this->world, this->kernels} {
    for (int rank : localRanks)
      members.push_back(std::make_unique<CpuRank>(setup, rank));
  }
  // The ranks refer to what they share.
  ~CpuRanks() override { members.clear(); }

  void abort(const Status &reason) override { world->abort(reason); }
  bool runsInAnyThread() const override { return true; }
  Result<std::vector<std::byte>>
  gather(std::span<const std::byte> mine,
         std::chrono::nanoseconds timeout) override;

private:
  const KernelLibrary kernels;
  const std::unique_ptr<World> world;
  const Roles roles;
  const PipelineQueues queues;
  /// Between the processes, if there are several.
  Communicator *const processes;
  const CpuRankSetup setup;
};

} // namespace

Result<std::vector<std::byte>>
CpuRanks::gather(std::span<const std::byte> mine,
                 std::chrono::nanoseconds timeout) {
  if (!processes)
    return RankSet::gather(mine, timeout);
  std::vector<std::byte> all(mine.size() * processes->size());
  WEFT_RETURN_IF_ERROR(processes->allGather(
      mine.data(), all.data(), 1, static_cast<int64_t>(mine.size()), DType::I8,
      {.cause = "values for the host", .timeout = timeout}));
  return all;
}

/// `ranks`: how many of the plan's this host has.
static Status checkMachine(const RankRequest &request, int64_t ranks) {
  const plan::Target &target = *request.plan.contents().target();
  std::vector<std::string> features;
  if (target.features())
    for (const flatbuffers::String *feature : *target.features())
      features.push_back(escaped(view(feature)));
  WEFT_RETURN_IF_ERROR(
      checkFeatures(features, escaped(view(target.processor()))));
  const uint64_t limit = request.options.memoryLimit
                             ? request.options.memoryLimit
                             : physicalMemory();
  const Roles roles(request.plan.contents(), request.mesh);
  unsigned __int128 needed = 0;
  for (uint32_t role = 0; role < roles.count(); ++role)
    needed += static_cast<unsigned __int128>(roles.arenaBytes(role)) * ranks /
              roles.count();
  if (limit != 0 && needed > limit)
    return resourceExhausted(fmt::format(
        "{} ranks need arenas of {} bytes {}, together {} bytes, but {} are "
        "available; compile for a larger mesh and run on more hosts, or shrink "
        "the batch",
        ranks, request.plan.contents().arena_bytes(),
        roles.count() == 1 ? "each" : "or less", needed, limit));
  return {};
}

Result<std::unique_ptr<RankSet>> createCpuRanks(const RankRequest &request) {
  Bootstrap *bootstrap = request.options.bootstrap.get();
  if (bootstrap && bootstrap->launch().world == 1)
    bootstrap = nullptr;
  int64_t here = request.plan.ranks();
  if (bootstrap)
    here = here * bootstrap->launch().localWorld / bootstrap->launch().world;
  WEFT_RETURN_IF_ERROR(checkMachine(request, here));
  const plan::Plan &plan = request.plan.contents();
  WEFT_ASSIGN_OR_RETURN(KernelLibrary kernels, KernelLibrary::load(plan));
  std::vector<GroupRanks> groups;
  for (const plan::AxisList *axes : *plan.groups())
    groups.push_back(request.mesh.groups(axesOf(axes)));
  PipelineQueues queues(plan);
  const std::vector<QueueRanks> edges =
      queueRanks(queues, Roles(plan, request.mesh), request.mesh.ranks());
  const int ranks = static_cast<int>(request.mesh.ranks());
  if (bootstrap) {
    WEFT_ASSIGN_OR_RETURN(
        std::unique_ptr<MpiWorld> world,
        MpiWorld::create(*bootstrap, ranks,
                         fmt::format("plan {:016x}", request.plan.hash()),
                         groups, edges));
    const std::vector<int> local = world->localRanks();
    Communicator *const processes = world->processes();
    return std::make_unique<CpuRanks>(request, std::move(kernels),
                                      std::move(world), local,
                                      std::move(queues), processes);
  }
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<InProcessWorld> world,
                        InProcessWorld::create(ranks, groups, edges));
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return std::make_unique<CpuRanks>(request, std::move(kernels),
                                    std::move(world), all, std::move(queues),
                                    nullptr);
}

} // namespace weft::runtime
