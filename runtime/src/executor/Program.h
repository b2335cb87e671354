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
#include "plan/Mesh.h"
#include "plan/StepOrder.h"
#include "weft/runtime/Communicator.h"
#include "weft/runtime/plan_generated.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
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
struct StartStep {
  const BoundCollective *collective;
  uint32_t id;
};
struct WaitStep {
  uint32_t id;
};
struct CopyStep {
  void *destination;
  const void *source;
  size_t bytes;
};

struct Step {
  std::variant<BoundStep, LaunchStep, CollectiveStep, StartStep, WaitStep,
               CopyStep>
      operation;
  /// Index of the instruction in the entry.
  uint32_t instruction;
};

/// Host memory that the rank copies into its arena before the first step.
struct StagedInput {
  std::vector<std::byte> staging;
  std::byte *destination;
};

/// One entry of one rank.
struct Program {
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
  std::deque<std::vector<void *>> kernelBuffers;
  std::deque<std::vector<int64_t>> kernelPositions;
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
  std::byte *arena;
  /// Longest wait of a collective for other ranks.
  std::chrono::nanoseconds deadline;
};

/// Binds an entry of a verified plan; call it in the thread of the rank. The
/// operations still need their scratchpad.
Result<Program> bindProgram(const plan::Entry &entry,
                            const BindingContext &context);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_PROGRAM_H
