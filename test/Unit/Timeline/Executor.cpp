//===- Executor.cpp - Runs timelines, one event after the other -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executor.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <tuple>

namespace weft::timeline {

namespace {

/// A value that may not be there yet.
struct Future {
  bool isThere = false;
  uint64_t value = 0;
};
using Handle = std::shared_ptr<Future>;

/// What a transfer or a buffer carries: source and destination stage, what it
/// is a result of, micro-batch or level.
enum class Carried { Forward, Backward, Prologue, Update };
using Tag = std::tuple<int32_t, int32_t, Carried, int32_t>;

struct Computation {
  Action action;
  size_t column = 0;
  std::vector<Handle> inputs;
  std::vector<Handle> results; // one
};

struct TransferCall {
  const Call *call;
  Tag tag;
  bool sends;
  Handle data;
  size_t column;
  /// Both ends have started; each of them ends on its own.
  bool met = false;
};

struct Rank {
  size_t issued = 0;
  /// Computations that run together, in order.
  std::deque<std::vector<Computation>> compute;
  /// By communicator.
  std::map<int32_t, std::deque<TransferCall>> queues;
  /// What was received or will be, and what was computed here.
  std::map<Tag, Handle> received;
  std::map<std::tuple<ActionKind, int32_t, int32_t>, Handle> computed;
  std::set<int32_t> gathered, freed;
  /// By pass, the micro-batch that its parameters are gathered for.
  std::map<GatheredPass, int32_t> gatheredFor;
  /// By column.
  std::vector<bool> ended;
  /// By the column that writes a slot: what used it before.
  std::map<size_t, std::vector<int32_t>> previousUses;
  std::map<int32_t, int32_t> gradientsAdded;
};

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 32);
}

enum class EventKind { Issue, Compute, Start, End };
/// On a rank, and of a communicator.
using Event = std::tuple<size_t, EventKind, int32_t>;

class Machine {
public:
  Machine(const Job &job, const std::set<int32_t> &sharded, unsigned seed,
          Matching matching)
      : job(job), sharded(sharded), random(seed), matching(matching),
        ranks(job.rows.size()) {
    for (const Edge &edge : job.edges)
      last = std::max({last, edge.source, edge.destination});
    for (const auto &row : job.rows)
      for (const Call &call : row)
        if (!isOnce(call.action.kind))
          microbatches = std::max(microbatches, call.action.microbatch + 1);
    for (size_t i = 0; i < ranks.size(); ++i)
      ranks[i].ended.resize(job.rows[i].size());
    std::map<std::pair<int32_t, int32_t>, std::map<int32_t, const SlotUse *>>
        slots;
    for (const SlotUse &use : job.slotUses)
      slots[{use.rank, use.slot}][use.columns.front()] = &use;
    for (const auto &[slot, uses] : slots) {
      const SlotUse *previous = nullptr;
      for (const auto &[column, use] : uses) {
        if (previous)
          ranks[slot.first].previousUses[size_t(column)] = previous->columns;
        previous = use;
      }
    }
  }

  Execution run();

private:
  bool fail(const std::string &what) {
    if (execution.failure.empty())
      execution.failure = what;
    return true;
  }
  bool issue(size_t rank);
  bool prepare(Rank &rank, const Action &action, Computation &computation);
  bool use(Rank &rank, ActionKind kind, int32_t stage, int32_t number,
           Computation &computation);
  bool useOnce(Rank &rank, const Action &action, int32_t level,
               Computation &computation);
  bool useGathered(Rank &rank, const Action &action);
  bool prepareLevel(Rank &rank, const Action &action, Computation &computation);
  int32_t levelsOf(int32_t stage, bool isUpdate) const {
    const std::vector<int32_t> &levels =
        isUpdate ? job.updateLevels : job.prologueLevels;
    return size_t(stage) < levels.size() ? levels[stage] : 0;
  }
  bool issueTransfer(Rank &rank, const Call &call, size_t column);
  bool waits(size_t rank, size_t column) const;
  bool isSlotInUse(const Rank &rank, size_t column) const;
  bool start(size_t number, int32_t communicator);
  bool end(size_t number, int32_t communicator);
  bool happen(const Event &event);
  void checkReceives();
  bool issueParameters(Rank &rank, const Action &action);
  bool compute(size_t number);
  bool isFinished() const;

  const Job &job;
  const std::set<int32_t> &sharded;
  std::mt19937 random;
  const Matching matching;
  std::vector<Rank> ranks;
  int32_t last = 0, microbatches = 0;
  Execution execution;
};

} // namespace

/// Takes what a rank has computed as an input.
bool Machine::use(Rank &rank, ActionKind kind, int32_t stage, int32_t number,
                  Computation &computation) {
  const auto it = rank.computed.find({kind, stage, number});
  if (it == rank.computed.end())
    return !fail("an input is not computed");
  computation.inputs.push_back(it->second);
  return true;
}

/// Takes the results of a level of other stages.
bool Machine::useOnce(Rank &rank, const Action &action, int32_t level,
                      Computation &computation) {
  const bool isUpdate = action.kind == ActionKind::Update;
  for (const OnceEdge &edge : job.onceEdges) {
    if (edge.destination != action.stage || edge.isUpdate != isUpdate ||
        edge.level != level)
      continue;
    const auto message = rank.received.find(
        {edge.source, edge.destination,
         isUpdate ? Carried::Update : Carried::Prologue, level});
    if (message != rank.received.end())
      computation.inputs.push_back(message->second);
    else if (!use(rank, isUpdate ? ActionKind::Update : ActionKind::Prologue,
                  edge.source, level, computation))
      return false;
  }
  return true;
}

bool Machine::prepareLevel(Rank &rank, const Action &action,
                           Computation &computation) {
  const int32_t level = action.microbatch;
  const bool isUpdate = action.kind == ActionKind::Update;
  computation.action = action;
  if (level >= levelsOf(action.stage, isUpdate))
    return !fail("an unknown level");
  // Reductions leave -1.
  if (isUpdate && rank.gradientsAdded[action.stage] !=
                      (std::ranges::count(job.reducedStages, action.stage) > 0
                           ? -1
                           : microbatches))
    return !fail("updated too early");
  return level == 0 ||
         (use(rank, action.kind, action.stage, level - 1, computation) &&
          useOnce(rank, action, level - 1, computation));
}

/// Uses up what is gathered for a pass.
bool Machine::useGathered(Rank &rank, const Action &action) {
  if (action.kind == ActionKind::WeightGradient)
    return true;
  const GatheredPass pass(action.stage, action.kind == ActionKind::Forward
                                            ? ActionKind::UnshardForward
                                            : ActionKind::UnshardBackward);
  if (std::ranges::count(job.gatheredPasses, pass) == 0)
    return true;
  const auto it = rank.gatheredFor.find(pass);
  if (it == rank.gatheredFor.end() || it->second != action.microbatch)
    return !fail("not gathered for this micro-batch");
  rank.gatheredFor.erase(it);
  return true;
}

/// Collects the inputs of a computation when the host issues it.
bool Machine::prepare(Rank &rank, const Action &action,
                      Computation &computation) {
  computation.action = action;
  const int32_t s = action.stage, i = action.microbatch;
  if (sharded.contains(s) && !rank.gathered.contains(s))
    return !fail("parameters not gathered");
  if (!useGathered(rank, action))
    return false;
  const bool isForward = action.kind == ActionKind::Forward;
  const auto use = [&](ActionKind kind, int32_t stage) {
    return this->use(rank, kind, stage, i, computation);
  };
  if (isForward) {
    const int32_t levels = levelsOf(s, /*isUpdate=*/false);
    if (levels > 0 &&
        !this->use(rank, ActionKind::Prologue, s, levels - 1, computation))
      return false;
    // What no level of the prologue takes.
    for (const OnceEdge &edge : job.onceEdges)
      if (edge.destination == s && !edge.isUpdate && edge.level + 1 >= levels &&
          !useOnce(rank, {s, ActionKind::Prologue, 0}, edge.level, computation))
        return false;
  }
  if (action.kind == ActionKind::WeightGradient) {
    if (!use(ActionKind::InputGradient, s))
      return false;
  } else {
    for (const Edge &edge : job.edges) {
      if (edge.destination != s || edge.isBackward == isForward)
        continue;
      const auto message = rank.received.find(
          {edge.source, edge.destination,
           edge.isBackward ? Carried::Backward : Carried::Forward, i});
      if (message != rank.received.end())
        computation.inputs.push_back(message->second);
      else if (!use(isForward ? ActionKind::Forward : ActionKind::InputGradient,
                    edge.source))
        return false;
    }
    if (!isForward && !use(ActionKind::Forward, s))
      return false;
  }
  return true;
}

/// Makes the results of a computation known on its rank.
static bool announce(Rank &rank, Computation &computation) {
  const Action &action = computation.action;
  const Handle handle = std::make_shared<Future>();
  computation.results = {handle};
  bool isNew = true;
  const auto add = [&](ActionKind kind) {
    isNew &= rank.computed
                 .try_emplace({kind, action.stage, action.microbatch}, handle)
                 .second;
  };
  if (action.kind == ActionKind::Backward) {
    add(ActionKind::InputGradient);
    add(ActionKind::WeightGradient);
  } else {
    add(action.kind);
  }
  return isNew;
}

bool Machine::issueTransfer(Rank &rank, const Call &call, size_t column) {
  const Action &action = call.action;
  Carried carried;
  ActionKind producer;
  switch (action.kind) {
  case ActionKind::SendForward:
  case ActionKind::ReceiveForward:
    carried = Carried::Forward;
    producer = ActionKind::Forward;
    break;
  case ActionKind::SendBackward:
  case ActionKind::ReceiveBackward:
    carried = Carried::Backward;
    producer = ActionKind::InputGradient;
    break;
  case ActionKind::SendPrologue:
  case ActionKind::ReceivePrologue:
    carried = Carried::Prologue;
    producer = ActionKind::Prologue;
    break;
  default:
    carried = Carried::Update;
    producer = ActionKind::Update;
  }
  const bool sends = isSend(action.kind);
  const Tag tag(sends ? action.stage : action.peer,
                sends ? action.peer : action.stage, carried, action.microbatch);
  Handle data;
  if (sends) {
    const auto it =
        rank.computed.find({producer, action.stage, action.microbatch});
    if (it == rank.computed.end())
      return fail("what is sent is not computed");
    data = it->second;
  } else {
    data = std::make_shared<Future>();
    if (!rank.received.try_emplace(tag, data).second)
      return fail("received twice");
  }
  rank.queues[call.communicator].push_back({&call, tag, sends, data, column});
  return true;
}

bool Machine::issueParameters(Rank &rank, const Action &action) {
  const int32_t s = action.stage;
  if (isPassGather(action.kind)) {
    if (!rank.gatheredFor.try_emplace({s, action.kind}, action.microbatch)
             .second)
      return fail("gathered over what is not used");
  } else if (action.kind == ActionKind::Unshard) {
    if (!rank.gathered.insert(s).second)
      return fail("gathered twice");
  } else if (action.kind == ActionKind::Reshard) {
    if (rank.gathered.erase(s) == 0)
      return fail("freed what is not gathered");
    rank.freed.insert(s);
  } else {
    if (rank.gradientsAdded[s] != microbatches)
      return fail("reduced too early");
    // What is reduced is what has been added up until then.
    rank.gradientsAdded[s] = -1;
    rank.compute.push_back({{action, rank.issued - 1, {}, {}}});
  }
  return true;
}

bool Machine::issue(size_t number) {
  Rank &rank = ranks[number];
  const std::vector<Call> &row = job.rows[number];
  if (rank.issued == row.size())
    return false;
  const Call &call = row[rank.issued++];
  const Action &action = call.action;
  if (action.stage < 0)
    return fail("no stage");
  if (isTransfer(action.kind))
    return issueTransfer(rank, call, rank.issued - 1);
  if (!isCompute(action.kind) && !isLevel(action.kind))
    return issueParameters(rank, action);

  std::vector<Computation> unit(1);
  unit[0].column = rank.issued - 1;
  if (!(isLevel(action.kind) ? prepareLevel(rank, action, unit[0])
                             : prepare(rank, action, unit[0])))
    return true;
  if (action.overlapsNext) {
    if (rank.issued == row.size() || !isCompute(row[rank.issued].action.kind) ||
        row[rank.issued].action.overlapsNext)
      return fail("a pair of one");
    unit.emplace_back();
    unit[1].column = rank.issued;
    if (!prepare(rank, row[rank.issued++].action, unit[1]))
      return true;
  }
  for (Computation &computation : unit) {
    if (!announce(rank, computation))
      return fail("computed twice");
    if (computation.action.kind == ActionKind::Backward ||
        computation.action.kind == ActionKind::WeightGradient)
      ++rank.gradientsAdded[computation.action.stage];
  }
  rank.compute.push_back(std::move(unit));
  return true;
}

/// Whether a call has to wait for another of its rank.
bool Machine::waits(size_t rank, size_t column) const {
  for (const Wait &wait : job.waits)
    if (size_t(wait.rank) == rank && size_t(wait.waiting) == column &&
        !ranks[rank].ended[size_t(wait.awaited)])
      return true;
  return false;
}

bool Machine::isSlotInUse(const Rank &rank, size_t column) const {
  const auto previous = rank.previousUses.find(column);
  if (previous == rank.previousUses.end())
    return false;
  for (int32_t use : previous->second)
    if (!rank.ended[size_t(use)])
      return true;
  return false;
}

/// A receive writes as soon as nothing keeps it from starting.
void Machine::checkReceives() {
  for (size_t i = 0; i < ranks.size(); ++i)
    for (const auto &[communicator, queue] : ranks[i].queues)
      if (!queue.empty() && !queue.front().sends &&
          !waits(i, queue.front().column) &&
          isSlotInUse(ranks[i], queue.front().column))
        fail("slot overwritten");
}

bool Machine::compute(size_t number) {
  Rank &rank = ranks[number];
  if (rank.compute.empty())
    return false;
  std::vector<Computation> &unit = rank.compute.front();
  for (const Computation &computation : unit) {
    for (const Handle &input : computation.inputs)
      if (!input->isThere)
        return false;
    if (waits(number, computation.column))
      return false;
  }
  for (const Computation &computation : unit)
    if (isSlotInUse(rank, computation.column))
      return fail("slot overwritten");
  for (const Computation &computation : unit)
    rank.ended[computation.column] = true;
  for (const Computation &computation : unit) {
    const Action &action = computation.action;
    if (action.kind == ActionKind::ReduceGradient) {
      execution.gradients[action.stage] =
          mix(execution.gradients[action.stage], 0x5eed);
      continue;
    }
    // What I and W compute together, B computes.
    const bool isForward = action.kind == ActionKind::Forward;
    uint64_t value = mix(action.stage * 2 + isForward, action.microbatch);
    if (isLevel(action.kind))
      value = mix(value, uint64_t(action.kind));
    if (action.kind == ActionKind::Update)
      value = mix(value, execution.gradients[action.stage]);
    for (const Handle &input : computation.inputs)
      value = mix(value, input->value);
    if (action.kind == ActionKind::WeightGradient)
      value = computation.inputs.front()->value;
    computation.results.front()->isThere = true;
    computation.results.front()->value = value;
    if (action.kind == ActionKind::Backward ||
        action.kind == ActionKind::WeightGradient)
      execution.gradients[action.stage] =
          mix(execution.gradients[action.stage], value);
    if (isForward && action.stage == last)
      execution.outputs[action.microbatch] = value;
    if (action.kind == ActionKind::Update)
      execution.updates[{action.stage, action.microbatch}] = value;
  }
  rank.compute.pop_front();
  return true;
}

/// One end of a transfer ends, some time after both have started.
bool Machine::end(size_t number, int32_t communicator) {
  std::deque<TransferCall> &queue = ranks[number].queues[communicator];
  if (queue.empty() || !queue.front().met)
    return false;
  ranks[number].ended[queue.front().column] = true;
  if (!queue.front().sends)
    queue.front().data->isThere = true;
  // What no level of the update takes.
  const auto [source, destination, carried, level] = queue.front().tag;
  if (!queue.front().sends && carried == Carried::Update &&
      level + 1 >= levelsOf(destination, /*isUpdate=*/true))
    execution.states[{source, destination, level}] = queue.front().data->value;
  queue.pop_front();
  return true;
}

/// A send at the head of its queue meets the receive at that of its peer.
bool Machine::start(size_t number, int32_t communicator) {
  std::deque<TransferCall> &queue = ranks[number].queues[communicator];
  if (queue.empty() || queue.front().met)
    return false;
  TransferCall &send = queue.front();
  const int32_t peer = send.call->peerRank;
  if (!send.sends || !send.data->isThere || waits(number, send.column) ||
      peer < 0 || size_t(peer) >= ranks.size())
    return false;
  // Only what is at the head has started.
  std::deque<TransferCall> &other = ranks[peer].queues[communicator];
  if (other.empty() || other.front().sends || other.front().met ||
      other.front().call->peerRank != int32_t(number) ||
      waits(size_t(peer), other.front().column))
    return false;
  TransferCall &receive = other.front();
  if (send.tag != receive.tag) {
    if (matching == Matching::ByTag)
      return false;
    return fail("mixed up");
  }
  if (send.call->bytes != receive.call->bytes ||
      send.call->elementType != receive.call->elementType)
    return fail("of another type or size");
  receive.data->value = send.data->value;
  send.met = receive.met = true;
  return true;
}

bool Machine::happen(const Event &event) {
  const auto [rank, kind, communicator] = event;
  switch (kind) {
  case EventKind::Issue:
    return issue(rank);
  case EventKind::Compute:
    return compute(rank);
  case EventKind::Start:
    return start(rank, communicator);
  case EventKind::End:
    return end(rank, communicator);
  }
  return false;
}

bool Machine::isFinished() const {
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].issued < job.rows[i].size() || !ranks[i].compute.empty())
      return false;
    for (const auto &[communicator, queue] : ranks[i].queues)
      if (!queue.empty())
        return false;
  }
  return true;
}

Execution Machine::run() {
  // Which of the events that may happen is next is drawn anew each time, or all
  // of one kind are drawn to come before or after all of another: that leaves
  // what is slow behind for long.
  const bool hasPriorities = random() % 2;
  std::map<Event, unsigned> priorities;
  while (execution.failure.empty() && !isFinished()) {
    std::vector<std::pair<unsigned, Event>> events;
    const auto add = [&](const Event &event) {
      const auto [priority, isNew] = priorities.try_emplace(event, 0);
      if (isNew || !hasPriorities)
        priority->second = unsigned(random());
      events.push_back({priority->second, event});
    };
    for (size_t i = 0; i < ranks.size(); ++i) {
      add({i, EventKind::Issue, 0});
      add({i, EventKind::Compute, 0});
      for (const auto &[communicator, queue] : ranks[i].queues) {
        add({i, EventKind::Start, communicator});
        add({i, EventKind::End, communicator});
      }
    }
    std::ranges::sort(events);
    const bool happened = std::ranges::any_of(
        events, [&](const auto &event) { return happen(event.second); });
    if (!happened)
      fail("deadlock");
    if (!job.slotUses.empty())
      checkReceives();
  }
  for (const Rank &rank : ranks)
    if (execution.failure.empty() && !rank.gatheredFor.empty())
      fail("gathered for no pass");
  // What is gathered once is kept.
  for (const Rank &rank : ranks)
    for (int32_t stage : rank.gathered)
      if (execution.failure.empty() && rank.freed.contains(stage))
        fail("parameters not freed");
  return execution;
}

Execution execute(const Job &job, const std::set<int32_t> &sharded,
                  unsigned seed, Matching matching) {
  return Machine(job, sharded, seed, matching).run();
}

} // namespace weft::timeline
