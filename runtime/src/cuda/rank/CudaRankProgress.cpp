//===- CudaRankProgress.cpp - What a rank is doing --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/CudaRank.h"

#include "comm/Call.h"
#include "plan/Text.h"
#include "weft/runtime/VisitOperation.h"

namespace weft::runtime {

std::string CudaRank::describeStep(const CudaProgram &program, size_t position,
                                   bool withCause) const {
  const plan::Plan &plan = setup.request.plan.contents();
  const CudaStep &step = program.steps[program.order.steps()[position]];
  std::string text = stepText(plan, step.entry, step.instruction);
  if (program.row)
    text = fmt::format(
        "{}, {}",
        actionText(*program.row, role,
                   program.actionAt(static_cast<uint32_t>(position))),
        text);
  const plan::Entry &entry = *plan.entries()->Get(step.entry);
  if (!withCause || entry.timeline())
    return text;
  const plan::Instruction &at = *entry.instructions()->Get(step.instruction);
  std::string cause = escaped(shortCause(view(at.cause())));
  if (const auto location = view(at.location()); !location.empty())
    cause += (cause.empty() ? "" : ", ") + escaped(location);
  return cause.empty() ? text : fmt::format("{} ({})", text, cause);
}

/// Where the device is in a run that was enqueued: between two marks.
std::string CudaRank::deviceProgress(const EntryRuns &each,
                                     bool withCauses) const {
  const CudaProgram &program = each.program;
  const std::string where =
      fmt::format("in {}entry \"{}\"", each.graph ? "the graph of " : "",
                  escaped(view(program.entry->name())));
  if (program.steps.empty())
    return where;
  const size_t last = program.order.steps().size() - 1;
  const size_t from = std::min(marks.last() * markInterval, last);
  const size_t to = std::min(from + markInterval - 1, last);
  if (from == to)
    return fmt::format("{} in {}", where,
                       describeStep(program, from, withCauses));
  return fmt::format("{} somewhere from {} to {}", where,
                     describeStep(program, from, withCauses),
                     describeStep(program, to, withCauses));
}

std::string CudaRank::progress(uint32_t entry) const {
  const EntryRuns &each = runs[entry];
  const HostState now = hostState.load();
  if (now == HostState::Between)
    return "between two runs";
  if (now == HostState::Waits)
    return "waiting for its device, which is " +
           deviceProgress(each, /*withCauses=*/false);
  const uint32_t at = position.load(std::memory_order_relaxed);
  if (at >= each.program.order.steps().size())
    return "between two runs";
  return "in " + describeStep(each.program, at, /*withCause=*/false);
}

/// A failed collective names its step and rank itself, and a transfer its
/// action as well.
Status CudaRank::located(Status status, const CudaProgram &program,
                         const CudaStep &step, size_t at) const {
  const auto inAction = [&](const Status &failure) {
    return program.row ? failure.withContext(actionText(
                             *program.row, role,
                             program.actionAt(static_cast<uint32_t>(at))))
                       : failure;
  };
  return std::visit(
      Overloaded{
          [&](const OneOf<DeviceTransferStep, DeviceTransferWaitStep> auto &) {
            return status;
          },
          [&](const DeviceStartStep &) { return inAction(status); },
          [&](const OneOf<OperationStep, GridStep, DeviceWaitStep,
                          DeviceCopyStep> auto &) {
            return inAction(status.withContext(
                fmt::format("{} on rank {}",
                            stepText(setup.request.plan.contents(), step.entry,
                                     step.instruction),
                            number())));
          }},
      step.operation);
}

} // namespace weft::runtime
