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
      if (isOf(entry->role(), role) &&
          buffer->kind() == plan::BufferKind::Constant && buffer->bytes() != 0)
        std::memcpy(memory.data() + buffer->offset(),
                    plan.constant_data()->data() + buffer->data_offset(),
                    buffer->bytes());
}

void CpuRank::fillCounts() {
  for (const plan::State *state : *request.plan.contents().states())
    if (state->counts() && isOf(state->role(), role))
      for (uint32_t slot = 0; slot < state->slots(); ++slot) {
        const auto count = static_cast<int32_t>(slot);
        std::memcpy(memory.data() + offsetOf(*state, slot), &count,
                    sizeof(count));
      }
}

Status CpuRank::bindScratchpad() {
  size_t bytes = 0;
  for (const Program &program : programs)
    program.forEachOperation([&](BoundOperation &operation) {
      bytes = std::max(bytes, operation.scratchpadBytes());
    });
  WEFT_ASSIGN_OR_RETURN(scratchpad, Arena::allocate(bytes));
  Status status;
  for (const Program &program : programs)
    program.forEachOperation([&](BoundOperation &operation) {
      if (status.ok())
        status = operation.bindScratchpad(scratchpad.data());
    });
  return status;
}

/// Segments have no programs of their own.
Status CpuRank::bindEntries() {
  const plan::Plan &plan = request.plan.contents();
  const BindingContext context{plan,          request.mesh,
                               setup.world,   setup.kernels,
                               *team,         number(),
                               setup.roles,   setup.queues,
                               memory.data(), request.options.deadline};
  for (uint32_t i = 0; i < plan.entries()->size(); ++i) {
    const plan::Entry &entry = *plan.entries()->Get(i);
    if (entry.role()) {
      programs.emplace_back();
      continue;
    }
    Result<Program> program =
        entry.timeline() ? bindTimeline(i, context) : bindProgram(i, context);
    if (!program.ok())
      return program.status().withContext(
          fmt::format("entry \"{}\"", escaped(view(entry.name()))));
    programs.push_back(*std::move(program));
  }
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
  WEFT_ASSIGN_OR_RETURN(memory, Arena::allocate(setup.roles.arenaBytes(role)));
  fillConstants();
  fillCounts();
  WEFT_RETURN_IF_ERROR(bindEntries());
  WEFT_RETURN_IF_ERROR(bindScratchpad());
  bool isAsynchronous = false;
  for (const Program &program : programs) {
    tickets.resize(std::max(tickets.size(), program.collectivesInFlight()));
    isAsynchronous |= program.isAsynchronous;
    if (program.row)
      transfers.resize(
          std::max<size_t>(transfers.size(), program.row->actions()->size()));
  }
  if (isAsynchronous)
    communication = std::make_unique<CommunicationQueue>(
        tickets.size(), SpinPolicy::forRanks(2 * setup.world.size()),
        tracks.communication, request.onFailure);
  return {};
}

/// What nothing hides: the communication itself, and ranks that come late.
template <typename Wait> Status CpuRank::timed(const Wait &wait) {
  const auto begin = std::chrono::steady_clock::now();
  Status status = wait();
  waited += std::chrono::steady_clock::now() - begin;
  return status;
}

Status CpuRank::execute(const Step &step) {
  return std::visit(
      Overloaded{[](const BoundStep &bound) { return bound.operation->run(); },
                 [&](const LaunchStep &launch) {
                   team->run(launch.parts,
                             [&](int64_t part, int) { launch.run(part); });
                   return Status();
                 },
                 [&](const CollectiveStep &step) {
                   return timed([&] { return step.collective->run(); });
                 },
                 [&](const StartStep &start) {
                   tickets[start.number] = communication->submit(
                       *start.collective, step.entry, action);
                   return Status();
                 },
                 [&](const WaitStep &wait) {
                   return timed([&] {
                     return communication->wait(tickets[wait.number]);
                   });
                 },
                 [](const CopyStep &copy) {
                   if (copy.bytes != 0)
                     std::memcpy(copy.destination, copy.source, copy.bytes);
                   return Status();
                 },
                 [&](const TransferStep &start) {
                   transfers[start.action] =
                       start.channel->start(*start.transfer);
                   return Status();
                 },
                 [&](const TransferWaitStep &wait) {
                   return timed([&] {
                     return wait.channel->wait(transfers[wait.action]);
                   });
                 }},
      step.operation);
}

/// A failed collective names its step and rank itself, and a transfer its
/// action as well.
Status CpuRank::located(Status status, const Program &program, const Step &step,
                        uint32_t at) const {
  const auto inAction = [&](const Status &failure) {
    return program.row ? failure.withContext(actionText(*program.row, role,
                                                        program.actionAt(at)))
                       : failure;
  };
  return std::visit(
      Overloaded{
          [&](const BoundStep &) {
            return inAction(status.withContext(fmt::format(
                "{} on rank {}",
                stepText(request.plan.contents(), step.entry, step.instruction),
                number())));
          },
          [&](const OneOf<LaunchStep, CollectiveStep, StartStep, WaitStep,
                          CopyStep, TransferStep> auto &) {
            return inAction(status);
          },
          [&](const TransferWaitStep &) { return status; }},
      step.operation);
}

/// While a timeline is recorded, before a step, or at the end: what the next
/// events belong to.
void CpuRank::enter(const Program &program, const Step *step, uint32_t at) {
  if (!program.row)
    return;
  const bool isOfSegment =
      step && request.plan.contents().entries()->Get(step->entry)->role();
  const uint32_t index = program.actionAt(at);
  std::optional<TraceAction> next;
  if (step) {
    const auto *wait = std::get_if<TransferWaitStep>(&step->operation);
    const plan::Action &of =
        *program.row->actions()->Get(wait ? wait->action : index);
    next = {role, of.microbatch(), false};
  }
  const auto now = std::chrono::steady_clock::now();
  // The rest of another segment may be executed for the same action.
  const bool isSame = segment && isOfSegment && index == segment->instruction &&
                      step->entry == segment->entry;
  if (segment && !isSame) {
    segment->end = now;
    tracks.compute.events.push_back(*segment);
    segment.reset();
  }
  action = next;
  if (!isOfSegment || isSame)
    return;
  segment = TraceEvent{.entry = step->entry,
                       .instruction = index,
                       .begin = now,
                       .end = now,
                       .action = next};
  segment->action->isWholeSegment = true;
}

/// A collective is shown in the track of communication, whichever thread
/// carries it; what the rank does meanwhile is its wait.
void CpuRank::record(const Step &step, Time begin) {
  TraceEvent event{.entry = step.entry,
                   .instruction = step.instruction,
                   .begin = begin,
                   .end = std::chrono::steady_clock::now(),
                   .action = action};
  std::vector<TraceEvent> &compute = tracks.compute.events;
  std::visit(Overloaded{[&](const CollectiveStep &own) {
                          tracks.communication.events.push_back(event);
                          event.instruction = own.wait;
                          compute.push_back(event);
                        },
                        [&](const OneOf<BoundStep, LaunchStep, WaitStep,
                                        CopyStep, TransferWaitStep> auto &) {
                          compute.push_back(event);
                        },
                        // Whoever carries it records it.
                        [](const OneOf<StartStep, TransferStep> auto &) {}},
             step.operation);
}

void CpuRank::recordFlight(const Step &step) {
  const auto add = [&](FlightEvent event) {
    recorder->record(event, runs, step.entry, step.instruction);
  };
  std::visit(
      Overloaded{
          [&](const OneOf<CollectiveStep, StartStep, TransferStep> auto &) {
            add(FlightEvent::Enqueued);
          },
          [&](const OneOf<WaitStep, TransferWaitStep> auto &) {
            add(FlightEvent::Waits);
          },
          [](const OneOf<BoundStep, LaunchStep, CopyStep> auto &) {}},
      step.operation);
}

template <bool isRecording> Status CpuRank::walk(uint32_t entry) {
  const Program &program = programs[entry];
  const std::vector<uint32_t> &order = program.order.steps();
  const auto end = static_cast<uint32_t>(order.size());
  for (uint32_t at = 0; at < end; ++at) {
    const Step &step = program.steps[order[at]];
    position.store(at, std::memory_order_relaxed);
    if (request.beforeStep)
      request.beforeStep();
    if (request.hasFailed.load(std::memory_order_relaxed))
      WEFT_RETURN_IF_ERROR(setup.world.status());
    if (recorder)
      recordFlight(step);
    Time begin;
    if constexpr (isRecording) {
      enter(program, &step, at);
      begin = std::chrono::steady_clock::now();
    }
    Status status = execute(step);
    if constexpr (isRecording)
      record(step, begin);
    if (!status.ok())
      return located(std::move(status), program, step, at);
  }
  if constexpr (isRecording)
    enter(program, nullptr, end);
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
  const auto begin = std::chrono::steady_clock::now();
  waited = {};
  ++runs;
  if (recorder)
    recorder->record(FlightEvent::RunBegins, runs, entry, 0);
  for (const StagedInput &input : programs[entry].inputs)
    if (!input.staging.empty())
      std::memcpy(input.destination, input.staging.data(),
                  input.staging.size());
  Status status =
      tracks.compute.recording ? walk<true>(entry) : walk<false>(entry);
  if (hasCarrier(entry))
    communication->close();
  spent = std::chrono::steady_clock::now() - begin;
  if (recorder && status.ok())
    recorder->record(FlightEvent::RunEnds, runs, entry, 0);
  return status;
}

std::string CpuRank::progress(uint32_t entry) const {
  const Program &program = programs[entry];
  const std::vector<uint32_t> &order = program.order.steps();
  const uint32_t at = position.load(std::memory_order_relaxed);
  if (at >= order.size())
    return "between two runs";
  const Step &step = program.steps[order[at]];
  const std::string text =
      stepText(request.plan.contents(), step.entry, step.instruction);
  if (!program.row)
    return "in " + text;
  return fmt::format(
      "in {}, {}", actionText(*program.row, role, program.actionAt(at)), text);
}

} // namespace weft::runtime
