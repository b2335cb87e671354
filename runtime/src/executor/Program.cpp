//===- Program.cpp - An entry bound to the memory of a rank -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/Program.h"

#include "cpu/Attention.h"
#include "cpu/Gemm.h"
#include "executor/EntryMemory.h"
#include "plan/Text.h"

#include <algorithm>

namespace weft::runtime {
namespace {

/// Turns instructions into steps.
class Binder {
public:
  Binder(const plan::Entry &entry, const BindingContext &context)
      : entry(entry), context(context), memory(entry, context.arena) {
    program.entry = &entry;
  }

  Result<Program> bind();

private:
  Status bindGemm(const plan::Gemm &gemm);
  void bindLaunch(const plan::Launch &launch);
  int64_t partsOf(const plan::Launch &launch) const;
  bool bindStart(const plan::CollectiveStart &start, uint32_t index);
  void bindCopy(const plan::Copy &copy);
  void bindInputs();

  void add(std::unique_ptr<BoundOperation> operation) {
    program.operations.push_back(std::move(operation));
    add(current, BoundStep{program.operations.back().get()});
  }
  void add(uint32_t index, decltype(Step::operation) operation) {
    program.steps.push_back({operation, index});
  }

  const plan::Entry &entry;
  const BindingContext &context;
  const EntryMemory memory;
  Program program;
  uint32_t current = 0;
  uint32_t inFlight = 0;
};

} // namespace

Status Binder::bindGemm(const plan::Gemm &gemm) {
  WEFT_ASSIGN_OR_RETURN(
      std::unique_ptr<BoundGemm> bound,
      runtime::bindGemm(memory.problem(gemm),
                        {memory.address(gemm.lhs()), memory.address(gemm.rhs()),
                         memory.address(gemm.out())},
                        context.team));
  add(std::move(bound));
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

void Binder::bindLaunch(const plan::Launch &launch) {
  std::vector<void *> &buffers = program.kernelBuffers.emplace_back();
  for (uint32_t index : *launch.buffers())
    buffers.push_back(memory.address(index));
  std::vector<int64_t> &positions = program.kernelPositions.emplace_back();
  if (launch.positions())
    for (const plan::AxisList *axes : *launch.positions())
      positions.push_back(context.mesh.position(context.rank, axesOf(axes)));
  add(current, LaunchStep{context.kernels.kernel(launch.kernel()),
                          buffers.data(), launch.access()->size(),
                          launch.batch(), positions.data(), partsOf(launch)});
}

/// Returns whether the collective's wait is done with it.
bool Binder::bindStart(const plan::CollectiveStart &start, uint32_t index) {
  const plan::Instruction &instruction = *entry.instructions()->Get(index);
  program.collectives.emplace_back(
      start, context.mesh,
      *context.world.communicator(context.rank, start.group()),
      memory.address(start.source()), memory.address(start.destination()),
      memory.dtype(start.source()),
      CallContext{.planStep = index,
                  .cause = view(instruction.cause()),
                  .timeout = context.deadline});
  const BoundCollective *collective = &program.collectives.back();
  const plan::CollectiveWait *next =
      index + 1 < entry.instructions()->size()
          ? entry.instructions()->Get(index + 1)->operation_as_CollectiveWait()
          : nullptr;
  if (inFlight == 0 && next && next->id() == start.id()) {
    add(index, CollectiveStep{collective});
    return true;
  }
  ++inFlight;
  program.isAsynchronous = true;
  add(index, StartStep{collective, start.id()});
  return false;
}

void Binder::bindCopy(const plan::Copy &copy) {
  add(current,
      CopyStep{memory.address(copy.destination()),
               memory.address(copy.source()), memory.usedBytes(copy.source())});
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
    const plan::Instruction &instruction = *entry.instructions()->Get(current);
    if (const auto *gemm = instruction.operation_as_Gemm()) {
      if (Status status = bindGemm(*gemm); !status.ok())
        return status.withContext(stepName(current, instruction));
    } else if (const auto *attention = instruction.operation_as_Attention()) {
      add(runtime::bindAttention(memory.arguments(*attention), context.team));
    } else if (const auto *grad = instruction.operation_as_AttentionGrad()) {
      add(runtime::bindAttentionGrad(memory.arguments(*grad), context.team));
    } else if (const auto *launch = instruction.operation_as_Launch()) {
      bindLaunch(*launch);
    } else if (const auto *start = instruction.operation_as_CollectiveStart()) {
      if (bindStart(*start, current))
        ++current; // its wait
    } else if (const auto *wait = instruction.operation_as_CollectiveWait()) {
      --inFlight;
      add(current, WaitStep{wait->id()});
    } else if (const auto *copy = instruction.operation_as_Copy()) {
      bindCopy(*copy);
    }
  }
  return std::move(program);
}

Result<Program> bindProgram(const plan::Entry &entry,
                            const BindingContext &context) {
  return Binder(entry, context).bind();
}

} // namespace weft::runtime
