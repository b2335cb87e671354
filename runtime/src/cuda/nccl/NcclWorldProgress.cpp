//===- NcclWorldProgress.cpp - What the watchdog asks -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/nccl/NcclWorld.h"

#include "comm/Call.h"
#include "cuda/nccl/NcclStatusPort.h"
#include "plan/Text.h"
#include "plan/TimelineOrder.h"
#include "weft/runtime/VisitOperation.h"

#include <algorithm>

namespace weft::runtime {

static const plan::Instruction &instructionAt(const Plan &plan, uint32_t entry,
                                              uint32_t instruction) {
  return *plan.contents().entries()->Get(entry)->instructions()->Get(
      instruction);
}

static bool isMessage(Communication which) { return which.queue >= maxQueues; }

uint32_t NcclWorld::positionOf(uint32_t entry, Communication which,
                               int ofRank) const {
  const RoleWork &of = work(entry, ofRank);
  if (isMessage(which))
    return of.messages[which.queue - maxQueues][which.number];
  return timelineOf(entry) ? of.collectives[which.number].action : which.number;
}

std::string NcclWorld::nameOf(uint32_t entry, Communication which,
                              int ofRank) const {
  std::string name;
  if (const plan::Timeline *timeline = timelineOf(entry)) {
    const uint32_t role = roles.of(ofRank);
    const plan::TimelineRow &row = *timeline->rows()->Get(role);
    const uint32_t position = positionOf(entry, which, ofRank);
    name = actionText(row, role, position) + ", ";
    if (isMessage(which)) {
      const plan::Action &action = *row.actions()->Get(position);
      return fmt::format("{}{} of {}", name,
                         action.kind() == plan::ActionKind::Send ? "send"
                                                                 : "receive",
                         stepText(plan.contents(), entry, action.index()));
    }
  }
  const std::vector<Executed> &all = work(entry, ofRank).collectives;
  const Executed at = all[which.number];
  name += stepText(plan.contents(), at.entry, at.instruction);
  const auto here = all.begin() + which.number;
  const auto before = std::count(all.begin(), here, at);
  const auto after = std::count(here, all.end(), at);
  if (before + after > 1)
    name += fmt::format(" (iteration {} of {})", before + 1, before + after);
  return name;
}

/// That of a message is its label.
std::string NcclWorld::causeOf(uint32_t entry, Communication which,
                               int ofRank) const {
  if (isMessage(which))
    return "";
  const Executed executed = work(entry, ofRank).collectives[which.number];
  const plan::Instruction &at =
      instructionAt(plan, executed.entry, executed.instruction);
  std::string text = escaped(shortCause(view(at.cause())));
  if (const auto location = view(at.location()); !location.empty())
    text += (text.empty() ? "" : ", ") + escaped(location);
  return text;
}

bool NcclWorld::isHeldUp(uint32_t entry, Communication later,
                         Communication earlier, int ofRank) const {
  const uint32_t held = positionOf(entry, later, ofRank),
                 holder = positionOf(entry, earlier, ofRank);
  if (!isMessage(earlier) || earlier.queue == later.queue)
    return holder < held;
  for (const TimelineStep &step :
       timelineSteps(plan.contents(), *timelineOf(entry), roles.of(ofRank))) {
    const bool isWait = step.kind == TimelineStep::Kind::Wait;
    if (step.action == (isWait ? holder : held))
      return isWait;
  }
  return false;
}

/// N25: asked once on each host, beside the runtime's own paths.
std::string NcclWorld::libraryReport() const {
  if (bootstrap.launch().localRank != 0)
    return "";
  return "what NCCL says of itself, which may call a stuck operation "
         "healthy:\n" +
         readNcclStatus(ncclStatusAddress(), std::chrono::seconds(3));
}

std::vector<int> NcclWorld::partners(uint32_t entry, Communication which,
                                     int ofRank) const {
  using Ranks = std::vector<int>;
  if (isMessage(which)) {
    for (const auto &[sender, receiver] : queuePairs[which.queue - maxQueues])
      if (ofRank == sender || ofRank == receiver)
        return {sender, receiver};
    return {};
  }
  const Executed at = work(entry, ofRank).collectives[which.number];
  return visitOperation(
      instructionAt(plan, at.entry, at.instruction),
      [&](const plan::CollectiveStart &start) {
        for (const Ranks &members : groups[start.group()])
          if (std::find(members.begin(), members.end(), ofRank) !=
              members.end())
            return members;
        return Ranks();
      },
      [](const OneOf<plan::CollectiveWait, plan::Repeat> auto &) {
        return Ranks();
      },
      [](const Computation auto &) { return Ranks(); });
}

} // namespace weft::runtime
