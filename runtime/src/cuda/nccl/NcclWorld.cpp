//===- NcclWorld.cpp - One rank a process, by NCCL --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/nccl/NcclWorld.h"

#include "comm/Call.h"
#include "cuda/nccl/NcclEnvironment.h"
#include "plan/Mesh.h"
#include "plan/StepOrder.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

namespace weft::runtime {

//===----------------------------------------------------------------------===//
// Before the device
//===----------------------------------------------------------------------===//

static std::vector<uint32_t> executedCollectives(const plan::Entry &entry) {
  StepOrder order;
  const uint32_t end = entry.instructions()->size();
  for (uint32_t index = 0; index < end; ++index) {
    const plan::Instruction &instruction = *entry.instructions()->Get(index);
    const auto *start = instruction.operation_as_CollectiveStart();
    order.close(index);
    if (start && start->behind())
      order.addBehind(*start->behind(), index);
    else
      order.add(index);
    if (const auto *repeat = instruction.operation_as_Repeat())
      order.open(repeat->count(), index + 1 + repeat->instructions());
  }
  order.close(end);
  std::vector<uint32_t> collectives;
  std::ranges::copy_if(
      order.steps(), std::back_inserter(collectives), [&](uint32_t index) {
        return entry.instructions()->Get(index)->operation_type() ==
               plan::Operation::CollectiveStart;
      });
  return collectives;
}

NcclWorld::NcclWorld(const Nccl &nccl, const Cudart &cudart,
                     Bootstrap &bootstrap, const Plan &plan,
                     NcclWorldOptions options)
    : bootstrap(bootstrap), plan(plan), options(std::move(options)),
      rank(bootstrap.launch().rank),
      queueTable(plan.contents(), this->options.serializeCollectives),
      mesh(plan.contents()), roles(plan.contents(), mesh),
      issuer(nccl, cudart) {
  const PipelineQueues queues(plan.contents());
  for (uint32_t entry = 0; entry < plan.contents().entries()->size(); ++entry) {
    auto &byRole = works.emplace_back();
    for (uint32_t role = 0; role < roles.count(); ++role)
      byRole.push_back(workOf(role, entry, queues));
  }
  for (const plan::AxisList *axes : *plan.contents().groups()) {
    for (size_t queue = 0; queue < maxQueues; ++queue)
      if (queueTable.needs(groups.size(), queue))
        ends.emplace_back(groups.size(), queue);
    groups.push_back(mesh.groups(axesOf(axes)));
  }
  for (const PipelineQueues::Queue &queue : queues.all())
    queuePairs.push_back(rankPairs(queue, roles, mesh.ranks()));
  for (uint32_t role = 0; role < roles.count(); ++role)
    mostQueues =
        std::max(mostQueues,
                 static_cast<int>(std::ranges::count_if(
                     queues.all(), [role](const PipelineQueues::Queue &queue) {
                       return queue.source == role || queue.destination == role;
                     })));
}

NcclWorld::RoleWork NcclWorld::workOf(uint32_t role, uint32_t entry,
                                      const PipelineQueues &queues) const {
  RoleWork work;
  const auto add = [&](uint32_t number, uint32_t action) {
    for (uint32_t instruction :
         executedCollectives(*plan.contents().entries()->Get(number)))
      work.collectives.push_back({number, instruction, action});
  };
  const plan::Timeline *timeline = timelineOf(entry);
  if (!timeline) {
    add(entry, 0);
    return work;
  }
  work.messages.resize(queues.all().size());
  const auto &row = *timeline->rows()->Get(role)->actions();
  for (uint32_t index = 0; index < row.size(); ++index) {
    const plan::Action &action = *row.Get(index);
    if (action.kind() == plan::ActionKind::Run)
      add(action.index(), index);
    else
      work
          .messages[queues.of(
              entry, timeline->messages()->Get(action.index())->queue())]
          .push_back(index);
  }
  return work;
}

NcclWorld::~NcclWorld() = default;

Result<std::unique_ptr<NcclWorld>>
NcclWorld::create(const Nccl &nccl, const Cudart &cudart, Bootstrap &bootstrap,
                  const Plan &plan, NcclWorldOptions options) {
  const Launch &launch = bootstrap.launch();
  if (plan.ranks() != launch.world)
    return failedPrecondition(fmt::format(
        "the plan is for {} ranks, {} started {}; start one process a rank",
        plan.ranks(), launch.launcher, launch.world));
  setNcclEnvironment(options.deterministic);
  for (const std::string &warning :
       ncclMachineWarnings(NcclMachine::ofThisProcess()))
    std::fprintf(stderr, "weft: warning: %s\n", warning.c_str());
  std::unique_ptr<NcclWorld> world(
      new NcclWorld(nccl, cudart, bootstrap, plan, std::move(options)));
  WEFT_RETURN_IF_ERROR(world->agreeOn());
  try {
    world->watchdog = std::make_unique<Watchdog>(
        bootstrap, static_cast<WatchedRank &>(*world), world->options.watchdog);
  } catch (const std::system_error &error) {
    return resourceExhausted(fmt::format(
        "cannot start the thread of the watchdog: {}", error.what()));
  }
  return world;
}

static std::string versionName(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

/// All ranks have one plan, and so one list of collectives (N1), and one NCCL
/// (N22).
Status NcclWorld::agreeOn() {
  int version = 0;
  WEFT_RETURN_IF_ERROR(
      issuer.call("ncclGetVersion", nullptr, options.watchdog.setup,
                  [&] { return issuer.nccl.getVersion(&version); }));
  std::vector<Fact> facts = {
      {"the plan (its hash)", fmt::format("{:016x}", plan.hash())},
      {"the version of NCCL", versionName(version)},
      {"whether collectives are serialized",
       options.serializeCollectives ? "yes" : "no"},
      {"whether the arena is registered", options.registerArena ? "yes" : "no"},
      {"whether runs become graphs", options.cudaGraphs ? "yes" : "no"},
      {"the number of runs that are traced",
       fmt::format("{}", options.traceRuns)}};
  for (Fact &fact : ncclEnvironmentFacts())
    facts.push_back(std::move(fact));
  return agree(bootstrap, facts, options.watchdog.setup);
}

DeviceCommunicator *NcclWorld::communicator(int ofRank, size_t group,
                                            size_t queue) const {
  for (const GroupQueue &end : ends)
    if (ofRank == rank && end.group == group && end.queue == queue)
      return end.communicator.get();
  return nullptr;
}

DeviceChannel *NcclWorld::channel(int ofRank, size_t queue) const {
  return ofRank == rank ? queueEnds[queue].channel.get() : nullptr;
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

/// What waits for another rank keeps its thread blocks, and who comes then may
/// find none: all that a device may have at once, one operation for each queue
/// of collectives and of messages, fits it together.
Status NcclWorld::limitBlocks() {
  if (mostQueues == 0)
    return {};
  int device = 0, all = 0;
  WEFT_RETURN_IF_ERROR(cudaStatus(
      issuer.cudart, issuer.cudart.getDevice(&device), "cudaGetDevice"));
  WEFT_RETURN_IF_ERROR(
      cudaStatus(issuer.cudart,
                 issuer.cudart.deviceGetAttribute(
                     &all, cudaDevAttrMultiProcessorCount, device),
                 "cudaDeviceGetAttribute"));
  // More make none of them faster.
  constexpr int enough = 32;
  const auto queuesOfGroups = static_cast<int>(queueTable.count());
  blocksOfGroups = std::min(enough, all / 2 / queuesOfGroups);
  blocksOfQueues =
      std::min(enough, (all - queuesOfGroups * blocksOfGroups) / mostQueues);
  if (blocksOfGroups == 0 || blocksOfQueues == 0)
    return failedPrecondition(fmt::format(
        "a rank's queues of collectives ({}) and of messages ({}) take a "
        "multiprocessor of its device each while they wait, but that has {}; "
        "use a schedule with fewer stages on a rank",
        queuesOfGroups, mostQueues, all));
  return {};
}

/// Never blocking (N5): whatever a peer does, a call returns. A communicator
/// shares its resources with those split from it as its own configuration says.
/// They then run one after the other on the device, which is what one queue
/// does anyway, and is no use to two.
ncclConfig_t NcclWorld::configOf(const char *name, int mostBlocks) const {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = name;
  config.maxCTAs = mostBlocks;
  config.splitShare = queueTable.count() == 1 && queuePairs.empty();
  return config;
}

Status NcclWorld::createWorld() {
  ncclUniqueId id{};
  if (rank == 0)
    WEFT_RETURN_IF_ERROR(
        issuer.call("ncclGetUniqueId", nullptr, issuer.setup,
                    [&] { return issuer.nccl.getUniqueId(&id); }));
  WEFT_ASSIGN_OR_RETURN(
      const std::string bytes,
      bootstrap.broadcast("the id of NCCL",
                          std::string(id.internal, sizeof id.internal),
                          issuer.setup));
  if (bytes.size() != sizeof id.internal)
    return internalError(
        fmt::format("rank 0 has sent an id of NCCL of {} bytes, not {}",
                    bytes.size(), sizeof id.internal));
  std::memcpy(id.internal, bytes.data(), bytes.size());
  ncclConfig_t config = configOf("weft", blocksOfGroups);
  WEFT_RETURN_IF_ERROR(
      issuer.call("ncclCommInitRankConfig", nullptr, issuer.setup, [&] {
        const ncclResult_t result =
            issuer.nccl.commInitRankConfig(&world, size(), id, rank, &config);
        return result == ncclInProgress ? ncclSuccess : result;
      }));
  WEFT_RETURN_IF_ERROR(issuer.call("ncclCommInitRankConfig", world,
                                   issuer.setup,
                                   [] { return ncclInProgress; }));
  issuer.watch(world);
  return {};
}

Status NcclWorld::split(ncclComm_t &handle, const char *name, int mostBlocks,
                        int color, int key) {
  ncclConfig_t config = configOf(name, mostBlocks);
  // The parent says when the child is ready (N7).
  WEFT_RETURN_IF_ERROR(issuer.call("ncclCommSplit", world, issuer.setup, [&] {
    return issuer.nccl.commSplit(world, color, key, &handle, &config);
  }));
  if (!handle)
    return {};
  issuer.watch(handle);
  return issuer.call("ncclCommSplit", handle, issuer.setup,
                     [] { return ncclInProgress; });
}

Status NcclWorld::splitGroup(GroupQueue &end) {
  int color = NCCL_SPLIT_NOCOLOR, key = 0;
  size_t longest = 0;
  const GroupRanks &lists = groups[end.group];
  for (size_t list = 0; list < lists.size(); ++list) {
    const std::vector<int> &members = lists[list];
    longest = std::max(longest, members.size());
    const auto found = std::find(members.begin(), members.end(), rank);
    if (found == members.end())
      continue;
    color = static_cast<int>(list);
    key = static_cast<int>(found - members.begin());
    end.communicator = std::make_unique<NcclCommunicator>(
        issuer, members, key,
        [this](uint32_t instruction) { watchdog->enqueued(instruction); });
  }
  if (longest < 2)
    return {};
  WEFT_RETURN_IF_ERROR(split(
      end.handle, end.queue == 0 ? "weft group" : "weft group, second queue",
      blocksOfGroups, color, key));
  if (end.communicator)
    end.communicator->setHandle(end.handle);
  return {};
}

/// Every rank splits the world for every group with several ranks, in the
/// plan's order, whether it is in one of its lists or not (N7).
Status NcclWorld::splitGroups() {
  for (GroupQueue &end : ends)
    WEFT_RETURN_IF_ERROR(splitGroup(end));
  return {};
}

/// The same for every queue, and its pairs connect before the next queue: one
/// order on all ranks.
Status NcclWorld::splitQueues(void *arena) {
  for (const auto &pairs : queuePairs) {
    QueueEnd &end = queueEnds.emplace_back();
    int color = NCCL_SPLIT_NOCOLOR, key = 0;
    for (size_t pair = 0; pair < pairs.size(); ++pair) {
      const auto [sender, receiver] = pairs[pair];
      if (rank != sender && rank != receiver)
        continue;
      color = static_cast<int>(pair);
      key = rank == receiver;
      end.channel = std::make_unique<NcclChannel>(issuer, queueEnds.size() - 1,
                                                  rank, rank == sender);
    }
    WEFT_RETURN_IF_ERROR(
        split(end.handle, "weft queue", blocksOfQueues, color, key));
    if (end.channel)
      WEFT_RETURN_IF_ERROR(end.channel->connect(end.handle, arena));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// The arena as registered memory (N18)
//===----------------------------------------------------------------------===//

/// Only what NCCL has allocated can be registered safely.
Result<ArenaMemory> NcclWorld::allocateArena(const Cudart &cudart,
                                             size_t bytes) {
  if (!options.registerArena || bytes == 0)
    return DeviceWorld::allocateArena(cudart, bytes);
  // Without it NCCL allocates as cudaMalloc does.
  const char *enabled = std::getenv("NCCL_CUMEM_ENABLE");
  void *memory = nullptr;
  if (enabled && std::strcmp(enabled, "0") == 0)
    whyNotRegistered = "NCCL_CUMEM_ENABLE is 0";
  else if (const ncclResult_t result = issuer.nccl.memAlloc(&memory, bytes);
           result != ncclSuccess)
    whyNotRegistered = fmt::format("ncclMemAlloc of {} bytes: {}", bytes,
                                   issuer.nccl.getErrorString(result));
  if (!whyNotRegistered.empty())
    return DeviceWorld::allocateArena(cudart, bytes);
  return ArenaMemory(memory, [free = issuer.nccl.memFree](void *address) {
    (void)free(address);
  });
}

/// All ranks register their arena, or none.
Result<bool> NcclWorld::agreesToRegister() {
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> reasons,
                        bootstrap.gather("whether the arena can be registered",
                                         whyNotRegistered, issuer.setup));
  for (size_t r = 0; r < reasons.size(); ++r)
    if (!reasons[r].empty()) {
      if (rank == 0)
        std::fprintf(stderr,
                     "weft: note: the arena is not registered with NCCL: %s on "
                     "rank %zu\n",
                     reasons[r].c_str(), r);
      return false;
    }
  return true;
}

/// As a window, because every rank of a role has the same buffers at the same
/// offsets of its arena; the kernels that NCCL has for windows sum in other
/// orders, and no variable chooses among them, so that deterministic runs do
/// without.
Status NcclWorld::registerWith(GroupQueue &end, void *arena, size_t bytes) {
  if (options.deterministic)
    return issuer.call("ncclCommRegister", end.handle, issuer.setup, [&] {
      return issuer.nccl.commRegister(end.handle, arena, bytes,
                                      &end.registration);
    });
  return issuer.call("ncclCommWindowRegister", end.handle, issuer.setup, [&] {
    return issuer.nccl.commWindowRegister(end.handle, arena, bytes, &end.window,
                                          NCCL_WIN_COLL_SYMMETRIC);
  });
}

Status NcclWorld::registerArena(void *arena, size_t bytes) {
  // Some roles may have no memory, and all ranks must agree.
  if (!options.registerArena || (bytes == 0 && roles.count() == 1))
    return {};
  WEFT_ASSIGN_OR_RETURN(const bool agrees, agreesToRegister());
  for (GroupQueue &end : ends)
    if (agrees && end.handle && bytes != 0 &&
        !roles.split(axesOf(plan.contents().groups()->Get(end.group))))
      WEFT_RETURN_IF_ERROR(registerWith(end, arena, bytes));
  return {};
}

Status NcclWorld::deregister(GroupQueue &end) {
  if (end.window)
    return issuer.call("ncclCommWindowDeregister", end.handle, issuer.setup,
                       [&] {
                         return issuer.nccl.commWindowDeregister(
                             end.handle, std::exchange(end.window, nullptr));
                       });
  if (end.registration)
    return issuer.call("ncclCommDeregister", end.handle, issuer.setup, [&] {
      return issuer.nccl.commDeregister(
          end.handle, std::exchange(end.registration, nullptr));
    });
  return {};
}

//===----------------------------------------------------------------------===//
// Attach and detach
//===----------------------------------------------------------------------===//

Status NcclWorld::attach(int, void *arena, size_t bytes) {
  watchdog->attach();
  isAttached = true;
  size_t most = 0;
  for (uint32_t entry = 0; entry < works.size(); ++entry) {
    most = std::max(most, work(entry, rank).collectives.size());
    for (const std::vector<uint32_t> &messages : work(entry, rank).messages)
      most = std::max(most, messages.size());
  }
  Status status =
      issuer.attach(static_cast<uint32_t>(most), queuePairs.size(),
                    options.watchdog.setup, options.watchdog.deadline);
  if (status.ok())
    status = limitBlocks();
  if (status.ok())
    status = createWorld();
  if (status.ok())
    status = splitGroups();
  if (status.ok())
    status = splitQueues(arena);
  if (status.ok())
    status = registerArena(arena, bytes);
  if (!status.ok()) {
    status = status.withContext("creating the communicators of NCCL");
    abort(status);
    return status;
  }
  watchdog->attached();
  return {};
}

/// In the reverse of the order in which they were made.
Status NcclWorld::destroyAll() {
  // Until it is destroyed it can be aborted, if this fails half-way.
  const auto destroy = [&](ncclComm_t &communicator) -> Status {
    if (!communicator)
      return {};
    WEFT_RETURN_IF_ERROR(
        issuer.call("ncclCommFinalize", communicator, issuer.setup,
                    [&] { return issuer.nccl.commFinalize(communicator); }));
    issuer.unwatch(communicator);
    return issuer.call("ncclCommDestroy", nullptr, issuer.setup, [&] {
      return issuer.nccl.commDestroy(std::exchange(communicator, nullptr));
    });
  };
  // Nobody begins to destroy while another still communicates (N17).
  WEFT_RETURN_IF_ERROR(
      bootstrap.barrier("that all have ended", options.watchdog.setup));
  for (auto end = queueEnds.rbegin(); end != queueEnds.rend(); ++end)
    WEFT_RETURN_IF_ERROR(destroy(end->handle));
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    WEFT_RETURN_IF_ERROR(deregister(*end));
    WEFT_RETURN_IF_ERROR(destroy(end->handle));
  }
  return destroy(world);
}

/// In the thread of the rank, which is in no other call (N16). What does not
/// return is ended by the watchdog.
void NcclWorld::abortAll() {
  const auto abortOne = [&](ncclComm_t communicator) {
    if (!communicator)
      return;
    issuer.unwatch(communicator);
    (void)issuer.nccl.commAbort(communicator);
  };
  for (auto end = queueEnds.rbegin(); end != queueEnds.rend(); ++end)
    abortOne(std::exchange(end->handle, nullptr));
  for (auto end = ends.rbegin(); end != ends.rend(); ++end)
    abortOne(std::exchange(end->handle, nullptr));
  abortOne(std::exchange(world, nullptr));
}

void NcclWorld::detach(int) {
  if (!isAttached)
    return;
  isAttached = false;
  watchdog->detach();
  if (status().ok())
    if (Status failure = destroyAll(); !failure.ok())
      abort(failure);
  if (!status().ok())
    abortAll();
  issuer.detach();
  // After a failure the device may still hang: watched until the world ends.
  if (status().ok())
    watchdog->detached();
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void NcclWorld::beginRun(int, uint32_t entry) {
  issuer.beginRun();
  watchdog->begin(entry);
}

void NcclWorld::endRun(int) { watchdog->end(); }

Status NcclWorld::barrier(int) {
  WEFT_RETURN_IF_ERROR(status());
  return bootstrap.barrier("that all are ready", options.watchdog.setup);
}

Status NcclWorld::gather(const void *source, void *destination, size_t bytes,
                         cudaStream_t stream) {
  WEFT_RETURN_IF_ERROR(issuer.check());
  return issuer.call("ncclAllGather", world, [&] {
    return issuer.nccl.allGather(source, destination, bytes, ncclInt8, world,
                                 stream);
  });
}

void NcclWorld::abort(const Status &reason) {
  issuer.abort(reason);
  watchdog->report(reason);
}

void NcclWorld::abortProcess(const std::string &message) {
  const std::string text = fmt::format("{}: {}", message, status().message());
  if (options.abortProcess)
    return options.abortProcess(text);
  std::fprintf(stderr, "weft: error: %s\n", text.c_str());
  ::_exit(1);
}

} // namespace weft::runtime
