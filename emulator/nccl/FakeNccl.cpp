//===- FakeNccl.cpp - The functions of the fake NCCL ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeNccl.h"

#include "Collectives.h"
#include "LaunchOrder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

using namespace fake_nccl;

namespace {

/// KIND@RANK[:N]
struct Fault {
  std::string kind;
  int rank = -1;
  int number = 0;

  static Fault fromEnvironment() {
    Fault fault;
    const char *text = std::getenv("WEFT_FAKE_NCCL_FAULT");
    char kind[32] = {};
    if (text && std::sscanf(text, "%31[a-z-]@%d:%d", kind, &fault.rank,
                            &fault.number) >= 2)
      fault.kind = kind;
    return fault;
  }
  bool is(const char *wanted, int ofRank, int ofNumber = 0) const {
    return kind == wanted && rank == ofRank && number == ofNumber;
  }
};

/// The rank of this process, for faults before there is a communicator.
int rankOfProcess() {
  const char *text = std::getenv("RANK");
  return text ? std::atoi(text) : -1;
}

/// What is wrong with how the library is used.
void complain(const char *what) {
  std::fprintf(stderr, "fake nccl: %s\n", what);
}

thread_local int groupDepth = 0;
thread_local std::shared_ptr<Operation> grouped;
thread_local ncclComm_t groupedComm = nullptr;
thread_local cudaStream_t groupedStream = nullptr;
std::string lastError;
/// What ncclMemAlloc has allocated.
std::map<void *, size_t> ownMemory;

} // namespace

/// What a stream carries out.
struct Queued {
  ncclComm_t comm;
  std::shared_ptr<Operation> operation;
  int number;
  bool isCaptured;
  bool hasBegun = false;
};

/// Those that are split from one communicator; with shared resources their
/// operations run one after the other.
struct Family {
  bool isShared = false;
  std::mutex running;
  /// The most thread blocks that an operation of each stream may take.
  std::map<cudaStream_t, int> blocks;
};

struct ncclComm {
  std::string name;
  int rank = 0;
  int size = 1;
  /// In the world, for faults.
  int worldRank = 0;
  std::thread::id owner;
  std::unique_ptr<Meeting> meeting;
  std::atomic<bool> stop{false};
  std::atomic<ncclResult_t> state{ncclInProgress};
  std::atomic<bool> isFinalized{false};
  /// Operations since the world's communicator was made.
  std::shared_ptr<std::atomic<int>> operations;
  std::shared_ptr<Family> family;
  int mostBlocks = 0;
  /// What is left of the call in progress, and how often its state is asked for
  /// until then.
  std::function<void()> rest;
  int polls = 0;
  int splits = 0;
  /// A graph may hold an operation: they live as long as the communicator.
  std::deque<Queued> queue;
  /// Where its operations are.
  cudaStream_t stream = nullptr;
  /// Operations outside of graphs that are not done, and those in graphs that
  /// still exist.
  std::atomic<int> plain{0}, held{0};
  std::thread starter;

  ~ncclComm() {
    stop.store(true);
    if (starter.joinable())
      starter.join();
  }
};

/// Checks what every call of a communicator must hold to.
static ncclResult_t checkCall(ncclComm_t comm) {
  if (!comm)
    return ncclInvalidArgument;
  if (comm->owner != std::this_thread::get_id()) {
    complain("a communicator is used by another thread than the one that made "
             "it");
    return ncclInvalidUsage;
  }
  if (comm->state.load() == ncclInProgress) {
    complain("a call comes while another is in progress");
    return ncclInvalidUsage;
  }
  return comm->state.load();
}

/// What is wrong with an operation is the communicator's error.
static void settle(ncclComm_t comm, const std::string &problem) {
  if (problem.empty())
    return;
  complain(problem.c_str());
  comm->state.store(ncclInternalError);
}

static void beginQueued(void *argument) {
  auto &queued = *static_cast<Queued *>(argument);
  ncclComm_t comm = queued.comm;
  const Fault fault = Fault::fromEnvironment();
  const int number = queued.number;
  if (queued.isCaptured && comm->plain.load() != 0)
    complain("captured operations of a communicator run beside others");
  while (fault.is("late", comm->worldRank, number) && !comm->stop.load())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  queued.hasBegun = false;
  if (fault.is("error", comm->worldRank, number))
    return comm->state.store(ncclRemoteError);
  std::string problem;
  queued.hasBegun =
      !comm->stop.load() && begin(*queued.operation, *comm->meeting, comm->rank,
                                  comm->size, comm->stop, problem);
  settle(comm, problem);
}

static void endQueued(void *argument) {
  const auto &queued = *static_cast<Queued *>(argument);
  ncclComm_t comm = queued.comm;
  std::string problem;
  std::unique_lock<std::mutex> alone(comm->family->running, std::defer_lock);
  if (comm->family->isShared)
    alone.lock();
  if (queued.hasBegun && !comm->stop.load())
    end(*queued.operation, *comm->meeting, comm->rank, comm->size, comm->stop,
        problem);
  settle(comm, problem);
  comm->plain -= !queued.isCaptured;
}

/// A call is not over when it returns: the rest is done when its state has been
/// asked for a few times.
static ncclResult_t progress(ncclComm_t comm, std::function<void()> rest) {
  comm->rest = std::move(rest);
  comm->polls = 3;
  comm->state.store(ncclInProgress);
  return ncclInProgress;
}

static ncclResult_t checkRegistration(ncclComm_t comm, void *buffer,
                                      size_t bytes) {
  if (const ncclResult_t result = checkCall(comm); result != ncclSuccess)
    return result;
  const auto found = ownMemory.find(buffer);
  if (found == ownMemory.end() || found->second < bytes) {
    complain("memory is registered that ncclMemAlloc has not allocated");
    return ncclInvalidArgument;
  }
  return ncclSuccess;
}

/// Without a limit NCCL takes as many blocks as it has channels.
static int mostBlocksOf(const ncclConfig_t &config) {
  constexpr int channels = 64;
  return config.maxCTAs == NCCL_CONFIG_UNDEF_INT ? channels : config.maxCTAs;
}

/// An operation that waits for another rank keeps its blocks: those of all
/// streams must fit the device together.
static void checkBlocks(ncclComm_t comm, cudaStream_t stream) {
  constexpr int multiprocessors = 132;
  int &mine = comm->family->blocks[stream];
  mine = std::max(mine, comm->mostBlocks);
  int all = 0;
  for (const auto &[each, blocks] : comm->family->blocks)
    all += blocks;
  if (all > multiprocessors)
    complain("operations that may run at once take more thread blocks than the "
             "device has multiprocessors");
}

static ncclResult_t submit(ncclComm_t comm,
                           std::shared_ptr<Operation> operation,
                           cudaStream_t stream) {
  const Fault fault = Fault::fromEnvironment();
  const int number = ++*comm->operations;
  if (fault.is("refuse", comm->worldRank, number)) {
    lastError = "refused on demand";
    return ncclInvalidArgument;
  }
  if (comm->stream && comm->stream != stream)
    complain("a communicator has operations on several streams");
  if (!comm->stream)
    checkBlocks(comm, stream);
  comm->stream = stream;
  const bool isCaptured = isCapturing(stream);
  if (isCaptured) {
    ++comm->held;
    holdInGraph(stream, comm,
                [](void *holder) { --static_cast<ncclComm *>(holder)->held; });
  } else {
    ++comm->plain;
  }
  comm->queue.push_back({comm, std::move(operation), number, isCaptured});
  return progress(comm, [comm, stream] {
    launch(stream, beginQueued, endQueued, &comm->queue.back());
  });
}

static ncclResult_t start(ncclComm_t comm, Operation operation,
                          cudaStream_t stream) {
  if (const ncclResult_t result = checkCall(comm); result != ncclSuccess)
    return result;
  if (groupDepth != 0)
    complain("a collective stands in a group");
  if (!isPlaced(operation, comm->rank, comm->size)) {
    complain("source and destination overlap");
    return ncclInvalidArgument;
  }
  return submit(comm, std::make_shared<Operation>(std::move(operation)),
                stream);
}

static ncclResult_t transfer(ncclComm_t comm, const Transfer &one,
                             cudaStream_t stream) {
  if (const ncclResult_t result = checkCall(comm); result != ncclSuccess)
    return result;
  if (groupDepth == 0) {
    complain("send and receive stand outside of a group");
    return ncclInvalidUsage;
  }
  if (grouped && (groupedComm != comm || groupedStream != stream)) {
    complain("a group has several communicators or streams");
    return ncclInvalidUsage;
  }
  if (!grouped) {
    grouped = std::make_shared<Operation>();
    grouped->kind = Kind::Exchange;
  }
  groupedComm = comm;
  groupedStream = stream;
  grouped->transfers.push_back(one);
  constexpr size_t most = 256;
  if (grouped->transfers.size() == most + 1)
    complain("a group has more operations than NCCL plans at once");
  return ncclSuccess;
}

/// What a communicator's thread does until it is ready, or `stop`.
static ncclResult_t openMeeting(ncclComm_t comm,
                                const std::atomic<bool> &stop) {
  // A moment in which the call is in progress.
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const bool hangs = Fault::fromEnvironment().is("init-hang", comm->worldRank);
  while (hangs && !stop.load())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  comm->meeting.reset(Meeting::open(comm->name, comm->rank, comm->size));
  const bool isReady =
      !stop.load() && comm->meeting && comm->meeting->meet(stop);
  const ncclResult_t result = isReady ? ncclSuccess : ncclSystemError;
  comm->state.store(result);
  return result;
}

extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  *version = Fault::fromEnvironment().is("version", rankOfProcess())
                 ? 22703
                 : NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclUnhandledCudaError:
    return "unhandled cuda error";
  case ncclSystemError:
    return "unhandled system error";
  case ncclInternalError:
    return "internal error";
  case ncclInvalidArgument:
    return "invalid argument";
  case ncclInvalidUsage:
    return "invalid usage";
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  default:
    return "unknown result code";
  }
}

const char *ncclGetLastError(ncclComm_t) { return lastError.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static std::atomic<int> next{0};
  const char *folder = std::getenv("TMPDIR");
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "%s/weft-fake-nccl-%d-%d",
                folder ? folder : "/tmp", ::getpid(), next++);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *result, int size,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  if (config->blocking != 0)
    complain("a communicator may block");
  for (const char *name :
       {"NCCL_LAUNCH_ORDER_IMPLICIT", "NCCL_LAUNCH_RACE_FATAL"})
    if (const char *value = std::getenv(name);
        !value || std::strcmp(value, "1") != 0)
      complain("the order of launches is not that of the calls");
  if (groupDepth != 0)
    complain("communicators are made in a group");
  auto *comm = new ncclComm;
  comm->name = id.internal;
  comm->rank = comm->worldRank = rank;
  comm->size = size;
  comm->owner = std::this_thread::get_id();
  comm->operations = std::make_shared<std::atomic<int>>(0);
  comm->family = std::make_shared<Family>();
  comm->mostBlocks = mostBlocksOf(*config);
  comm->family->isShared = config->splitShare == 1;
  *result = comm;
  comm->starter = std::thread([comm] { openMeeting(comm, comm->stop); });
  return ncclInProgress;
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key,
                           ncclComm_t *result, ncclConfig_t *config) {
  if (const ncclResult_t answer = checkCall(parent); answer != ncclSuccess)
    return answer;
  if (config->blocking != 0)
    complain("a communicator may block");
  *result = nullptr;
  const int split = parent->splits++;
  parent->state.store(ncclInProgress);
  if (parent->starter.joinable())
    parent->starter.join();
  const std::thread::id owner = std::this_thread::get_id();
  const int mostBlocks = mostBlocksOf(*config);
  parent->starter = std::thread([=] {
    Announcement &mine = parent->meeting->announcement(parent->rank);
    mine.count = static_cast<uint64_t>(color);
    mine.type = static_cast<uint64_t>(key);
    if (!parent->meeting->meet(parent->stop))
      return parent->state.store(ncclSystemError);
    std::vector<std::pair<int, int>> members;
    for (int r = 0; r < parent->size; ++r)
      if (const Announcement &other = parent->meeting->announcement(r);
          static_cast<int>(other.count) == color)
        members.emplace_back(static_cast<int>(other.type), r);
    if (!parent->meeting->meet(parent->stop))
      return parent->state.store(ncclSystemError);
    if (color == NCCL_SPLIT_NOCOLOR)
      return parent->state.store(ncclSuccess);
    std::sort(members.begin(), members.end());
    auto *child = new ncclComm;
    child->name = fmt::format("{}-{}-{}", parent->name, split, color);
    child->rank = static_cast<int>(std::find(members.begin(), members.end(),
                                             std::pair(key, parent->rank)) -
                                   members.begin());
    child->size = static_cast<int>(members.size());
    child->worldRank = parent->worldRank;
    child->owner = owner;
    child->operations = parent->operations;
    child->family = parent->family;
    child->mostBlocks = mostBlocks;
    // Nobody has the child until it is ready.
    const ncclResult_t opened = openMeeting(child, parent->stop);
    *result = child;
    parent->state.store(opened);
  });
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
  if (!comm)
    return ncclInvalidArgument;
  if (comm->rest && --comm->polls == 0) {
    std::exchange(comm->rest, nullptr)();
    ncclResult_t expected = ncclInProgress;
    comm->state.compare_exchange_strong(expected, ncclSuccess);
  }
  *result = comm->state.load();
  // It has nothing left to do.
  if (*result != ncclInProgress && comm->starter.joinable())
    comm->starter.join();
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (const ncclResult_t result = checkCall(comm); result != ncclSuccess)
    return result;
  if (comm->held.load() != 0) {
    complain("a communicator ends while a graph holds its operations");
    return ncclInvalidUsage;
  }
  return progress(comm, [comm] { comm->isFinalized.store(true); });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (const ncclResult_t result = checkCall(comm); result != ncclSuccess)
    return result;
  if (!comm->isFinalized.load())
    complain("a communicator is destroyed that was not finalized");
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm)
    return ncclInvalidArgument;
  if (comm->owner != std::this_thread::get_id())
    complain("a communicator is aborted by another thread than the one that "
             "made it");
  comm->stop.store(true);
  while (Fault::fromEnvironment().is("abort-hang", comm->worldRank))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (comm->starter.joinable())
    comm->starter.join();
  // Operations on streams may still look at it.
  return ncclSuccess;
}

ncclResult_t ncclMemAlloc(void **memory, size_t bytes) {
  if (Fault::fromEnvironment().is("no-memory", rankOfProcess()))
    return ncclUnhandledCudaError;
  if (!allocate(memory, bytes))
    return ncclUnhandledCudaError;
  ownMemory[*memory] = bytes;
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void *memory) {
  if (ownMemory.erase(memory) == 0)
    return ncclInvalidArgument;
  release(memory);
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t bytes,
                              void **handle) {
  if (const ncclResult_t result = checkRegistration(comm, buffer, bytes);
      result != ncclSuccess)
    return result;
  *handle = buffer;
  return ncclSuccess;
}

/// All ranks register a window of one size, and nobody knows it before.
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t bytes,
                                    ncclWindow_t *window, int flags) {
  if (const ncclResult_t result = checkRegistration(comm, buffer, bytes);
      result != ncclSuccess)
    return result;
  if (flags != NCCL_WIN_COLL_SYMMETRIC)
    complain("a window is not symmetric");
  comm->state.store(ncclInProgress);
  if (comm->starter.joinable())
    comm->starter.join();
  comm->starter = std::thread([=] {
    comm->meeting->announcement(comm->rank).count = bytes;
    bool isEqual = comm->meeting->meet(comm->stop);
    for (int r = 0; isEqual && r < comm->size; ++r)
      isEqual = comm->meeting->announcement(r).count == bytes;
    const bool isDone = comm->meeting->meet(comm->stop) && isEqual;
    *window = reinterpret_cast<ncclWindow_t>(buffer);
    comm->state.store(isDone ? ncclSuccess : ncclInvalidUsage);
  });
  return ncclInProgress;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  if (const ncclResult_t result = checkCall(comm); result != ncclSuccess)
    return result;
  return window ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle) {
  return comm && handle ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclAllReduce(const void *source, void *destination, size_t count,
                           ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t comm, cudaStream_t stream) {
  return start(
      comm,
      {Kind::AllReduce, source, destination, count, type, reduction, 0, {}},
      stream);
}

ncclResult_t ncclAllGather(const void *source, void *destination, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return start(
      comm, {Kind::AllGather, source, destination, count, type, ncclSum, 0, {}},
      stream);
}

ncclResult_t ncclReduceScatter(const void *source, void *destination,
                               size_t count, ncclDataType_t type,
                               ncclRedOp_t reduction, ncclComm_t comm,
                               cudaStream_t stream) {
  return start(
      comm,
      {Kind::ReduceScatter, source, destination, count, type, reduction, 0, {}},
      stream);
}

ncclResult_t ncclBroadcast(const void *source, void *destination, size_t count,
                           ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return start(
      comm,
      {Kind::Broadcast, source, destination, count, type, ncclSum, root, {}},
      stream);
}

ncclResult_t ncclSend(const void *buffer, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  return transfer(
      comm, {true, const_cast<void *>(buffer), count * bytesOf(type), peer},
      stream);
}

ncclResult_t ncclRecv(void *buffer, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return transfer(comm, {false, buffer, count * bytesOf(type), peer}, stream);
}

ncclResult_t ncclGroupStart() {
  ++groupDepth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (groupDepth == 0)
    return ncclInvalidUsage;
  if (--groupDepth != 0 || !grouped)
    return ncclSuccess;
  std::ranges::stable_sort(grouped->transfers, {}, &Transfer::peer);
  const ncclResult_t result =
      submit(groupedComm, std::exchange(grouped, nullptr), groupedStream);
  if (result != ncclInProgress) // its communicators are lost
    groupedComm->state.store(result);
  return result;
}

} // extern "C"
