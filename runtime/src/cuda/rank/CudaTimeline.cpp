//===- CudaTimeline.cpp - What a rank on a GPU does in a timeline ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/CudaProgram.h"
#include "executor/EntryMemory.h"

#include <algorithm>

namespace weft::runtime {

size_t CudaProgram::workspaceBytes() const {
  size_t bytes = 0;
  for (const auto &operation : operations)
    bytes = std::max(bytes, operation->workspaceBytes());
  for (const CudaProgram &segment : segments)
    bytes = std::max(bytes, segment.workspaceBytes());
  return bytes;
}

size_t CudaProgram::stagingBytes(size_t queue) const {
  size_t bytes = 0;
  for (const BoundDeviceCollective &bound : collectives)
    if (bound.collective.queue == queue)
      bytes = std::max<size_t>(
          bytes, bound.communicator->stagingBytes(bound.collective));
  for (const CudaProgram &segment : segments)
    bytes = std::max(bytes, segment.stagingBytes(queue));
  return bytes;
}

void CudaProgram::bindWorkspaces(void *workspace,
                                 const std::vector<DeviceMemory> &staging) {
  for (const auto &operation : operations)
    operation->bindWorkspace(workspace);
  for (BoundDeviceCollective &bound : collectives)
    bound.collective.staging = staging[bound.collective.queue].get();
  for (CudaProgram &segment : segments)
    segment.bindWorkspaces(workspace, staging);
}

Status CudaProgram::enqueueOperations(cudaStream_t stream) const {
  for (const auto &operation : operations)
    WEFT_RETURN_IF_ERROR(operation->enqueue(stream));
  for (const CudaProgram &segment : segments)
    WEFT_RETURN_IF_ERROR(segment.enqueueOperations(stream));
  return {};
}

/// One for each input that is no state, as the session counts them; without
/// memory where the role does not have it.
static Status bindInputs(CudaProgram &program, const CudaBinding &binding,
                         uint32_t role) {
  const EntryMemory memory(*program.entry, binding.arena);
  for (const plan::Binding *input : *program.entry->inputs()) {
    if (memory.buffer(input->buffer()).kind() != plan::BufferKind::Input)
      continue;
    PinnedInput &pinned = program.inputs.emplace_back();
    const auto buffer = bufferOf(*program.entry, *input, role);
    if (!buffer)
      continue;
    pinned.bytes = memory.usedBytes(*buffer);
    pinned.destination = memory.address(*buffer);
    WEFT_ASSIGN_OR_RETURN(pinned.staging,
                          allocatePinned(binding.context.cudart, pinned.bytes));
  }
  return {};
}

/// The transfer of an action, which is bound where it starts.
static Status bindTransfer(CudaProgram &program, const CudaBinding &binding,
                           uint32_t role, uint32_t index) {
  const plan::Timeline &timeline = *program.entry->timeline();
  DeviceTransfer &transfer = program.transfers[index];
  static_cast<Transfer &>(transfer) = transferOf(
      binding.plan, timeline, role, index, binding.arena, binding.deadline);
  const Cudart &cudart = binding.context.cudart;
  WEFT_ASSIGN_OR_RETURN(transfer.started, createEvent(cudart));
  WEFT_ASSIGN_OR_RETURN(transfer.done, createEvent(cudart));
  return {};
}

Result<CudaProgram> bindCudaTimeline(uint32_t entry,
                                     const CudaBinding &binding) {
  CudaProgram program;
  program.entry = binding.plan.entries()->Get(entry);
  const plan::Timeline &timeline = *program.entry->timeline();
  const uint32_t role = binding.roles.of(binding.rank);
  WEFT_RETURN_IF_ERROR(bindInputs(program, binding, role));
  const auto addTransfer = [&](const TimelineStep &step,
                               const plan::Action &action) -> Status {
    const plan::Message &message = *timeline.messages()->Get(action.index());
    DeviceChannel *channel = binding.world.channel(
        binding.rank, binding.queues.of(entry, message.queue()));
    const bool isStart = step.kind == TimelineStep::Kind::Start;
    if (isStart)
      WEFT_RETURN_IF_ERROR(bindTransfer(program, binding, role, step.action));
    DeviceTransfer *transfer = &program.transfers.at(step.action);
    program.order.add(static_cast<uint32_t>(program.steps.size()));
    CudaStep &made = program.steps.emplace_back();
    if (isStart)
      made.operation = DeviceTransferStep{channel, transfer};
    else
      made.operation = DeviceTransferWaitStep{channel, transfer};
    made.entry = entry;
    made.instruction = action.index();
    made.label = fmt::format("{}{} of {}", isStart ? "" : "wait for ",
                             view(message.label()), action.microbatch());
    return {};
  };
  WEFT_RETURN_IF_ERROR(bindSteps(
      program, binding.plan, timeline, role,
      [&](uint32_t segment, uint32_t microbatch) {
        return bindCudaProgram(segment, binding, microbatch);
      },
      addTransfer));
  return program;
}

} // namespace weft::runtime
