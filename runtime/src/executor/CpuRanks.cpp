//===- CpuRanks.cpp - The ranks of a plan for CPUs --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/CpuFeatures.h"
#include "executor/CpuRank.h"
#include "plan/Text.h"
#include "weft/runtime/InProcessWorld.h"

namespace weft::runtime {
namespace {

class CpuRanks final : public RankSet {
public:
  CpuRanks(const RankRequest &request, KernelLibrary kernels,
           std::unique_ptr<InProcessWorld> world, PipelineQueues queues)
      : kernels(std::move(kernels)), world(std::move(world)),
        roles(request.plan.contents(), request.mesh), queues(std::move(queues)),
        setup{request, roles, this->queues, *this->world, this->kernels} {
    for (int64_t r = 0; r < request.mesh.ranks(); ++r)
      members.push_back(std::make_unique<CpuRank>(setup, static_cast<int>(r)));
  }
  // The ranks refer to what they share.
  ~CpuRanks() override { members.clear(); }

  void abort(const Status &reason) override { world->abort(reason); }
  bool runsInAnyThread() const override { return true; }

private:
  const KernelLibrary kernels;
  const std::unique_ptr<InProcessWorld> world;
  const Roles roles;
  const PipelineQueues queues;
  const CpuRankSetup setup;
};

} // namespace

static Status checkMachine(const RankRequest &request) {
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
  const int64_t ranks = request.plan.ranks();
  unsigned __int128 needed = 0;
  for (uint32_t role = 0; role < roles.count(); ++role)
    needed += static_cast<unsigned __int128>(roles.arenaBytes(role)) *
              (ranks / roles.count());
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
  WEFT_RETURN_IF_ERROR(checkMachine(request));
  const plan::Plan &plan = request.plan.contents();
  WEFT_ASSIGN_OR_RETURN(KernelLibrary kernels, KernelLibrary::load(plan));
  std::vector<GroupRanks> groups;
  for (const plan::AxisList *axes : *plan.groups())
    groups.push_back(request.mesh.groups(axesOf(axes)));
  PipelineQueues queues(plan);
  WEFT_ASSIGN_OR_RETURN(
      std::unique_ptr<InProcessWorld> world,
      InProcessWorld::create(
          static_cast<int>(request.mesh.ranks()), groups,
          queueRanks(queues, Roles(plan, request.mesh), request.mesh.ranks())));
  return std::make_unique<CpuRanks>(request, std::move(kernels),
                                    std::move(world), std::move(queues));
}

} // namespace weft::runtime
