//===- Program.h - An entry bound to the memory of a rank -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank walks in a step: a flat list of steps with addresses, bound
// GEMMs, kernels and collectives. Binding happens once, after loading; a
// step looks nothing up and allocates nothing (oneDNN builds a small table of
// its own in each GEMM).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_PROGRAM_H
#define WEFT_RUNTIME_SRC_EXECUTOR_PROGRAM_H

#include "cpu/BoundOperation.h"
#include "cpu/ThreadTeam.h"
#include "executor/Collective.h"
#include "executor/KernelLibrary.h"
#include "executor/TimelineParts.h"
#include "plan/Mesh.h"
#include "plan/Roles.h"
#include "plan/StepOrder.h"
#include "plan/TimelineOrder.h"
#include "weft/runtime/Communicator.h"
#include "weft/runtime/plan_generated.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

namespace weft::runtime {

/// A GEMM or attention, which the runtime computes itself.
struct BoundStep {
  BoundOperation *operation;
};
/// A kernel, for one set of buffers after the other.
struct LaunchStep {
  KernelFunction function;
  /// Of all sets; `setSize` are those of one.
  void *const *buffers;
  size_t setSize;
  uint32_t batch;
  const int64_t *positions;
  int64_t parts;

  void run(int64_t part) const {
    for (uint32_t set = 0; set < batch; ++set)
      function(buffers + set * setSize, positions, part, parts);
  }
};
/// A collective in the thread of the rank: nothing runs beside it, or it is not
/// worth another thread. `wait` is the instruction that waits for it.
struct CollectiveStep {
  const BoundCollective *collective;
  uint32_t wait;
};
/// A collective that is handed to the communication thread, and its wait.
/// `number` is that of the collective among those that may be in flight.
struct StartStep {
  const BoundCollective *collective;
  uint32_t number;
};
struct WaitStep {
  uint32_t number;
};
struct CopyStep {
  void *destination;
  const void *source;
  size_t bytes;
};

/// The start of a send or receive of a timeline, and its wait; `action` is the
/// one that starts it.
struct TransferStep {
  Channel *channel;
  const Transfer *transfer;
  uint32_t action;
};
struct TransferWaitStep {
  Channel *channel;
  uint32_t action;
};

struct Step {
  std::variant<BoundStep, LaunchStep, CollectiveStep, StartStep, WaitStep,
               CopyStep, TransferStep, TransferWaitStep>
      operation;
  /// The entry that it is of, which in a timeline is a segment, and the index
  /// of the instruction in it; of a transfer the entry with the timeline, and
  /// the message.
  uint32_t entry;
  uint32_t instruction;
};

/// Host memory that the rank copies into its arena before the first step.
struct StagedInput {
  std::vector<std::byte> staging;
  std::byte *destination;
};

/// One entry of one rank. That of an entry with a timeline has the steps of its
/// segments, each bound once for every set of slots that it works in.
struct Program : TimelineParts {
  Program() = default;
  Program(const Program &) = delete;
  Program(Program &&) = default;

  const plan::Entry *entry = nullptr;
  std::vector<Step> steps;
  /// As a call executes them, by number.
  StepOrder order;
  std::vector<StagedInput> inputs;
  /// Whether collectives are started that the rank does not carry itself.
  bool isAsynchronous = false;

  // What the steps point to.
  std::vector<std::unique_ptr<BoundOperation>> operations;
  std::deque<BoundCollective> collectives;
  /// Of its collectives; see CollectiveFlight.
  uint32_t firstNumber = 0;
  std::deque<std::vector<void *>> kernelBuffers;
  std::deque<std::vector<int64_t>> kernelPositions;

  // Of a timeline: the segments that the steps are of, and what it sends and
  // receives.
  std::vector<Program> segments;
  std::deque<Transfer> transfers;

  /// Collectives that may be in flight at once.
  size_t collectivesInFlight() const;
  /// `visit` of each operation.
  void
  forEachOperation(const std::function<void(BoundOperation &)> &visit) const;
};

/// What a program is bound to.
struct BindingContext {
  const plan::Plan &plan;
  const Mesh &mesh;
  const World &world;
  const KernelLibrary &kernels;
  /// What the rank computes with.
  ThreadTeam &team;
  int rank;
  const Roles &roles;
  const PipelineQueues &queues;
  std::byte *arena;
  /// Longest wait of a collective for other ranks.
  std::chrono::nanoseconds deadline;
};

/// What else of a timeline is in flight while a segment runs.
struct CollectiveFlight {
  /// Of its first collective: those of segments that go on beside others have
  /// numbers of their own.
  uint32_t firstNumber = 0;
  /// Whether the communication thread may have others, or keeps its own until
  /// later: then the rank carries none itself, as a group has one thread at a
  /// time.
  bool isShared = false;
};

/// Binds an entry of a verified plan, or a segment for a micro-batch; call it
/// in the thread of the rank. The operations still need their scratchpad.
Result<Program> bindProgram(uint32_t entry, const BindingContext &context,
                            uint32_t microbatch = 0,
                            CollectiveFlight flight = {});

/// The same for an entry with a timeline: what the role of the rank does.
Result<Program> bindTimeline(uint32_t entry, const BindingContext &context);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_PROGRAM_H
