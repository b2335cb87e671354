//===- CpuRank.cpp - A rank in host memory ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/CpuRank.h"

#include "cpu/Gemm.h"
#include "plan/Text.h"
#include "weft/runtime/VisitOperation.h"

#include <algorithm>
#include <cstring>
#include <system_error>

namespace weft::runtime {

void CpuRank::fillConstants() {
  const plan::Plan &plan = request.plan.contents();
  for (const plan::Entry *entry : *plan.entries())
    for (const plan::Buffer *buffer : *entry->buffers())
      if (buffer->kind() == plan::BufferKind::Constant && buffer->bytes() != 0)
        std::memcpy(memory.data() + buffer->offset(),
                    plan.constant_data()->data() + buffer->data_offset(),
                    buffer->bytes());
}

Status CpuRank::bindScratchpad() {
  size_t bytes = 0;
  for (const Program &program : programs)
    for (const auto &operation : program.operations)
      bytes = std::max(bytes, operation->scratchpadBytes());
  WEFT_ASSIGN_OR_RETURN(scratchpad, Arena::allocate(bytes));
  for (const Program &program : programs)
    for (const auto &operation : program.operations)
      WEFT_RETURN_IF_ERROR(operation->bindScratchpad(scratchpad.data()));
  return {};
}

Status CpuRank::initialize() {
  // Products by oneDNN are cut into parts for the threads when they are bound.
  const OneDnnThreads threads(request.options.threads);
  const SpinPolicy spin =
      SpinPolicy::forRanks(request.options.threads * setup.world.size());
  try {
    team = std::make_unique<ThreadTeam>(request.options.threads, spin);
  } catch (const std::system_error &error) {
    return resourceExhausted(
        fmt::format("cannot start {} threads of a rank: {}",
                    request.options.threads, error.what()));
  }
  const plan::Plan &plan = request.plan.contents();
  WEFT_ASSIGN_OR_RETURN(memory, Arena::allocate(plan.arena_bytes()));
  fillConstants();
  const BindingContext context{
      plan,  request.mesh, setup.world,   setup.kernels,
      *team, number(),     memory.data(), request.options.deadline};
  size_t collectives = 0;
  bool isAsynchronous = false;
  for (const plan::Entry *entry : *plan.entries()) {
    Result<Program> program = bindProgram(*entry, context);
    if (!program.ok())
      return program.status().withContext(
          fmt::format("entry \"{}\"", escaped(view(entry->name()))));
    collectives = std::max(collectives, program->collectives.size());
    isAsynchronous |= program->isAsynchronous;
    programs.push_back(*std::move(program));
  }
  WEFT_RETURN_IF_ERROR(bindScratchpad());
  tickets.resize(collectives);
  if (isAsynchronous)
    communication = std::make_unique<CommunicationQueue>(
        collectives, SpinPolicy::forRanks(2 * setup.world.size()),
        tracks.communication, request.onFailure);
  return {};
}

Status CpuRank::execute(const Step &step, uint32_t entry) {
  return std::visit(
      Overloaded{
          [](const BoundStep &bound) { return bound.operation->run(); },
          [&](const LaunchStep &launch) {
            team->run(launch.parts,
                      [&](int64_t part, int) { launch.run(part); });
            return Status();
          },
          [](const CollectiveStep &step) { return step.collective->run(); },
          [&](const StartStep &start) {
            tickets[start.id] = communication->submit(*start.collective, entry);
            return Status();
          },
          [&](const WaitStep &wait) {
            return communication->wait(tickets[wait.id]);
          },
          [](const CopyStep &copy) {
            if (copy.bytes != 0)
              std::memcpy(copy.destination, copy.source, copy.bytes);
            return Status();
          }},
      step.operation);
}

/// A failed collective names its step and rank itself.
static Status located(Status status, const Step &step, const plan::Entry &entry,
                      int rank) {
  if (!std::holds_alternative<BoundStep>(step.operation))
    return status;
  return status.withContext(fmt::format(
      "{} on rank {}",
      stepName(step.instruction, *entry.instructions()->Get(step.instruction)),
      rank));
}

/// A collective is shown in the track of communication, whichever thread
/// carries it; what the rank does meanwhile is its wait.
void CpuRank::record(const Step &step, uint32_t entry,
                     std::chrono::steady_clock::time_point begin) {
  if (std::holds_alternative<StartStep>(step.operation))
    return;
  const auto end = std::chrono::steady_clock::now();
  uint32_t index = step.instruction;
  if (const auto *own = std::get_if<CollectiveStep>(&step.operation)) {
    tracks.communication.events.push_back({entry, index, begin, end});
    index = own->wait;
  }
  tracks.compute.events.push_back({entry, index, begin, end});
}

template <bool isRecording> Status CpuRank::walk(uint32_t entry) {
  const Program &program = programs[entry];
  for (uint32_t at : program.order.steps()) {
    const Step &step = program.steps[at];
    instruction.store(step.instruction, std::memory_order_relaxed);
    if (request.beforeStep)
      request.beforeStep();
    if (request.hasFailed.load(std::memory_order_relaxed))
      WEFT_RETURN_IF_ERROR(setup.world.status());
    std::chrono::steady_clock::time_point begin;
    if constexpr (isRecording)
      begin = std::chrono::steady_clock::now();
    Status status = execute(step, entry);
    if constexpr (isRecording)
      record(step, entry, begin);
    if (!status.ok())
      return located(std::move(status), step, *program.entry, number());
  }
  return {};
}

Status CpuRank::write(uint64_t offset, size_t, const Fill &fill) {
  fill(memory.data() + offset);
  return {};
}

Result<const std::byte *> CpuRank::read(uint64_t offset, size_t,
                                        std::vector<std::byte> &) const {
  return memory.data() + offset;
}

Status CpuRank::run(uint32_t entry) {
  const OneDnnThreads threads(request.options.threads);
  for (const StagedInput &input : programs[entry].inputs)
    if (!input.staging.empty())
      std::memcpy(input.destination, input.staging.data(),
                  input.staging.size());
  Status status =
      tracks.compute.recording ? walk<true>(entry) : walk<false>(entry);
  if (hasCarrier(entry))
    communication->close();
  return status;
}

std::string CpuRank::progress(uint32_t entry) const {
  const uint32_t index = instruction.load(std::memory_order_relaxed);
  const plan::Entry &table = *request.plan.contents().entries()->Get(entry);
  return "in " + stepName(index, *table.instructions()->Get(index));
}

} // namespace weft::runtime
