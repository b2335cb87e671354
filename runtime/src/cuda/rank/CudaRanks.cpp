//===- CudaRanks.cpp - The ranks of a plan for GPUs -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/CudaRanks.h"

#include "cuda/comm/LoopbackWorld.h"
#include "cuda/gemm/GemmDescriptors.h"
#include "cuda/rank/CudaRank.h"
#include "cuda/rank/JobDevices.h"
#include "cuda/rank/MemoryNeeds.h"
#if WEFT_HAS_NCCL
#include "cuda/nccl/NcclWorld.h"
#endif
#include "plan/Text.h"
#include "weft/runtime/VisitOperation.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

namespace weft::runtime {
namespace {

class CudaRanks final : public RankSet {
public:
  explicit CudaRanks(const RankRequest &request)
      : request(request), roles(request.plan.contents(), request.mesh),
        queues(request.plan.contents()) {}
  // The ranks refer to what they share.
  ~CudaRanks() override { members.clear(); }

  /// Opens libraries and device, checks that the plan can run, and makes what
  /// the ranks share.
  Status open();

  void abort(const Status &reason) override { world->abort(reason); }
  Result<std::vector<std::byte>>
  gather(std::span<const std::byte> mine,
         std::chrono::nanoseconds timeout) override;
  bool gathersInThreadOfRank(size_t bytes) const override;

private:
  Status openLibraries(const CudaLibrarySearch &search);
  Status checkMemory() const;
  Status createWorld(const CudaLibrarySearch &search);
  Status createNcclWorld(const CudaLibrarySearch &search);
  Status meetDevices();
  Result<int> deviceNumber() const;
  Result<int> processorsBesideCollectives() const;

  const RankRequest &request;
  const Roles roles;
  const PipelineQueues queues;
  // Before everything that is given back with their functions.
  Cudart cudart;
  CublasLt cublasLt;
  /// Its code takes memory of the device: before needs are compared with what
  /// is free.
  std::shared_ptr<const LtHandle> ltHandle;
  std::optional<Cudnn> cudnn;
  std::string whyNoCudnn;
  Nccl nccl;
  CudaDevice device;
  Roofline roofline;
  PlanKernels kernels;
  std::unique_ptr<DeviceWorld> world;
  std::optional<SharedAlgorithms> algorithms;
  std::mutex taking;
  std::optional<CudaRankSetup> setup;
};

/// The libraries that the entries of a plan call.
struct LibrariesOfPlan {
  bool cublasLt = false;
  bool cudnn = false;

  explicit LibrariesOfPlan(const plan::Plan &plan) {
    for (const plan::Entry *entry : *plan.entries())
      for (const plan::Instruction *instruction : *entry->instructions())
        visitOperation(
            *instruction, [&](const plan::Gemm &) { cublasLt = true; },
            [&](const AttentionOperation auto &) { cudnn = true; },
            [](const OneOf<plan::Launch, plan::CollectiveStart,
                           plan::CollectiveWait, plan::Copy, plan::Repeat,
                           plan::Sort, plan::Convolution> auto &) {});
  }
};

} // namespace

Status CudaRanks::openLibraries(const CudaLibrarySearch &search) {
  const LibrariesOfPlan needed(request.plan.contents());
  if (needed.cublasLt) {
    WEFT_ASSIGN_OR_RETURN(cublasLt, loadCublasLt(search));
    WEFT_ASSIGN_OR_RETURN(ltHandle, LtHandle::shared(cublasLt, device.number));
  }
  if (needed.cudnn) {
    if (const Result<Cudnn> loaded = loadCudnn(search); loaded.ok())
      cudnn = *loaded;
    else
      whyNoCudnn = loaded.status().message();
  }
  return {};
}

/// Before anything is allocated. What a user allows may not be there.
Status CudaRanks::checkMemory() const {
  const plan::Plan &plan = request.plan.contents();
  const size_t ranks = world->localRanks().size();
  // Of roles that have less, the ranks of this process have more than needed.
  uint64_t arena = 0;
  for (int rank : world->localRanks())
    arena = std::max(arena, roles.arenaBytes(roles.of(rank)));
  if (const uint64_t limit = request.options.memoryLimit)
    WEFT_RETURN_IF_ERROR(
        weft::runtime::checkMemory(device, {{"arena", arena}}, ranks, limit));
  size_t free = 0, total = 0;
  WEFT_RETURN_IF_ERROR(
      cudaStatus(cudart, cudart.memGetInfo(&free, &total), "cudaMemGetInfo"));
  return weft::runtime::checkMemory(device, needsOfPlan(plan, arena), ranks,
                                    free);
}

/// A process that sees one device was given it by its launcher.
Result<int> CudaRanks::deviceNumber() const {
  const Bootstrap *bootstrap = request.options.bootstrap.get();
  if (!bootstrap || bootstrap->launch().world == 1)
    return request.options.device;
  int devices = 0;
  // What is wrong with the driver, openDevice says.
  if (cudart.getDeviceCount(&devices) != cudaSuccess)
    return 0;
  const Launch &launch = bootstrap->launch();
  if (devices == 1)
    return 0;
  if (launch.localRank < devices)
    return launch.localRank;
  return failedPrecondition(
      fmt::format("rank {} is the process {} of {} on this host, which has {} "
                  "devices; start at most one process a device",
                  launch.rank, launch.localRank, launch.localWorld, devices));
}

/// The ranks are processes: this one has one of them.
Status CudaRanks::createNcclWorld(const CudaLibrarySearch &search) {
#if WEFT_HAS_NCCL
  WEFT_ASSIGN_OR_RETURN(nccl, loadNccl(search));
  const SessionOptions &options = request.options;
  NcclWorldOptions world;
  world.watchdog.deadline = options.deadline;
  world.deterministic = options.deterministic;
  world.serializeCollectives = options.serializeCollectives;
  world.registerArena = options.registerArena;
  world.cudaGraphs = options.cudaGraphs;
  world.traceRuns = options.traceRuns;
  WEFT_ASSIGN_OR_RETURN(this->world,
                        NcclWorld::create(nccl, cudart, *options.bootstrap,
                                          request.plan, std::move(world)));
  return meetDevices();
#else
  return loadNccl(search).status();
#endif
}

#if WEFT_HAS_NCCL
/// Whether the devices of the job fit together, and which rank chooses for this
/// one.
Status CudaRanks::meetDevices() {
  Bootstrap &bootstrap = *request.options.bootstrap;
  const std::chrono::nanoseconds setup = WatchdogOptions().setup;
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<JobDevice> devices,
      exchangeDevices(
          bootstrap,
          jobDevice(device, cublasLt.getVersion ? cublasLt.getVersion() : 0),
          setup));
  WEFT_RETURN_IF_ERROR(checkOneDeviceEach(devices));
  const int first = firstOfKind(devices, bootstrap.launch().rank);
  algorithms.emplace(bootstrap, first, devices[first].session, setup);
  return {};
}
#endif

/// Of a device's multiprocessors those that are not for collectives.
Result<int> CudaRanks::processorsBesideCollectives() const {
  const int wanted = request.options.processorsForCollectives;
  if (wanted == 0)
    return 0;
  int all = 0;
  WEFT_RETURN_IF_ERROR(
      cudaStatus(cudart,
                 cudart.deviceGetAttribute(&all, cudaDevAttrMultiProcessorCount,
                                           device.number),
                 "cudaDeviceGetAttribute"));
  if (wanted < 0 || wanted >= all)
    return invalidArgument(fmt::format(
        "{} multiprocessors for collectives; device {} ({}) has {}, and "
        "GEMMs need at least 1",
        wanted, device.number, device.name, all));
  return all - wanted;
}

Status CudaRanks::createWorld(const CudaLibrarySearch &search) {
  const Bootstrap *bootstrap = request.options.bootstrap.get();
  if (bootstrap && bootstrap->launch().world > 1)
    return createNcclWorld(search);
  std::vector<GroupRanks> groups;
  for (const plan::AxisList *axes : *request.plan.contents().groups())
    groups.push_back(request.mesh.groups(axesOf(axes)));
  WEFT_ASSIGN_OR_RETURN(
      world, LoopbackWorld::create(
                 cudart, static_cast<int>(request.mesh.ranks()), groups,
                 CollectiveQueues(request.plan.contents(),
                                  request.options.serializeCollectives),
                 request.options.deadline,
                 queueRanks(queues, roles, request.mesh.ranks())));
  return {};
}

Status CudaRanks::open() {
  const plan::Plan &plan = request.plan.contents();
  const CudaLibrarySearch search = CudaLibrarySearch::fromEnvironment();
  WEFT_ASSIGN_OR_RETURN(cudart, loadCudart(search));
  WEFT_ASSIGN_OR_RETURN(const int number, deviceNumber());
  WEFT_ASSIGN_OR_RETURN(device, openDevice(cudart, number));
  WEFT_RETURN_IF_ERROR(checkProcessor(plan, device));
  WEFT_RETURN_IF_ERROR(checkSharedMemory(plan, device));
  roofline = Roofline::of(cudart, device);
  WEFT_RETURN_IF_ERROR(openLibraries(search));
  WEFT_ASSIGN_OR_RETURN(kernels,
                        PlanKernels::load(cudart, plan, device, request.note));
  WEFT_RETURN_IF_ERROR(createWorld(search));
  WEFT_RETURN_IF_ERROR(checkMemory());
  WEFT_ASSIGN_OR_RETURN(const int processors, processorsBesideCollectives());
  setup.emplace(CudaRankSetup{request, roles, queues, cudart, cublasLt,
                              cudnn ? &*cudnn : nullptr, device, roofline,
                              kernels, *world, taking, whyNoCudnn,
                              algorithms ? &*algorithms : nullptr, processors});
  for (int rank : world->localRanks())
    members.push_back(std::make_unique<CudaRank>(*setup, rank));
  return {};
}

/// What is small goes over the store, where a rank whose device is of no use
/// any more can say so; shards never do.
bool CudaRanks::gathersInThreadOfRank(size_t bytes) const {
  constexpr size_t mostOverStore = 4096;
  const Bootstrap *bootstrap = request.options.bootstrap.get();
  return bootstrap && bootstrap->launch().world > 1 && bytes > mostOverStore;
}

Result<std::vector<std::byte>>
CudaRanks::gather(std::span<const std::byte> mine,
                  std::chrono::nanoseconds timeout) {
  if (gathersInThreadOfRank(mine.size()))
    return static_cast<CudaRank &>(*members.front()).gather(mine);
  Bootstrap *bootstrap = request.options.bootstrap.get();
  if (!bootstrap || bootstrap->launch().world == 1)
    return RankSet::gather(mine, timeout);
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<std::string> values,
      bootstrap->gather(
          "values for the host",
          std::string(reinterpret_cast<const char *>(mine.data()), mine.size()),
          std::max<std::chrono::nanoseconds>(timeout,
                                             std::chrono::minutes(5))));
  std::vector<std::byte> all;
  for (const std::string &value : values) {
    const auto bytes = std::as_bytes(std::span(value));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

Result<std::unique_ptr<RankSet>> createCudaRanks(const RankRequest &request) {
  auto ranks = std::make_unique<CudaRanks>(request);
  WEFT_RETURN_IF_ERROR(ranks->open());
  return ranks;
}

} // namespace weft::runtime
