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
#include <numeric>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace weft {

namespace {

/// What comes first is taken first.
template <typename T>
using FirstOf = std::priority_queue<T, std::vector<T>, std::greater<T>>;

class Scheduler {
public:
  Scheduler(llvm::ArrayRef<Step> steps, llvm::ArrayRef<int64_t> priorities,
            const OverlapOptions &options);
  std::vector<Action> run();
  const OverlapExtent &getExtent() const { return extent; }

private:
  /// Steps by falling priority, the program's order among equals.
  using Queue = FirstOf<std::pair<int64_t, int32_t>>;
  /// Collectives that are ready, apart those that enlarge their operand.
  struct Link {
    int64_t clock = 0;
    Queue free, enlarging;
  };

  /// A step all of whose operands are issued: computed or started.
  void enqueue(int32_t step);
  /// What waits for nothing: its operands are there.
  void release(int32_t step);
  void releaseWhatIsOver();
  Queue &queueOf(int32_t step);
  static int32_t takeFirst(Queue &queue);
  llvm::ArrayRef<int32_t> usersOf(int32_t step) const {
    return llvm::ArrayRef(users).slice(firstUsers[step],
                                       firstUsers[step + 1] - firstUsers[step]);
  }
  /// Whether a collective is one of what another one makes.
  bool isChained(int32_t step) const {
    return llvm::any_of(steps[step].operands, [&](int32_t operand) {
      return steps[operand].isCollective;
    });
  }
  std::pair<int64_t, int32_t> keyOf(int32_t step) const {
    return {-priorities[step], step};
  }

  /// Starts the collectives whose links are free by a time.
  void startCollectives(int64_t until);
  /// The collective of a link that goes next, or -1.
  int32_t nextOf(const Link &link);
  /// Starts a collective whose links are busy, or that is one too many, since
  /// nothing else is left; whether there is one.
  bool startLater();
  /// A collective for which to wait before the next step, or -1.
  int32_t pickShortWait();
  void releaseComputing(int32_t step);
  /// The next step that need not wait, or -1.
  int32_t pick();
  void advanceCursor();
  void releaseFirstFar();

  void wait(int32_t collective);
  void waitForOperands(int32_t step);
  void issue(int32_t step);
  /// Whether the operand of a collective is gone with the wait for it.
  bool freesOperand(int32_t collective) const;
  void waitForWhatIsOver();

  llvm::ArrayRef<Step> steps;
  llvm::ArrayRef<int64_t> priorities;
  OverlapOptions options;
  OverlapExtent extent;
  /// Of all steps, each once, and where those of each begin.
  std::vector<int32_t> users, firstUsers;

  /// For each step its operands that are not issued yet.
  std::vector<int32_t> missing;
  /// When the operands of a step are there, and when collectives end.
  std::vector<int64_t> ready, finish;
  std::vector<bool> issued;

  /// Computing steps that are ready: within the window, and by position those
  /// behind it.
  Queue free;
  FirstOf<int32_t> far;
  /// Steps that wait for collectives, by when these are over.
  std::set<std::tuple<int64_t, int64_t, int32_t>> blocked;
  std::map<int32_t, Link> links;
  /// Collectives under way in order of their start, and of each step whether it
  /// is one.
  std::vector<int32_t> started;
  std::vector<bool> isUnderWay;
  int32_t enlarging = 0;
  /// The first computing step of the program that is not issued.
  int32_t cursor = 0;
  int64_t clock = 0;
  std::vector<Action> actions;
};

} // namespace

Scheduler::Scheduler(llvm::ArrayRef<Step> steps,
                     llvm::ArrayRef<int64_t> priorities,
                     const OverlapOptions &options)
    : steps(steps), priorities(priorities), options(options),
      firstUsers(steps.size() + 1), missing(steps.size()), ready(steps.size()),
      finish(steps.size()), issued(steps.size()), isUnderWay(steps.size()) {
  // A step may have an operand twice.
  std::vector<int32_t> lastUser(steps.size(), -1);
  for (auto [index, step] : llvm::enumerate(steps))
    for (int32_t operand : step.operands)
      if (std::exchange(lastUser[operand], int32_t(index)) != int32_t(index)) {
        ++missing[index];
        ++firstUsers[operand + 1];
      }
  std::partial_sum(firstUsers.begin(), firstUsers.end(), firstUsers.begin());
  users.resize(firstUsers.back());
  std::vector<int32_t> next(firstUsers);
  for (auto [index, step] : llvm::enumerate(steps))
    for (int32_t operand : step.operands)
      if (next[operand] == firstUsers[operand] ||
          users[next[operand] - 1] != int32_t(index))
        users[next[operand]++] = int32_t(index);
}

int32_t Scheduler::takeFirst(Queue &queue) {
  const int32_t step = queue.top().second;
  queue.pop();
  return step;
}

Scheduler::Queue &Scheduler::queueOf(int32_t step) {
  Link &link = links[steps[step].link];
  return steps[step].enlarges ? link.enlarging : link.free;
}

void Scheduler::enqueue(int32_t step) {
  for (int32_t operand : steps[step].operands)
    if (steps[operand].isCollective)
      ready[step] = std::max(ready[step], finish[operand]);
  if (ready[step] > clock)
    blocked.emplace(ready[step], -priorities[step], step);
  else
    release(step);
}

void Scheduler::release(int32_t step) {
  const bool chains = steps[step].isCollective && isChained(step);
  extent.chains |= chains;
  if (steps[step].isCollective && !(options.chainsAtOnce && chains))
    queueOf(step).push(keyOf(step));
  else
    releaseComputing(step);
}

/// Or a collective that is started as soon as computed steps are.
void Scheduler::releaseComputing(int32_t step) {
  const int64_t ahead =
      steps[step].picoseconds > 0 ? int64_t(step) - cursor : 0;
  extent.ahead = std::max(extent.ahead, ahead);
  if (ahead > options.window)
    far.push(step);
  else
    free.push(keyOf(step));
}

void Scheduler::releaseWhatIsOver() {
  while (!blocked.empty() && std::get<0>(*blocked.begin()) <= clock) {
    const int32_t step = std::get<2>(*blocked.begin());
    blocked.erase(blocked.begin());
    release(step);
  }
}

void Scheduler::releaseFirstFar() {
  free.push(keyOf(far.top()));
  far.pop();
}

void Scheduler::advanceCursor() {
  while (size_t(cursor) < steps.size() &&
         (issued[cursor] || steps[cursor].isCollective))
    ++cursor;
  while (!far.empty() && int64_t(far.top()) <= int64_t(cursor) + options.window)
    releaseFirstFar();
}

void Scheduler::wait(int32_t collective) {
  actions.push_back({collective, /*isWait=*/true});
  enlarging -= steps[collective].enlarges;
  clock = std::max(clock, finish[collective]);
  isUnderWay[collective] = false;
  llvm::erase(started, collective);
}

void Scheduler::waitForOperands(int32_t step) {
  if (llvm::none_of(steps[step].operands,
                    [&](int32_t operand) { return isUnderWay[operand]; }))
    return;
  for (size_t i = 0; i < started.size();)
    if (llvm::is_contained(steps[step].operands, started[i]))
      wait(started[i]);
    else
      ++i;
}

/// Of a step that is in no queue any more.
void Scheduler::issue(int32_t step) {
  issued[step] = true;
  waitForOperands(step);
  actions.push_back({step});
  if (steps[step].isCollective) {
    Link &link = links[steps[step].link];
    finish[step] = link.clock =
        std::max(link.clock, clock) + steps[step].picoseconds;
    started.push_back(step);
    isUnderWay[step] = true;
    enlarging += steps[step].enlarges;
  } else {
    clock += steps[step].picoseconds;
    waitForWhatIsOver();
  }
  for (int32_t user : usersOf(step))
    if (--missing[user] == 0)
      enqueue(user);
  advanceCursor();
}

bool Scheduler::freesOperand(int32_t collective) const {
  const Step &step = steps[collective];
  return !step.enlarges && !step.isView &&
         llvm::all_of(step.operands, [&](int32_t operand) {
           return usersOf(operand).size() == 1;
         });
}

/// A wait for what is over takes no time, and may free memory long before the
/// result is used.
void Scheduler::waitForWhatIsOver() {
  for (size_t i = 0; i < started.size() && finish[started[i]] <= clock;)
    if (freesOperand(started[i]))
      wait(started[i]);
    else
      ++i;
}

int32_t Scheduler::nextOf(const Link &link) {
  if (!link.enlarging.empty())
    extent.enlarging = std::max(extent.enlarging, enlarging);
  const bool mayEnlarge =
      !link.enlarging.empty() && enlarging < options.enlargingInFlight;
  if (mayEnlarge &&
      (link.free.empty() || link.enlarging.top() < link.free.top()))
    return link.enlarging.top().second;
  return link.free.empty() ? -1 : link.free.top().second;
}

void Scheduler::startCollectives(int64_t until) {
  while (true) {
    int32_t next = -1;
    for (const auto &[level, link] : links)
      if (const int32_t step = link.clock <= until ? nextOf(link) : -1;
          step >= 0 && (next < 0 || keyOf(step) < keyOf(next)))
        next = step;
    if (next < 0)
      return;
    issue(takeFirst(queueOf(next)));
  }
}

bool Scheduler::startLater() {
  for (auto &[level, link] : links)
    for (Queue *queue : {&link.free, &link.enlarging})
      if (!queue->empty()) {
        issue(takeFirst(*queue));
        return true;
      }
  return false;
}

/// Steps that wait for collectives, of which one that waits shortly is looked
/// for.
static constexpr int mostLookedAt = 16;

int32_t Scheduler::pickShortWait() {
  // Without the option until it is known that it matters.
  if (free.empty() || (!options.waitsForShort && extent.waits))
    return -1;
  const int64_t longest = steps[free.top().second].picoseconds / 4;
  int lookedAt = 0;
  for (auto it = blocked.begin();
       it != blocked.end() && lookedAt++ < mostLookedAt; ++it) {
    const int32_t step = std::get<2>(*it);
    const int64_t left = ready[step] - clock;
    if (left >= longest)
      break;
    if (!steps[step].isCollective || left >= steps[step].picoseconds)
      continue;
    extent.waits = true;
    if (!options.waitsForShort)
      break;
    blocked.erase(it);
    return step;
  }
  return -1;
}

int32_t Scheduler::pick() {
  // Nobody runs away from the first step that is left; while that waits for a
  // collective there is more patience, since nothing is gained by a stall.
  constexpr int64_t patience = 4;
  if (free.empty() && !far.empty() &&
      (blocked.empty() || far.top() <= cursor + patience * options.window))
    releaseFirstFar();
  return free.empty() ? -1 : takeFirst(free);
}

std::vector<Action> Scheduler::run() {
  for (size_t i = 0; i < steps.size(); ++i)
    if (missing[i] == 0)
      enqueue(i);
  while (true) {
    releaseWhatIsOver();
    startCollectives(clock);
    int32_t step = pickShortWait();
    if (step >= 0) {
      issue(step);
      continue;
    }
    step = pick();
    if (step < 0 && !blocked.empty()) {
      startCollectives(std::get<0>(*blocked.begin()) - 1);
      step = std::get<2>(*blocked.begin());
      blocked.erase(blocked.begin());
      if (steps[step].isCollective) {
        waitForOperands(step);
        release(step);
        continue;
      }
    }
    if (step < 0) {
      if (!startLater())
        break;
      continue;
    }
    // What its links are free for meanwhile.
    startCollectives(std::max(clock, ready[step]) + steps[step].picoseconds -
                     1);
    issue(step);
  }
  while (!started.empty())
    wait(started.front());
  return std::move(actions);
}

std::vector<Action> overlapOrder(llvm::ArrayRef<Step> steps,
                                 llvm::ArrayRef<int64_t> priorities,
                                 const OverlapOptions &options,
                                 OverlapExtent *extent) {
  Scheduler scheduler(steps, priorities, options);
  std::vector<Action> actions = scheduler.run();
  if (extent)
    *extent = scheduler.getExtent();
  return actions;
}

bool makeSameOrder(const OverlapOptions &options, const OverlapOptions &others,
                   const OverlapExtent &extent) {
  return (options.window == others.window ||
          std::min(options.window, others.window) >= extent.ahead) &&
         (options.enlargingInFlight == others.enlargingInFlight ||
          std::min(options.enlargingInFlight, others.enlargingInFlight) >
              extent.enlarging) &&
         (options.chainsAtOnce == others.chainsAtOnce || !extent.chains) &&
         (options.waitsForShort == others.waitsForShort || !extent.waits);
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

std::vector<Action> startsFirst(llvm::ArrayRef<Step> steps) {
  std::vector<bool> isNeeded(steps.size()), isWaited(steps.size());
  for (size_t i = steps.size(); i-- > 0;) {
    isNeeded[i] = isNeeded[i] || steps[i].isCollective;
    for (int32_t operand : steps[i].operands)
      isNeeded[operand] = isNeeded[operand] || isNeeded[i];
  }
  // How many collectives come one after the other before a step; those that are
  // not needed come last.
  std::vector<int32_t> levels(steps.size());
  std::vector<int32_t> order;
  for (int32_t i = 0; size_t(i) < steps.size(); ++i) {
    for (int32_t operand : steps[i].operands)
      levels[i] =
          std::max(levels[i], levels[operand] + steps[operand].isCollective);
    order.push_back(i);
  }
  llvm::stable_sort(order, [&](int32_t a, int32_t b) {
    return std::pair(!isNeeded[a], isNeeded[a] ? levels[a] : 0) <
           std::pair(!isNeeded[b], isNeeded[b] ? levels[b] : 0);
  });
  std::vector<Action> actions;
  auto wait = [&](int32_t step) {
    if (steps[step].isCollective && !isWaited[step])
      actions.push_back({step, /*isWait=*/true});
    isWaited[step] = true;
  };
  for (int32_t i : order) {
    for (int32_t operand : steps[i].operands)
      wait(operand);
    actions.push_back({i});
  }
  for (int32_t i = 0; size_t(i) < steps.size(); ++i)
    wait(i);
  return actions;
}

} // namespace weft
