//===- Program.cpp - An entry bound to the memory of a rank -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/Program.h"

#include "cpu/Attention.h"
#include "cpu/Convolution.h"
#include "cpu/Gemm.h"
#include "cpu/GroupedGemm.h"
#include "cpu/Sort.h"
#include "executor/EntryMemory.h"
#include "plan/Text.h"
#include "weft/runtime/VisitOperation.h"

#include <algorithm>
#include <optional>
#include <set>

namespace weft::runtime {
namespace {

/// Turns instructions into steps.
class Binder {
public:
  Binder(uint32_t number, const BindingContext &context, uint32_t microbatch,
         CollectiveFlight flight)
      : number(number), entry(*context.plan.entries()->Get(number)),
        context(context), memory(entry, context.arena, microbatch),
        flight(flight), runsInLoops(haveThreads()) {
    program.entry = &entry;
    program.firstNumber = flight.firstNumber;
  }

  Result<Program> bind();

private:
  Status bind(const plan::Gemm &gemm);
  Status bind(const plan::Launch &launch);
  Status bind(const plan::CollectiveStart &start);
  Status bind(const plan::CollectiveWait &wait);
  Status bind(const plan::Copy &copy);
  Status bind(const plan::Sort &sort);
  Status bind(const plan::Convolution &convolution);
  Status bind(const plan::Repeat &repeat) {
    program.order.open(repeat.count(), current + 1 + repeat.instructions());
    return {};
  }
  Status bind(const plan::Attention &attention);
  Status bind(const plan::AttentionGrad &grad);
  int64_t partsOf(const plan::Launch &launch) const;
  uint32_t waitOf(const plan::CollectiveStart &start) const;
  bool isNotWorthAThread(const plan::CollectiveStart &start) const;
  bool haveThreads() const;
  std::optional<uint32_t> anchorOf(const plan::CollectiveStart &start) const;
  void bindInputs();

  void add(std::unique_ptr<BoundOperation> operation) {
    program.operations.push_back(std::move(operation));
    add(BoundStep{program.operations.back().get()});
  }
  /// With an anchor, behind the last execution of that step.
  void add(decltype(Step::operation) operation,
           std::optional<uint32_t> anchor = std::nullopt) {
    const auto step = static_cast<uint32_t>(program.steps.size());
    if (anchor)
      program.order.addBehind(*anchor, step);
    else
      program.order.add(step);
    program.steps.push_back({operation, number, current});
  }

  const uint32_t number;
  const plan::Entry &entry;
  const BindingContext &context;
  const EntryMemory memory;
  const CollectiveFlight flight;
  Program program;
  uint32_t current = 0;
  uint32_t inFlight = 0;
  /// Whether collectives that may begin in a loop do.
  const bool runsInLoops;
  /// Instructions that wait for what the rank has carried itself.
  std::set<uint32_t> doneWaits;
};

} // namespace

Status Binder::bind(const plan::Gemm &gemm) {
  if (gemm.group_sizes()) {
    const uint32_t sizes = *gemm.group_sizes();
    const auto elements =
        static_cast<int64_t>(memory.usedBytes(sizes) / sizeof(int32_t));
    add(bindGroupedGemm(
        {memory.problem(gemm), gemm.grouped() == plan::GemmGroups::Rows,
         elements / gemm.batch()},
        {memory.address(gemm.lhs()), memory.address(gemm.rhs()),
         memory.address(gemm.out())},
        reinterpret_cast<const int32_t *>(memory.address(sizes)),
        context.team));
    return {};
  }
  WEFT_ASSIGN_OR_RETURN(
      std::unique_ptr<BoundGemm> bound,
      bindGemm(memory.problem(gemm),
               {memory.address(gemm.lhs()), memory.address(gemm.rhs()),
                memory.address(gemm.out())},
               context.team));
  add(std::move(bound));
  return {};
}

Status Binder::bind(const plan::Attention &attention) {
  add(bindAttention(memory.arguments(attention), context.team));
  return {};
}

Status Binder::bind(const plan::AttentionGrad &grad) {
  add(bindAttentionGrad(memory.arguments(grad), context.team));
  return {};
}

/// Some parts for each thread, so that one that is held up has less to do, but
/// none that takes less time than waking a thread.
int64_t Binder::partsOf(const plan::Launch &launch) const {
  const int threads = context.team.size();
  if (threads == 1)
    return 1;
  constexpr int64_t partsOfThread = 4, smallestPart = 128 * 1024;
  const plan::Kernel &kernel = *context.plan.kernels()->Get(launch.kernel());
  int64_t bytes = 0;
  for (uint32_t index : *launch.buffers())
    bytes += static_cast<int64_t>(memory.usedBytes(index));
  return std::clamp<int64_t>(
      bytes / smallestPart, 1,
      std::min<int64_t>(kernel.max_parts(), partsOfThread * threads));
}

Status Binder::bind(const plan::Launch &launch) {
  std::vector<void *> &buffers = program.kernelBuffers.emplace_back();
  for (uint32_t index : *launch.buffers())
    buffers.push_back(memory.address(index));
  std::vector<int64_t> &positions = program.kernelPositions.emplace_back();
  if (launch.positions())
    for (const plan::AxisList *axes : *launch.positions())
      positions.push_back(context.mesh.position(context.rank, axesOf(axes)));
  add(LaunchStep{context.kernels.kernel(launch.kernel()), buffers.data(),
                 launch.access()->size(), launch.batch(), positions.data(),
                 partsOf(launch)});
  return {};
}

/// The instruction that waits for a collective that the current one starts.
uint32_t Binder::waitOf(const plan::CollectiveStart &start) const {
  for (uint32_t index = current + 1;; ++index) {
    const auto *wait =
        entry.instructions()->Get(index)->operation_as_CollectiveWait();
    if (wait && wait->id() == start.id())
      return index;
  }
}

/// Whether it takes less time to move so much than to hand it to another
/// thread and be told that it is done.
bool Binder::isNotWorthAThread(const plan::CollectiveStart &start) const {
  constexpr size_t limit = 64 * 1024;
  return memory.usedBytes(start.source()) +
             memory.usedBytes(start.destination()) <=
         limit;
}

/// Whether any of the collectives that may begin beside the last iteration of a
/// loop is worth a thread. Then none of them is one of the thread of the rank:
/// those of a group would meet others.
bool Binder::haveThreads() const {
  return std::ranges::any_of(
      *entry.instructions(), [&](const plan::Instruction *instruction) {
        const auto *start = instruction->operation_as_CollectiveStart();
        return start && start->behind() &&
               (flight.isShared || !isNotWorthAThread(*start));
      });
}

/// The step behind which a collective begins in a loop, as it may; none where a
/// collective of the same iteration would wait for it, in the one queue that
/// there is.
std::optional<uint32_t>
Binder::anchorOf(const plan::CollectiveStart &start) const {
  if (!start.behind() || !runsInLoops)
    return std::nullopt;
  for (uint32_t index = *start.behind(); index < current; ++index) {
    const auto *other =
        entry.instructions()->Get(index)->operation_as_CollectiveStart();
    if (other && !other->behind())
      return std::nullopt;
  }
  return lastStepOf(program.steps, *start.behind());
}

Status Binder::bind(const plan::CollectiveStart &start) {
  const plan::Instruction &instruction = *entry.instructions()->Get(current);
  program.collectives.emplace_back(
      start, context.mesh,
      *context.world.communicator(context.rank, start.group()),
      memory.address(start.source()), memory.address(start.destination()),
      memory.dtype(start.source()),
      CallContext{.planStep = current,
                  .cause = view(instruction.cause()),
                  .timeout = context.deadline});
  const BoundCollective *collective = &program.collectives.back();
  // One in flight may be of the same group, which has one thread at a time.
  const uint32_t wait = waitOf(start);
  const bool mayBeInLoop = start.behind() && runsInLoops;
  if (inFlight == 0 && !mayBeInLoop && !flight.isShared &&
      (wait == current + 1 || isNotWorthAThread(start))) {
    add(CollectiveStep{collective, wait});
    doneWaits.insert(wait);
    return {};
  }
  ++inFlight;
  program.isAsynchronous = true;
  add(StartStep{collective, flight.firstNumber + start.id()}, anchorOf(start));
  return {};
}

Status Binder::bind(const plan::CollectiveWait &wait) {
  if (doneWaits.contains(current))
    return {};
  --inFlight;
  add(WaitStep{flight.firstNumber + wait.id()});
  return {};
}

Status Binder::bind(const plan::Copy &copy) {
  add(CopyStep{memory.address(copy.destination()),
               memory.address(copy.source()), memory.usedBytes(copy.source())});
  return {};
}

Status Binder::bind(const plan::Sort &sort) {
  add(bindSort({memory.dtype(sort.operand()), sort.outer(), sort.size(),
                sort.inner(), sort.count(), sort.descending()},
               memory.address(sort.operand()),
               reinterpret_cast<int32_t *>(memory.address(sort.out())),
               context.team));
  return {};
}

Status Binder::bind(const plan::Convolution &convolution) {
  const auto at = [&](uint32_t index) {
    return reinterpret_cast<float *>(memory.address(index));
  };
  add(bindConvolution(
      memory.problem(convolution),
      {at(convolution.lhs()), at(convolution.rhs()), at(convolution.out())},
      context.team));
  return {};
}

void Binder::bindInputs() {
  for (const plan::Binding *input : *entry.inputs())
    if (memory.buffer(input->buffer()).kind() == plan::BufferKind::Input)
      program.inputs.push_back(
          {std::vector<std::byte>(memory.usedBytes(input->buffer())),
           memory.address(input->buffer())});
}

Result<Program> Binder::bind() {
  bindInputs();
  for (current = 0; current < entry.instructions()->size(); ++current) {
    program.order.close(current);
    const plan::Instruction &instruction = *entry.instructions()->Get(current);
    Status status = visitOperation(
        instruction, [&](const auto &operation) { return bind(operation); });
    if (!status.ok())
      return status.withContext(stepName(current, instruction));
  }
  program.order.close(current);
  return std::move(program);
}

Result<Program> bindProgram(uint32_t entry, const BindingContext &context,
                            uint32_t microbatch, CollectiveFlight flight) {
  return Binder(entry, context, microbatch, flight).bind();
}

} // namespace weft::runtime
