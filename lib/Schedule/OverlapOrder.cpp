//===- OverlapOrder.cpp - One order of computation and communication ------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OverlapOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft {

namespace {

class Scheduler {
public:
  Scheduler(llvm::ArrayRef<Step> steps, const OverlapOptions &options);
  std::vector<Action> run();

private:
  /// Steps by urgency, the program's order among equals.
  using Queue = std::set<std::pair<int64_t, int32_t>>;

  void computeUrgency();
  /// A step all of whose operands are issued: computed or started.
  void enqueue(int32_t step);
  /// Starts what is free to start.
  void startCollectives();
  /// The next step to issue besides; removes it from its queue.
  int32_t pick();
  int32_t take(Queue &queue, int32_t step);

  void wait(int32_t collective);
  void issue(int32_t step);
  /// Whether the operand of a collective is gone with the wait for it.
  bool freesOperand(int32_t collective) const;
  void waitForWhatIsOver();
  bool isHeld(int32_t step) const {
    return steps[step].enlarges && enlarging >= options.enlargingInFlight;
  }
  /// When the collectives that `step` needs are over.
  int64_t operandsFinish(int32_t step) const;

  llvm::ArrayRef<Step> steps;
  OverlapOptions options;
  std::vector<std::vector<int32_t>> users;
  std::vector<int64_t> urgency;

  /// For each step: operands not issued yet, collectives among its operands
  /// that are under way.
  std::vector<int32_t> missing, underWay;
  std::vector<int64_t> begin, finish;
  std::vector<bool> issued, waited;

  /// Issuable steps: free ones, by kind, and those that must wait first.
  Queue freeSteps, freeCollectives, blocked;
  /// Collectives under way in order of their start.
  std::vector<int32_t> started;
  int32_t enlarging = 0;
  /// The first computing step of the program that is not issued.
  int32_t cursor = 0;
  int64_t computeClock = 0;
  /// By level of links.
  std::map<int32_t, int64_t> linkClocks;
  std::vector<Action> actions;
};

} // namespace

Scheduler::Scheduler(llvm::ArrayRef<Step> steps, const OverlapOptions &options)
    : steps(steps), options(options), users(steps.size()),
      missing(steps.size()), underWay(steps.size()), begin(steps.size()),
      finish(steps.size()), issued(steps.size()), waited(steps.size()) {
  for (auto [index, step] : llvm::enumerate(steps)) {
    llvm::SmallVector<int32_t, 4> operands(step.operands);
    llvm::sort(operands);
    operands.erase(llvm::unique(operands), operands.end());
    for (int32_t operand : operands)
      users[operand].push_back(index);
    missing[index] = operands.size();
  }
  computeUrgency();
}

/// A step is as urgent as its position in the program or as the most urgent
/// step that needs it. What a collective delivers is wanted a window earlier,
/// so that the way to a collective goes before steps that nobody waits for, and
/// the more collectives lie on the way, the more so. One that waits for another
/// is as urgent as its position too: it starts when that one is over, though
/// what it delivers may be wanted much later.
void Scheduler::computeUrgency() {
  urgency.resize(steps.size());
  std::vector<int64_t> ofWay(steps.size());
  for (int32_t i = steps.size(); i-- > 0;) {
    int64_t wanted = steps.size();
    for (int32_t user : users[i])
      wanted = std::min(wanted, ofWay[user]);
    ofWay[i] = steps[i].isCollective ? wanted - options.window
                                     : std::min<int64_t>(i, wanted);
    urgency[i] = std::min<int64_t>(i, ofWay[i]);
  }
}

void Scheduler::enqueue(int32_t step) {
  for (int32_t operand : std::set<int32_t>(steps[step].operands.begin(),
                                           steps[step].operands.end()))
    underWay[step] += steps[operand].isCollective && !waited[operand];
  Queue &queue = underWay[step]             ? blocked
                 : steps[step].isCollective ? freeCollectives
                                            : freeSteps;
  queue.emplace(urgency[step], step);
}

int32_t Scheduler::take(Queue &queue, int32_t step) {
  queue.erase({urgency[step], step});
  return step;
}

void Scheduler::wait(int32_t collective) {
  actions.push_back({collective, /*isWait=*/true});
  waited[collective] = true;
  enlarging -= steps[collective].enlarges;
  computeClock = std::max(computeClock, finish[collective]);
  llvm::erase(started, collective);
  for (int32_t user : users[collective]) {
    if (missing[user] || issued[user] || --underWay[user])
      continue;
    take(blocked, user);
    (steps[user].isCollective ? freeCollectives : freeSteps)
        .emplace(urgency[user], user);
  }
}

void Scheduler::issue(int32_t step) {
  issued[step] = true;
  for (int32_t collective : std::vector<int32_t>(started))
    if (llvm::is_contained(steps[step].operands, collective))
      wait(collective);
  actions.push_back({step});
  if (steps[step].isCollective) {
    int64_t &clock = linkClocks[steps[step].link];
    begin[step] = computeClock;
    clock = std::max(clock, computeClock) + steps[step].picoseconds;
    finish[step] = clock;
    started.push_back(step);
    enlarging += steps[step].enlarges;
  } else {
    computeClock += steps[step].picoseconds;
    waitForWhatIsOver();
  }
  for (int32_t user : users[step])
    if (--missing[user] == 0)
      enqueue(user);
  while (size_t(cursor) < steps.size() &&
         (issued[cursor] || steps[cursor].isCollective))
    ++cursor;
}

bool Scheduler::freesOperand(int32_t collective) const {
  const Step &step = steps[collective];
  return !step.enlarges && step.bytes > 0 &&
         llvm::all_of(step.operands, [&](int32_t operand) {
           return users[operand].size() == 1;
         });
}

/// A wait for what is over takes no time, and may free memory long before the
/// result is used. But what others that still run on other links overtake is
/// in a queue of its own only if its wait comes after theirs
/// (CollectiveQueues.h).
void Scheduler::waitForWhatIsOver() {
  for (size_t i = 0; i < started.size();) {
    const int32_t collective = started[i];
    if (finish[collective] > computeClock)
      break;
    auto isOvertaking = [&](int32_t other) {
      return steps[other].link != steps[collective].link &&
             begin[other] < finish[collective];
    };
    if (freesOperand(collective) &&
        std::none_of(started.begin() + i + 1, started.end(), isOvertaking))
      wait(collective);
    else
      ++i;
  }
}

void Scheduler::startCollectives() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [urgent, step] : freeCollectives)
      if (!isHeld(step)) {
        issue(take(freeCollectives, step));
        changed = true;
        break;
      }
  }
}

int64_t Scheduler::operandsFinish(int32_t step) const {
  int64_t last = 0;
  for (int32_t operand : steps[step].operands)
    if (steps[operand].isCollective && !waited[operand])
      last = std::max(last, finish[operand]);
  return last;
}

/// Steps that wait for collectives, of which the first that waits no longer is
/// looked for.
static constexpr int mostLookedAt = 16;

int32_t Scheduler::pick() {
  // Nobody may run away from the first step that is left; a step that waits
  // for a collective has more patience, since nothing is gained by a stall.
  std::pair<int64_t, int32_t> first = {
      size_t(cursor) < steps.size() ? urgency[cursor] : 0, cursor};
  int32_t patience = blocked.count(first) ? 4 : 1;
  bool farAhead = !freeSteps.empty() && freeSteps.begin()->second >
                                            cursor + patience * options.window;
  if (farAhead && freeSteps.count(first))
    return take(freeSteps, cursor);
  if (farAhead && blocked.count(first))
    return take(blocked, cursor);

  if (!blocked.empty() && (freeSteps.empty() || farAhead))
    return take(blocked, blocked.begin()->second);
  // What need not wait any more and is more urgent than all that is free, or a
  // collective that need not wait for long.
  int lookedAt = 0;
  for (auto [urgent, step] : blocked) {
    if (lookedAt++ == mostLookedAt || freeSteps.empty())
      break;
    const int64_t left = operandsFinish(step) - computeClock;
    const auto [freeUrgent, freeStep] = *freeSteps.begin();
    const bool isShort = options.waitsForShort && steps[step].isCollective &&
                         left < steps[step].picoseconds &&
                         left < steps[freeStep].picoseconds / 4;
    if (isShort || (left <= 0 && urgent < freeUrgent))
      return take(blocked, step);
  }
  Queue &queue = freeSteps.empty() ? freeCollectives : freeSteps;
  return take(queue, queue.begin()->second);
}

std::vector<Action> Scheduler::run() {
  for (size_t i = 0; i < steps.size(); ++i)
    if (missing[i] == 0)
      enqueue(i);
  while (true) {
    startCollectives();
    if (freeSteps.empty() && blocked.empty() && freeCollectives.empty())
      break;
    issue(pick());
  }
  while (!started.empty())
    wait(started.front());
  return std::move(actions);
}

std::vector<Action> overlapOrder(llvm::ArrayRef<Step> steps,
                                 const OverlapOptions &options) {
  return Scheduler(steps, options).run();
}

std::vector<Action> programOrder(llvm::ArrayRef<Step> steps) {
  std::vector<Action> actions;
  for (int32_t i = 0; size_t(i) < steps.size(); ++i) {
    actions.push_back({i});
    if (steps[i].isCollective)
      actions.push_back({i, /*isWait=*/true});
  }
  return actions;
}

} // namespace weft
