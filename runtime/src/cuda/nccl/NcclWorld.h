//===- NcclWorld.h - One rank a process, by NCCL ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The world of a process that holds one rank of a job, on one GPU. `create`
// agrees with the other processes that all have one plan and one NCCL;
// `attach`, in the thread of the rank, creates the communicator of all ranks
// and splits it into those of the plan's groups, in the plan's order, one for
// each queue in which a group has collectives (CollectiveQueues.h), and into
// pairs for the queues of a pipeline; `detach` destroys them. A watchdog
// follows the rank from the one to the other.
//
// How the rules for NCCL are kept is listed in docs/Runtime.md.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLWORLD_H
#define WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLWORLD_H

#include "cuda/comm/DeviceWorld.h"
#include "cuda/nccl/NcclChannel.h"
#include "cuda/nccl/NcclCommunicator.h"
#include "cuda/nccl/NcclIssuer.h"
#include "plan/Roles.h"
#include "plan/TimelineOrder.h"
#include "watch/Watchdog.h"
#include "weft/runtime/Plan.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::runtime {

struct NcclWorldOptions {
  WatchdogOptions watchdog;
  /// The same bits in every run: one algorithm and protocol, no reduction in
  /// the switches (N20). Slower.
  bool deterministic = false;
  /// One queue for all collectives (N2).
  bool serializeCollectives = false;
  /// Registers the arena with the communicators (N18).
  bool registerArena = false;
  /// What decides which runs are captured, on all ranks alike (N11).
  bool cudaGraphs = true;
  int traceRuns = 0;
  /// Ends the process; the default prints the message and calls _exit(1).
  std::function<void(const std::string &)> abortProcess;
};

class NcclWorld final : public DeviceWorld, private WatchedRank {
public:
  /// `plan` and `bootstrap` outlive it. Sets variables that NCCL reads.
  static Result<std::unique_ptr<NcclWorld>>
  create(const Nccl &nccl, const Cudart &cudart, Bootstrap &bootstrap,
         const Plan &plan, NcclWorldOptions options);
  ~NcclWorld() override;

  int size() const override { return bootstrap.launch().world; }
  std::span<const int> localRanks() const override { return {&rank, 1}; }
  const CollectiveQueues &queues() const override { return queueTable; }
  DeviceCommunicator *communicator(int rank, size_t group,
                                   size_t queue) const override;
  DeviceChannel *channel(int rank, size_t queue) const override;
  Result<ArenaMemory> allocateArena(const Cudart &cudart,
                                    size_t bytes) override;
  Status attach(int rank, void *arena, size_t bytes) override;
  void detach(int rank) override;
  void beginRun(int rank, uint32_t entry) override;
  void endRun(int rank) override;
  Status barrier(int rank) override;
  Status gather(const void *source, void *destination, size_t bytes,
                cudaStream_t stream) override;
  bool allowsCapture() const override { return true; }
  bool isWatched() const override { return true; }
  void abort(const Status &reason) override;
  Status status() const override { return issuer.status(); }

private:
  /// The communicator of a group for one queue, and this rank's end of it.
  struct GroupQueue {
    size_t group = 0;
    size_t queue = 0;
    std::unique_ptr<NcclCommunicator> communicator;
    ncclComm_t handle = nullptr;
    /// Of the arena: one of the two, or none.
    void *registration = nullptr;
    ncclWindow_t window = nullptr;
  };

  /// This rank's end of a queue of the pipeline, if it has one.
  struct QueueEnd {
    std::unique_ptr<NcclChannel> channel;
    ncclComm_t handle = nullptr;
  };
  /// An instruction of an entry, or of a segment that an action runs.
  struct Executed {
    uint32_t entry;
    uint32_t instruction;
    uint32_t action = 0;
    friend bool operator==(const Executed &, const Executed &) = default;
  };

  /// What a role does in a call of an entry.
  struct RoleWork {
    /// The starts of collectives that it executes.
    std::vector<Executed> collectives;
    /// By queue of the pipeline, the actions that send or receive there.
    std::vector<std::vector<uint32_t>> messages;
  };
  RoleWork workOf(uint32_t role, uint32_t entry,
                  const PipelineQueues &queues) const;
  const RoleWork &work(uint32_t entry, int ofRank) const {
    return works[entry][roles.of(ofRank)];
  }
  const plan::Timeline *timelineOf(uint32_t entry) const {
    return plan.contents().entries()->Get(entry)->timeline();
  }
  NcclWorld(const Nccl &nccl, const Cudart &cudart, Bootstrap &bootstrap,
            const Plan &plan, NcclWorldOptions options);
  Status agreeOn();
  Status createWorld();
  Status limitBlocks();
  ncclConfig_t configOf(const char *name, int mostBlocks) const;
  Status split(ncclComm_t &handle, const char *name, int mostBlocks, int color,
               int key);
  Status splitGroup(GroupQueue &end);
  Status splitGroups();
  Status splitQueues(void *arena);
  Result<bool> agreesToRegister();
  Status registerArena(void *arena, size_t bytes);
  Status registerWith(GroupQueue &end, void *arena, size_t bytes);
  Status deregister(GroupQueue &end);
  Status destroyAll();
  void abortAll();

  // WatchedRank
  Status asyncError() override { return issuer.asyncError(); }
  Begun begunCommunications() const override { return issuer.lastMarks(); }
  std::string nameOf(uint32_t entry, Communication which,
                     int ofRank) const override;
  std::string causeOf(uint32_t entry, Communication which,
                      int ofRank) const override;
  std::vector<int> partners(uint32_t entry, Communication which,
                            int ofRank) const override;
  uint32_t positionOf(uint32_t entry, Communication which,
                      int ofRank) const override;
  bool isHeldUp(uint32_t entry, Communication later, Communication earlier,
                int ofRank) const override;
  std::string libraryReport() const override;
  void fail(const Status &failure) override { issuer.abort(failure); }
  void abortProcess(const std::string &message) override;

  Bootstrap &bootstrap;
  const Plan &plan;
  const NcclWorldOptions options;
  const int rank;
  const CollectiveQueues queueTable;
  const Mesh mesh;
  const Roles roles;
  NcclIssuer issuer;
  /// By entry and role.
  std::vector<std::vector<RoleWork>> works;
  /// All lists of ranks of each group.
  std::vector<GroupRanks> groups;
  /// In the order in which they are made: by group, then by queue.
  std::vector<GroupQueue> ends;
  /// By queue of the pipeline.
  std::vector<std::vector<std::pair<int, int>>> queuePairs;
  std::vector<QueueEnd> queueEnds;
  /// The most queues that a role has an end of.
  int mostQueues = 0;
  /// The most thread blocks of a collective, and of a message.
  int blocksOfGroups = NCCL_CONFIG_UNDEF_INT;
  int blocksOfQueues = NCCL_CONFIG_UNDEF_INT;
  ncclComm_t world = nullptr;
  bool isAttached = false;
  /// Why the arena cannot be registered; nothing if it can.
  std::string whyNotRegistered;
  /// Last, because it looks at all of the above.
  std::unique_ptr<Watchdog> watchdog;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLWORLD_H
