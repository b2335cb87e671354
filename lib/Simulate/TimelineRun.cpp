//===- TimelineRun.cpp - The roles of a pipeline against each other -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/TimelineRun.h"

#include "weft/runtime/TimelineSteps.h"

#include <algorithm>

using namespace weft;
using namespace weft::simulate;
using runtime::TimelineStep;

namespace {

class Walk {
public:
  explicit Walk(const TimelineRequest &request);

  std::optional<TimelineRun> run();

private:
  /// Of one queue: the k-th send is the k-th receive.
  struct Transfer {
    uint32_t message = 0, microbatch = 0;
    std::optional<Picoseconds> sent, received;
    Picoseconds begin = 0, end = 0;
    /// Since when the queue has been busy without a break.
    Picoseconds busySince = 0;
    std::vector<uint32_t> waitingRoles;
    bool isDone = false;
  };
  struct Queue {
    std::vector<Transfer> transfers;
    size_t sends = 0, receives = 0, done = 0;
  };
  struct Role {
    std::vector<TimelineStep> steps;
    size_t next = 0;
    Picoseconds now = 0;
    /// By action: its number in its queue.
    std::vector<size_t> numbers;
  };

  const plan::Action &actionOf(uint32_t role, uint32_t action) const {
    return *request.timeline.rows()->Get(role)->actions()->Get(action);
  }
  const plan::Message &messageOf(const plan::Action &action) const {
    return *request.timeline.messages()->Get(action.index());
  }
  void advance(uint32_t role);
  void runSegment(uint32_t role, const plan::Action &action, bool isDeferred);
  void start(uint32_t role, uint32_t number, const plan::Action &action);
  bool wait(uint32_t role, uint32_t number, const plan::Action &action);
  void finish(Queue &queue);

  const TimelineRequest &request;
  std::vector<Queue> queues;
  std::vector<Role> roles;
  std::vector<uint32_t> runnable;
  TimelineRun result;
};

} // namespace

Walk::Walk(const TimelineRequest &request) : request(request) {
  for (const plan::Message *message : *request.timeline.messages())
    if (queues.size() <= message->queue())
      queues.resize(message->queue() + 1);
  const uint32_t count = request.timeline.rows()->size();
  result.roles.resize(count);
  for (uint32_t role = 0; role < count; ++role) {
    roles.push_back(
        {.steps = runtime::timelineSteps(request.plan, request.timeline, role),
         .numbers = {}});
    roles.back().numbers.resize(
        request.timeline.rows()->Get(role)->actions()->size());
  }
}

void Walk::runSegment(uint32_t role, const plan::Action &action,
                      bool isDeferred) {
  Role &state = roles[role];
  const Picoseconds begin = state.now;
  state.now += request.segmentTime({role, action.index(), isDeferred, begin});
  if (!isDeferred)
    result.roles[role].runs.push_back(
        {action.index(), action.microbatch(), begin, state.now});
}

void Walk::start(uint32_t role, uint32_t number, const plan::Action &action) {
  Queue &queue = queues[messageOf(action).queue()];
  const bool isSend = action.kind() == plan::ActionKind::Send;
  const size_t at = isSend ? queue.sends++ : queue.receives++;
  if (at >= queue.transfers.size())
    queue.transfers.resize(at + 1);
  roles[role].numbers[number] = at;
  Transfer &transfer = queue.transfers[at];
  transfer.message = action.index();
  transfer.microbatch = action.microbatch();
  (isSend ? transfer.sent : transfer.received) = roles[role].now;
  finish(queue);
}

/// What both sides have started.
void Walk::finish(Queue &queue) {
  for (; queue.done < queue.transfers.size(); ++queue.done) {
    Transfer &transfer = queue.transfers[queue.done];
    if (!transfer.sent || !transfer.received)
      return;
    transfer.begin = transfer.busySince =
        std::max(*transfer.sent, *transfer.received);
    if (queue.done > 0)
      if (const Transfer &before = queue.transfers[queue.done - 1];
          before.end >= transfer.begin) {
        transfer.begin = before.end;
        transfer.busySince = before.busySince;
      }
    const plan::Message &message =
        *request.timeline.messages()->Get(transfer.message);
    const Picoseconds time = request.messageTime(message);
    transfer.end = transfer.begin + time;
    transfer.isDone = true;
    result.roles[message.source_role()].messages.total += time;
    result.roles[message.destination_role()].messages.total += time;
    runnable.insert(runnable.end(), transfer.waitingRoles.begin(),
                    transfer.waitingRoles.end());
  }
}

/// Whether the transfer is known to end. What the rank waits for is a transfer
/// as long as its queue is busy, and before that another role.
bool Walk::wait(uint32_t role, uint32_t number, const plan::Action &action) {
  Role &state = roles[role];
  Transfer &transfer =
      queues[messageOf(action).queue()].transfers[state.numbers[number]];
  if (!transfer.isDone) {
    transfer.waitingRoles.push_back(role);
    return false;
  }
  if (transfer.end <= state.now)
    return true;
  RoleRun &run = result.roles[role];
  const Picoseconds from = std::max(state.now, transfer.busySince);
  run.bubble += from - state.now;
  run.messages.exposed += transfer.end - from;
  run.waits.push_back(
      {transfer.message, transfer.microbatch, state.now, from, transfer.end});
  state.now = transfer.end;
  return true;
}

void Walk::advance(uint32_t role) {
  Role &state = roles[role];
  for (; state.next < state.steps.size() && state.now < longestStep;
       ++state.next) {
    const TimelineStep &step = state.steps[state.next];
    const plan::Action &action = actionOf(role, step.action);
    if (action.kind() == plan::ActionKind::Run) {
      runSegment(role, action, step.kind == TimelineStep::Kind::Wait);
      continue;
    }
    if (step.kind == TimelineStep::Kind::Start)
      start(role, step.action, action);
    else if (!wait(role, step.action, action))
      return;
  }
}

std::optional<TimelineRun> Walk::run() {
  for (uint32_t role = roles.size(); role-- > 0;)
    runnable.push_back(role);
  while (!runnable.empty()) {
    const uint32_t role = runnable.back();
    runnable.pop_back();
    advance(role);
  }
  if (std::ranges::any_of(
          roles, [](const Role &role) { return role.now >= longestStep; })) {
    result.end = longestStep;
    return std::move(result);
  }
  for (uint32_t role = 0; role < roles.size(); ++role) {
    if (roles[role].next < roles[role].steps.size())
      return std::nullopt;
    result.roles[role].end = roles[role].now;
    result.end = std::max(result.end, roles[role].now);
  }
  for (RoleRun &role : result.roles)
    role.bubble += result.end - role.end;
  for (const Queue &queue : queues)
    for (const Transfer &each : queue.transfers)
      result.transfers.push_back(
          {each.message, each.microbatch, each.begin, each.end});
  return std::move(result);
}

std::optional<TimelineRun>
simulate::runTimeline(const TimelineRequest &request) {
  return Walk(request).run();
}
