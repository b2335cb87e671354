//===- MpiWorld.cpp - Ranks that are threads of several processes ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiWorld.h"

#include "HostMemory.h"
#include "MpiChannel.h"
#include "MpiCommunicator.h"
#include "comm/CheckRanks.h"
#include "comm/InProcessChannel.h"
#include "comm/InProcessCommunicator.h"
#include "comm/StartThread.h"
#include "launch/Agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <numeric>
#include <set>

namespace weft::runtime {

using namespace std::chrono_literals;

/// How often a process asks whether another one has failed or has ended.
static constexpr auto watchInterval = 50ms;

static std::vector<std::string> placesOf(const Bootstrap &bootstrap,
                                         int processes) {
  std::vector<std::string> places;
  for (int process = 0; process < processes; ++process)
    places.push_back(bootstrap.onHost(process));
  return places;
}

class MpiWorld::Impl {
public:
  Impl(Bootstrap &bootstrap, MpiEngine &engine, int ranks)
      : bootstrap(bootstrap), engine(engine), ranks(ranks),
        processRanks(ranks, placesOf(bootstrap, engine.processes())),
        spin(SpinPolicy::forRanks(ranks)) {}
  ~Impl();

  Status open(const std::vector<GroupRanks> &groups,
              const std::vector<QueueRanks> &queues,
              std::chrono::nanoseconds setup);
  void abort(const Status &reason, bool tells);
  Communicator *end(const std::vector<std::unique_ptr<Communicator>> &ofRank,
                    int rank) const {
    return rank >= 0 && rank < ranks ? ofRank[rank].get() : nullptr;
  }

  Bootstrap &bootstrap;
  MpiEngine &engine;
  const int ranks;
  const ProcessRanks processRanks;
  const SpinPolicy spin;

  /// Null where there is none.
  std::unique_ptr<HostMemory> hostMemory;
  std::vector<std::unique_ptr<InProcessGroup>> localGroups;
  std::vector<std::unique_ptr<MpiSharedGroup>> groups;
  /// [group][world rank]; null where the rank is in no list of the group, or
  /// elsewhere. The last group is of the first ranks of the processes.
  std::vector<std::vector<std::unique_ptr<Communicator>>> communicators;
  std::vector<std::unique_ptr<InProcessQueue>> localQueues;
  std::vector<std::unique_ptr<MpiChannel>> crossings;
  std::vector<std::vector<Channel *>> channels;

private:
  bool isHere(int rank) const {
    return processRanks.processOf(rank) == engine.process();
  }
  std::set<int> processesOf(const std::vector<int> &members) const;
  size_t hostBytes(const std::set<int> &processes) const;
  Status addGroup(const GroupRanks &group);
  Status addQueues(const std::vector<QueueRanks> &queues);
  Result<MpiGroupHandle> createGroup(const std::vector<int> &processes);
  Status reasonToStop();
  std::string nameOf(int process) const;
  void watch();

  std::optional<MpiGroupHandle> queueHandle;
  /// So far, of all processes: tells apart what is created at once.
  int lists = 0;
  /// Of the memory of the host, those that groups have.
  size_t hostBytesTaken = 0;
  Clock::time_point giveUpAt;

  std::mutex mutex;
  Status abortReason;
  std::condition_variable wake;
  bool isStopping = false;
  std::thread watcher;

  friend class MpiWorld;
};

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

/// Why this process does not wait for the others any longer.
Status MpiWorld::Impl::reasonToStop() {
  WEFT_RETURN_IF_ERROR(bootstrap.failure());
  if (Clock::now() < giveUpAt)
    return {};
  return deadlineExceeded(fmt::format(
      "process {} has waited too long for MPI to create a communicator",
      engine.process()));
}

Result<MpiGroupHandle>
MpiWorld::Impl::createGroup(const std::vector<int> &processes) {
  // Shared with a thread that may outlive this call.
  auto created = std::make_shared<MpiGroupHandle>();
  const int number = lists % std::min(engine.mostTag(), 30000);
  WEFT_RETURN_IF_ERROR(engine.call(
      [=](MpiLibrary &library) {
        return library.createGroup(processes, number, *created);
      },
      [&] { return reasonToStop(); }));
  return *created;
}

std::set<int>
MpiWorld::Impl::processesOf(const std::vector<int> &members) const {
  std::set<int> processes;
  for (int rank : members)
    processes.insert(processRanks.processOf(rank));
  return processes;
}

/// What a group of these processes wants of the memory of this host.
size_t MpiWorld::Impl::hostBytes(const std::set<int> &processes) const {
  const int host = bootstrap.firstOnHost(engine.process());
  const bool isOfHost = std::ranges::all_of(processes, [&](int process) {
    return bootstrap.firstOnHost(process) == host;
  });
  return isOfHost && processes.size() > 1
             ? HostRounds::bytesFor(processes.size())
             : 0;
}

Status MpiWorld::Impl::addGroup(const GroupRanks &group) {
  auto &ofRank = communicators.emplace_back(ranks);
  for (const std::vector<int> &members : group) {
    ++lists;
    const std::set<int> processes = processesOf(members);
    const size_t bytes = hostBytes(processes);
    std::byte *const memory = bytes != 0 && hostMemory
                                  ? hostMemory->memory() + hostBytesTaken
                                  : nullptr;
    hostBytesTaken += bytes;
    if (!processes.contains(engine.process()))
      continue;
    if (processes.size() == 1) {
      localGroups.push_back(std::make_unique<InProcessGroup>(members, spin));
      for (size_t i = 0; i < members.size(); ++i)
        ofRank[members[i]] = std::make_unique<InProcessCommunicator>(
            *localGroups.back(), static_cast<int>(i));
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(const MpiGroupHandle handle,
                          createGroup({processes.begin(), processes.end()}));
    groups.push_back(std::make_unique<MpiSharedGroup>(
        engine, handle, members, processRanks, memory, spin));
    for (size_t i = 0; i < members.size(); ++i)
      if (isHere(members[i]))
        ofRank[members[i]] = std::make_unique<MpiCommunicator>(
            *groups.back(), static_cast<int>(i));
  }
  return {};
}

/// All queues share a communicator, and each has tags of its own in it.
Status MpiWorld::Impl::addQueues(const std::vector<QueueRanks> &queues) {
  int first = 0;
  for (const QueueRanks &queue : queues) {
    auto &ofRank = channels.emplace_back(ranks);
    for (const auto &[sender, receiver] : queue.pairs) {
      const int from = processRanks.processOf(sender);
      const int to = processRanks.processOf(receiver);
      if (from == to && from == engine.process()) {
        localQueues.push_back(std::make_unique<InProcessQueue>(
            sender, receiver, queue.capacity, spin));
        ofRank[sender] = &localQueues.back()->sender();
        ofRank[receiver] = &localQueues.back()->receiver();
      }
      if (from == to)
        continue;
      if (first > engine.mostTag() - MpiChannel::tags)
        return resourceExhausted(
            fmt::format("the queues of the plan need more than the {} tags "
                        "that MPI has",
                        engine.mostTag()));
      const MpiChannel::Edge edge{.sender = sender,
                                  .receiver = receiver,
                                  .peer = isHere(sender) ? to : from,
                                  .tag = first,
                                  .capacity = queue.capacity};
      first += MpiChannel::tags;
      if (!isHere(sender) && !isHere(receiver))
        continue;
      crossings.push_back(std::make_unique<MpiChannel>(
          engine, *queueHandle, edge, isHere(sender), spin));
      ofRank[isHere(sender) ? sender : receiver] = crossings.back().get();
    }
  }
  return {};
}

Status MpiWorld::Impl::open(const std::vector<GroupRanks> &groups,
                            const std::vector<QueueRanks> &queues,
                            std::chrono::nanoseconds setup) {
  giveUpAt = Clock::now() + std::min<std::chrono::nanoseconds>(setup, 24h);
  std::vector<int> firsts, processes;
  for (int p = 0; p < engine.processes(); ++p) {
    processes.push_back(p);
    if (processRanks.first(p) != processRanks.end(p))
      firsts.push_back(processRanks.first(p));
  }
  std::vector<GroupRanks> all = groups;
  all.push_back({firsts});
  size_t bytes = 0;
  for (const GroupRanks &group : all)
    for (const std::vector<int> &members : group)
      bytes += hostBytes(processesOf(members));
  WEFT_ASSIGN_OR_RETURN(hostMemory, HostMemory::share(bootstrap, bytes, setup));
  for (const GroupRanks &group : all)
    WEFT_RETURN_IF_ERROR(addGroup(group));
  if (!queues.empty()) {
    WEFT_ASSIGN_OR_RETURN(queueHandle, createGroup(processes));
  }
  WEFT_RETURN_IF_ERROR(addQueues(queues));
  return startThread(watcher, "that watches for failures", [this] { watch(); });
}

MpiWorld::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex);
    isStopping = true;
  }
  wake.notify_all();
  if (watcher.joinable())
    watcher.join();
  for (const auto &shared : groups)
    shared->group.finishTasks();
  for (const auto &crossing : crossings)
    crossing->finishTasks();
  if (!engine.status().ok())
    return;
  const auto deadline = Clock::now() + 10s;
  (void)engine.call(
      [this](MpiLibrary &library) {
        bool isClean = true;
        for (const auto &shared : groups)
          shared->group.close(library);
        for (const auto &crossing : crossings) {
          crossing->close(library);
          isClean &= crossing->isClean();
        }
        if (queueHandle && isClean)
          library.freeGroup(*queueHandle);
        return "";
      },
      [&] {
        return Clock::now() < deadline
                   ? Status()
                   : deadlineExceeded("MPI does not take back receives");
      });
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// "process 1 (ranks 2, 3)".
std::string MpiWorld::Impl::nameOf(int process) const {
  std::vector<int> members(processRanks.end(process) -
                           processRanks.first(process));
  std::iota(members.begin(), members.end(), processRanks.first(process));
  return fmt::format("{} ({})", processRanks.nameOf(process),
                     describeRanks(members));
}

void MpiWorld::Impl::watch() {
  std::set<int> known;
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, watchInterval, [&] { return isStopping; })) {
    lock.unlock();
    const Status reason =
        bootstrap.failure([this](int process) { return nameOf(process); });
    if (!reason.ok()) {
      abort(reason, false);
      return;
    }
    if (std::set<int> ended = bootstrap.ended(); ended != known) {
      known = std::move(ended);
      engine.noteEnded(known);
      for (const auto &shared : groups)
        shared->group.wake();
    }
    lock.lock();
  }
}

void MpiWorld::Impl::abort(const Status &reason, bool tells) {
  {
    const std::lock_guard lock(mutex);
    if (!abortReason.ok())
      return;
    abortReason = reason;
  }
  engine.expectNoEnd();
  for (const auto &group : localGroups)
    (void)group->fail(reason);
  for (const auto &shared : groups)
    (void)shared->group.stop(reason);
  for (const auto &queue : localQueues)
    (void)queue->fail(reason);
  for (const auto &crossing : crossings)
    (void)crossing->stop(reason);
  if (tells)
    bootstrap.failHere(reason.message());
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<MpiWorld>>
MpiWorld::create(Bootstrap &bootstrap, int ranks, const std::string &what,
                 const std::vector<GroupRanks> &groups,
                 const std::vector<QueueRanks> &queues,
                 std::chrono::nanoseconds setup) {
  WEFT_RETURN_IF_ERROR(checkRanks(ranks, groups, queues));
  WEFT_ASSIGN_OR_RETURN(MpiEngine *const engine,
                        MpiEngine::ofProcess(bootstrap));
  const Launch &launch = bootstrap.launch();
  if (engine->process() != launch.rank || engine->processes() != launch.world)
    return failedPrecondition(fmt::format(
        "this is process {} of {} by {}, and {} of {} by MPI; start all "
        "processes with the mpirun of the same MPI",
        launch.rank, launch.world, launch.launcher, engine->process(),
        engine->processes()));
  WEFT_RETURN_IF_ERROR(agree(
      bootstrap,
      {{"what they run", what}, {"the version of MPI", engine->version()}},
      setup));
  auto impl = std::make_unique<Impl>(bootstrap, *engine, ranks);
  WEFT_RETURN_IF_ERROR(impl->open(groups, queues, setup));
  return std::unique_ptr<MpiWorld>(new MpiWorld(std::move(impl)));
}

MpiWorld::MpiWorld(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
MpiWorld::~MpiWorld() = default;

int MpiWorld::size() const { return impl->ranks; }

std::vector<int> MpiWorld::localRanks() const {
  const int process = impl->engine.process();
  std::vector<int> local;
  for (int rank = impl->processRanks.first(process);
       rank < impl->processRanks.end(process); ++rank)
    local.push_back(rank);
  return local;
}

Communicator *MpiWorld::communicator(int rank, size_t group) const {
  if (group + 1 >= impl->communicators.size())
    return nullptr;
  return impl->end(impl->communicators[group], rank);
}

Communicator *MpiWorld::processes() const {
  return impl->end(impl->communicators.back(),
                   impl->processRanks.first(impl->engine.process()));
}

Channel *MpiWorld::channel(int rank, size_t queue) const {
  if (queue >= impl->channels.size() || rank < 0 || rank >= impl->ranks)
    return nullptr;
  return impl->channels[queue][rank];
}

void MpiWorld::abort(const Status &reason) { impl->abort(reason, true); }

Status MpiWorld::status() const {
  const std::lock_guard lock(impl->mutex);
  return impl->abortReason;
}

} // namespace weft::runtime
