//===- FastestOrder.cpp - The fastest order that fits memory --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far steps may pass each other, and how many all-gathers may be under way,
// decides between overlap and memory, and neither a choice of these nor a rule
// of priority is the best for all programs. A schedule takes next to no time to
// make, so some are.
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OrderBound.h"
#include "weft/Schedule/OverlapOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace weft {

namespace {

/// When the results of steps are not needed any more: by the action, which for
/// views is that of what they are views of.
class Lifetimes {
public:
  Lifetimes(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions);

  int64_t peak() const;

private:
  void uses(int32_t step, size_t action);

  llvm::ArrayRef<Step> steps;
  llvm::ArrayRef<Action> actions;
  std::vector<size_t> lastUse;
};

} // namespace

Lifetimes::Lifetimes(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions)
    : steps(steps), actions(actions), lastUse(steps.size()) {
  for (size_t i = 0; i < actions.size(); ++i) {
    const Action &action = actions[i];
    uses(action.step, i);
    // The wait is the last that touches the operand of a collective.
    for (int32_t operand : steps[action.step].operands)
      uses(operand, i);
  }
  for (size_t step = steps.size(); step-- > 0;)
    if (steps[step].isReturned)
      uses(int32_t(step), actions.size());
  // A view keeps what it is of, which comes earlier in the program.
  for (size_t step = steps.size(); step-- > 0;)
    if (steps[step].isView)
      for (int32_t operand : steps[step].operands)
        uses(operand, lastUse[step]);
}

void Lifetimes::uses(int32_t step, size_t action) {
  lastUse[step] = std::max(lastUse[step], action);
}

int64_t Lifetimes::peak() const {
  std::vector<int64_t> freed(actions.size() + 1);
  for (size_t step = 0; step < steps.size(); ++step)
    freed[lastUse[step]] += steps[step].bytes;
  int64_t alive = 0, most = 0;
  for (size_t i = 0; i < actions.size(); ++i) {
    if (!actions[i].isWait)
      alive += steps[actions[i].step].bytes;
    alive -= freed[i];
    most = std::max(most, alive);
  }
  return most;
}

std::vector<bool> findSecondQueue(llvm::ArrayRef<CollectiveSpan> spans) {
  std::vector<bool> second(spans.size());
  if (spans.empty())
    return second;
  const auto [lowest, highest] = std::minmax_element(
      spans.begin(), spans.end(),
      [](const auto &a, const auto &b) { return a.link < b.link; });
  if (lowest->link != highest->link) {
    for (auto [index, span] : llvm::enumerate(spans))
      second[index] = span.link != lowest->link;
    return second;
  }
  std::vector<size_t> byWait(spans.size());
  std::iota(byWait.begin(), byWait.end(), size_t(0));
  llvm::stable_sort(byWait, [&](size_t a, size_t b) {
    return spans[a].wait < spans[b].wait;
  });
  int64_t latest = spans[byWait.front()].start;
  for (size_t index : byWait) {
    second[index] = latest > spans[index].start;
    latest = std::max(latest, spans[index].start);
  }
  return second;
}

/// By step, of collectives.
static std::vector<bool> queuesOf(llvm::ArrayRef<Step> steps,
                                  llvm::ArrayRef<Action> actions) {
  std::vector<CollectiveSpan> spans;
  std::vector<int32_t> collectives;
  std::vector<size_t> numbers(steps.size());
  for (auto [time, action] : llvm::enumerate(actions)) {
    if (action.isWait) {
      spans[numbers[action.step]].wait = int64_t(time);
    } else if (steps[action.step].isCollective) {
      numbers[action.step] = spans.size();
      spans.push_back({steps[action.step].link, int64_t(time), 0});
      collectives.push_back(action.step);
    }
  }
  std::vector<bool> queues(steps.size());
  for (auto [step, isSecond] :
       llvm::zip_equal(collectives, findSecondQueue(spans)))
    queues[step] = isSecond;
  return queues;
}

StepTimes timesOf(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions) {
  const std::vector<bool> isInSecond = queuesOf(steps, actions);
  int64_t now = 0, queues[2] = {};
  std::map<int32_t, int64_t> links;
  StepTimes times{std::vector<int64_t>(steps.size()),
                  std::vector<int64_t>(steps.size())};
  for (const Action &action : actions) {
    const Step &step = steps[action.step];
    int64_t &begin = times.begins[action.step], &end = times.ends[action.step];
    if (action.isWait) {
      now = std::max(now, end);
    } else if (step.isCollective) {
      int64_t &link = links[step.link],
              &queue = queues[isInSecond[action.step]];
      begin = std::max({link, queue, now});
      end = link = queue = begin + step.picoseconds;
    } else {
      begin = now;
      end = now += step.picoseconds;
    }
  }
  return times;
}

static int64_t lastOf(llvm::ArrayRef<int64_t> times) {
  return times.empty() ? 0 : *llvm::max_element(times);
}

OrderCost costOf(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions) {
  return {lastOf(timesOf(steps, actions).ends),
          Lifetimes(steps, actions).peak()};
}

//===----------------------------------------------------------------------===//
// Priorities
//===----------------------------------------------------------------------===//

namespace {

/// The program from its end: its users are the operands of a step.
class Backwards {
public:
  explicit Backwards(llvm::ArrayRef<Step> program);

  /// The longest paths behind the steps of the program.
  std::vector<int64_t> longestPaths() const;
  /// Minus how late each step of the program can begin, by an order from the
  /// end that keeps to the ends in `order`, and that reserves links or not.
  std::vector<int64_t> latestBegins(llvm::ArrayRef<Step> program,
                                    llvm::ArrayRef<Action> order,
                                    bool reserves = false) const;

private:
  size_t mirrored(size_t step) const { return steps.size() - 1 - step; }

  std::vector<Step> steps;
};

} // namespace

Backwards::Backwards(llvm::ArrayRef<Step> program) : steps(program.size()) {
  for (auto [index, step] : llvm::enumerate(program)) {
    Step &mirror = steps[mirrored(index)];
    mirror.isCollective = step.isCollective;
    mirror.picoseconds = step.picoseconds;
    mirror.link = step.link;
    for (int32_t operand : step.operands)
      steps[mirrored(operand)].operands.push_back(int32_t(mirrored(index)));
  }
}

std::vector<int64_t> Backwards::longestPaths() const {
  std::vector<int64_t> paths(steps.size());
  for (size_t step = 0; step < steps.size(); ++step) {
    int64_t &path = paths[mirrored(step)];
    for (int32_t user : steps[step].operands)
      path = std::max(path, paths[mirrored(user)] + steps[user].picoseconds);
  }
  return paths;
}

std::vector<int64_t> Backwards::latestBegins(llvm::ArrayRef<Step> program,
                                             llvm::ArrayRef<Action> order,
                                             bool reserves) const {
  std::vector<int64_t> priorities = timesOf(program, order).ends;
  std::reverse(priorities.begin(), priorities.end());
  std::vector<int64_t> ends =
      timesOf(steps, reserves ? reservedOrder(steps, priorities)
                              : overlapOrder(steps, priorities))
          .ends;
  const int64_t all = lastOf(ends);
  std::vector<int64_t> begins(steps.size());
  for (size_t step = 0; step < steps.size(); ++step)
    begins[step] = ends[mirrored(step)] - all;
  return begins;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Schedules made again from how late their steps can begin; more gain next to
/// nothing.
static constexpr int improvements = 2;

/// Times that differ by less are equal: the order that holds less is taken.
static constexpr double sameTime = 1.001;

namespace {

struct Candidate {
  std::vector<Action> actions;
  OrderCost cost;
};

class Candidates {
public:
  explicit Candidates(llvm::ArrayRef<Step> steps);

  void add(std::vector<Action> actions);
  /// Orders by positions and by longest paths, and what improves them.
  void addOverlapping(const OverlapOptions &options);
  /// Orders in which links are left free for what is urgent.
  void addReserved();
  /// Of those that hold at most so many bytes, the fastest; of those that hold
  /// at most `spared` more if it is much slower than these.
  std::vector<Action> takeFastest(double mostBytes, double spared = 0);

  std::vector<Candidate> all;

private:
  /// The number of the candidate by such priorities, of which equal ones lie at
  /// one address.
  size_t order(const std::vector<int64_t> &priorities,
               const OverlapOptions &options);
  const std::vector<int64_t> &latestBeginsOf(size_t number);

  llvm::ArrayRef<Step> steps;
  /// What was made by priorities: many options make one order.
  struct Made {
    const std::vector<int64_t> *priorities;
    OverlapOptions options;
    OverlapExtent extent;
    size_t number;
  };
  std::vector<Made> made;
  /// By candidate, as far as it was asked for.
  std::map<size_t, std::vector<int64_t>> latestBegins;
  Backwards backwards;
  std::vector<int64_t> positions, paths;
};

} // namespace

Candidates::Candidates(llvm::ArrayRef<Step> steps)
    : steps(steps), backwards(steps), positions(steps.size()),
      paths(backwards.longestPaths()) {
  for (size_t step = 0; step < steps.size(); ++step)
    positions[step] = -int64_t(step);
}

void Candidates::add(std::vector<Action> actions) {
  const OrderCost cost = costOf(steps, actions);
  all.push_back({std::move(actions), cost});
}

size_t Candidates::order(const std::vector<int64_t> &priorities,
                         const OverlapOptions &options) {
  for (const Made &each : made)
    if (each.priorities == &priorities &&
        makeSameOrder(each.options, options, each.extent))
      return each.number;
  OverlapExtent extent;
  add(overlapOrder(steps, priorities, options, &extent));
  made.push_back({&priorities, options, extent, all.size() - 1});
  return made.back().number;
}

const std::vector<int64_t> &Candidates::latestBeginsOf(size_t asked) {
  const Candidate &one = all[asked];
  for (const auto &[number, begins] : latestBegins)
    if (const Candidate &each = all[number];
        each.cost.picoseconds == one.cost.picoseconds &&
        each.cost.bytes == one.cost.bytes && each.actions == one.actions)
      return begins;
  return latestBegins[asked] = backwards.latestBegins(steps, one.actions);
}

void Candidates::addOverlapping(const OverlapOptions &options) {
  for (const std::vector<int64_t> *priorities : {&positions, &paths})
    for (int round = 0; round <= improvements; ++round) {
      const size_t number = order(*priorities, options);
      if (round < improvements)
        priorities = &latestBeginsOf(number);
    }
}

void Candidates::addReserved() {
  for (const std::vector<int64_t> *priorities : {&positions, &paths})
    add(reservedOrder(
        steps, backwards.latestBegins(steps, overlapOrder(steps, *priorities),
                                      /*reserves=*/true)));
}

std::vector<Action> Candidates::takeFastest(double mostBytes, double spared) {
  // How much slower an order may be for the sake of what was spared.
  constexpr double slower = 1.005;
  auto leastTime = [&](double bytes) {
    double least = std::numeric_limits<double>::infinity();
    for (const Candidate &each : all)
      if (double(each.cost.bytes) <= bytes)
        least = std::min(least, double(each.cost.picoseconds));
    return least;
  };
  double longest = sameTime * leastTime(mostBytes);
  if (const double all = slower * leastTime(mostBytes + spared);
      longest > sameTime * all) {
    longest = all;
    mostBytes += spared;
  }
  Candidate *best = nullptr;
  for (Candidate &each : all)
    if (double(each.cost.bytes) <= mostBytes &&
        double(each.cost.picoseconds) <= longest &&
        (!best || each.cost.bytes < best->cost.bytes))
      best = &each;
  return std::move(best->actions);
}

std::vector<Action> fastestOrder(llvm::ArrayRef<Step> steps) {
  Candidates candidates(steps);
  candidates.add(programOrder(steps));
  candidates.addOverlapping({});
  candidates.addOverlapping({unlimited, unlimited, false, true});
  return candidates.takeFastest(std::numeric_limits<double>::infinity());
}

std::vector<Action> fastestOrder(llvm::ArrayRef<Step> steps, double growth,
                                 int64_t beside, int64_t spared) {
  Candidates candidates(steps);
  candidates.add(programOrder(steps));
  if (llvm::none_of(steps, [](const Step &step) { return step.isCollective; }))
    return candidates.all.front().actions;
  const int64_t ofProgram = candidates.all.front().cost.bytes;
  for (const OverlapOptions &options : {OverlapOptions{},
                                        {unlimited, unlimited, false, true},
                                        {unlimited, unlimited, true},
                                        {unlimited, unlimited, true, true},
                                        {256, unlimited, true},
                                        {64, unlimited},
                                        {64, 2, true},
                                        {16, 2, false, true},
                                        {16, 2},
                                        {4, 1},
                                        {1, 1}})
    candidates.addOverlapping(options);
  candidates.addReserved();
  const double most = double(ofProgram) + growth * double(ofProgram + beside);
  std::vector<Action> fastest = candidates.takeFastest(most, double(spared));
  const OrderCost cost = costOf(steps, fastest);
  if (double(cost.picoseconds) <= sameTime * double(leastTimeByPaths(steps)))
    return fastest;
  std::vector<Action> shifted = shiftedOrder(steps, fastest);
  const OrderCost after = costOf(steps, shifted);
  return double(after.picoseconds) * sameTime < double(cost.picoseconds) &&
                 double(after.bytes) <= std::max(most, double(cost.bytes))
             ? shifted
             : fastest;
}

} // namespace weft
