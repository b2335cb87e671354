//===- NcclWorld.cpp - One rank a process, by NCCL --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/NcclWorld.h"

#include "cuda/NcclEnvironment.h"
#include "plan/Mesh.h"
#include "plan/Text.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace weft::runtime {

//===----------------------------------------------------------------------===//
// Before the device
//===----------------------------------------------------------------------===//

NcclWorld::NcclWorld(const Nccl &nccl, const Cudart &cudart,
                     Bootstrap &bootstrap, const Plan &plan,
                     NcclWorldOptions options)
    : bootstrap(bootstrap), plan(plan), options(std::move(options)),
      rank(bootstrap.launch().rank), issuer(nccl, cudart) {
  const Mesh mesh(plan.contents());
  for (const plan::AxisList *axes : *plan.contents().groups())
    groups.emplace_back().ranks = mesh.groups(axesOf(axes));
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
  for (const std::string &warning : ncclMachineWarnings())
    std::fprintf(stderr, "weft: warning: %s\n", warning.c_str());
  std::unique_ptr<NcclWorld> world(
      new NcclWorld(nccl, cudart, bootstrap, plan, std::move(options)));
  WEFT_RETURN_IF_ERROR(world->agreeOn());
  world->watchdog = std::make_unique<Watchdog>(
      bootstrap, static_cast<WatchedRank &>(*world), world->options.watchdog);
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
      {"whether the arena is registered",
       options.registerArena ? "yes" : "no"}};
  for (Fact &fact : ncclEnvironmentFacts())
    facts.push_back(std::move(fact));
  return agree(bootstrap, facts, options.watchdog.setup);
}

DeviceCommunicator *NcclWorld::communicator(int ofRank, size_t group) const {
  return ofRank == rank ? groups[group].communicator.get() : nullptr;
}

uint32_t NcclWorld::mostInstructions() const {
  uint32_t most = 0;
  for (const plan::Entry *entry : *plan.contents().entries())
    most = std::max(most, entry->instructions()->size());
  return most;
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

/// Never blocking (N5): whatever a peer does, a call returns.
static ncclConfig_t configOf(const char *name) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = name;
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
  ncclConfig_t config = configOf("weft");
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

Status NcclWorld::split(Group &group, int color, int key) {
  ncclConfig_t config = configOf("weft group");
  config.splitShare = 1;
  // The parent says when the child is ready (N7).
  WEFT_RETURN_IF_ERROR(issuer.call("ncclCommSplit", world, issuer.setup, [&] {
    return issuer.nccl.commSplit(world, color, key, &group.handle, &config);
  }));
  if (!group.handle)
    return {};
  issuer.watch(group.handle);
  return issuer.call("ncclCommSplit", group.handle, issuer.setup,
                     [] { return ncclInProgress; });
}

/// Every rank splits the world once for every group with several ranks, in the
/// plan's order, whether it is in one of its lists or not (N7).
Status NcclWorld::splitGroups() {
  for (Group &group : groups) {
    int color = NCCL_SPLIT_NOCOLOR, key = 0;
    size_t longest = 0;
    for (size_t list = 0; list < group.ranks.size(); ++list) {
      const std::vector<int> &members = group.ranks[list];
      longest = std::max(longest, members.size());
      const auto found = std::find(members.begin(), members.end(), rank);
      if (found == members.end())
        continue;
      color = static_cast<int>(list);
      key = static_cast<int>(found - members.begin());
      group.communicator = std::make_unique<NcclCommunicator>(
          issuer, members, key,
          [this](uint32_t instruction) { watchdog->enqueued(instruction); });
    }
    if (longest < 2)
      continue;
    WEFT_RETURN_IF_ERROR(split(group, color, key));
    if (group.communicator)
      group.communicator->setHandle(group.handle);
  }
  return {};
}

/// One arena of one layout on all ranks (N18).
Status NcclWorld::registerBuffers(void *arena, size_t bytes) {
  if (!options.registerArena || bytes == 0)
    return {};
  for (Group &group : groups)
    if (group.handle)
      WEFT_RETURN_IF_ERROR(
          issuer.call("ncclCommRegister", group.handle, issuer.setup, [&] {
            return issuer.nccl.commRegister(group.handle, arena, bytes,
                                            &group.registration);
          }));
  return {};
}

Status NcclWorld::attach(int, void *arena, size_t bytes) {
  watchdog->attach();
  isAttached = true;
  Status status = issuer.attach(mostInstructions() + 1, options.watchdog.setup,
                                options.watchdog.deadline);
  if (status.ok())
    status = createWorld();
  if (status.ok())
    status = splitGroups();
  if (status.ok())
    status = registerBuffers(arena, bytes);
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
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    if (group->registration)
      WEFT_RETURN_IF_ERROR(
          issuer.call("ncclCommDeregister", group->handle, issuer.setup, [&] {
            return issuer.nccl.commDeregister(group->handle,
                                              group->registration);
          }));
    WEFT_RETURN_IF_ERROR(destroy(group->handle));
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
  for (auto group = groups.rbegin(); group != groups.rend(); ++group)
    abortOne(std::exchange(group->handle, nullptr));
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
  issuer.clearMark();
  watchdog->begin(entry);
}

void NcclWorld::endRun(int) { watchdog->end(); }

Status NcclWorld::barrier(int) {
  WEFT_RETURN_IF_ERROR(status());
  return bootstrap.barrier("that all are ready", options.watchdog.setup);
}

void NcclWorld::abort(const Status &reason) {
  issuer.abort(reason);
  watchdog->report(reason);
}

void NcclWorld::lastResort(const std::string &message) {
  const std::string text = fmt::format("{}: {}", message, status().message());
  if (options.lastResort)
    return options.lastResort(text);
  std::fprintf(stderr, "weft: error: %s\n", text.c_str());
  ::_exit(1);
}

//===----------------------------------------------------------------------===//
// What the watchdog asks
//===----------------------------------------------------------------------===//

static const plan::Instruction &instructionAt(const Plan &plan, uint32_t entry,
                                              uint32_t instruction) {
  return *plan.contents().entries()->Get(entry)->instructions()->Get(
      instruction);
}

std::string NcclWorld::nameOf(uint32_t entry, uint32_t instruction) const {
  return stepName(instruction, instructionAt(plan, entry, instruction));
}

std::string NcclWorld::causeOf(uint32_t entry, uint32_t instruction) const {
  const plan::Instruction &at = instructionAt(plan, entry, instruction);
  std::string text = escaped(view(at.cause()));
  if (const auto location = view(at.location()); !location.empty())
    text += (text.empty() ? "" : ", ") + escaped(location);
  return text;
}

std::vector<int> NcclWorld::partners(uint32_t entry, uint32_t instruction,
                                     int ofRank) const {
  const auto *start =
      instructionAt(plan, entry, instruction).operation_as_CollectiveStart();
  if (start)
    for (const std::vector<int> &members : groups[start->group()].ranks)
      if (std::find(members.begin(), members.end(), ofRank) != members.end())
        return members;
  return {};
}

} // namespace weft::runtime
