//===- OverlapOrder.h - One order of computation and communication -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank has several resources, one that computes and one for each level of
// links, each in order. A program is a list of steps with their data
// dependences; a schedule is one order of actions: computing steps, starts of
// collectives, and waits for them. The scheduler simulates all resources with
// estimated times: whenever one is free it takes, of the steps that are ready,
// the one of the highest priority (list scheduling). So
//
// - a collective is started when its links are free for it, and not before, so
//   that one of more priority may still go first;
// - while collectives are under way other steps are computed;
// - it is waited for right before the first use of its result;
// - to keep memory small, no step is passed by one that is more than a window
//   later, and of the collectives that enlarge their operand (all-gathers of
//   parameters) only a few are under way at a time.
//
// Priorities are positions in the program, or the time that a step leads on to:
// the longest path behind it, then how late it can begin in a schedule made
// backwards, from the end of the program, of the best one so far (K. Y. Li,
// R. J. Willis, "An Iterative Scheduling Technique for Resource-Constrained
// Project Scheduling", 1992).
//
// Its answer depends on nothing but its input, so all ranks, which share one
// program, start the same collectives in the same order.
//
// Example: dw = gemm(dy, x); dx = gemm(dy, w); r = all_reduce(dx); use(r)
//   dx, start all_reduce, dw, wait, use
//
// `checkOrder` is the specification: it shares no code with the scheduler.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_OVERLAPORDER_H
#define WEFT_SCHEDULE_OVERLAPORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace weft {

/// The times of steps are integers, so that orders are the same everywhere.
inline constexpr double picosecondsPerSecond = 1e12;

struct Step {
  /// Steps whose results this one uses; all come earlier in the program.
  llvm::SmallVector<int32_t, 4> operands;
  bool isCollective = false;
  /// Whether its result is larger than its operand (collectives only).
  bool enlarges = false;
  /// Estimated duration.
  int64_t picoseconds = 0;
  /// The level of links that a collective is on.
  int32_t link = 0;
  /// What the result takes, none in the place of an argument; and whether the
  /// program returns it.
  int64_t bytes = 0;
  bool isReturned = false;
  /// Whether the result lies where the operand does.
  bool isView = false;
};

/// An element of a schedule: a step, or the wait for a collective.
struct Action {
  int32_t step;
  bool isWait = false;

  bool operator==(const Action &other) const = default;
};

/// No limit.
inline constexpr int32_t unlimited = std::numeric_limits<int32_t>::max();

struct OverlapOptions {
  /// How far a step may be moved ahead of an earlier one, in steps.
  int32_t window = unlimited;
  /// How many collectives that enlarge their operand may be under way.
  int32_t enlargingInFlight = unlimited;
  /// Whether a collective of what another one makes is started as soon as that
  /// is over, and computed steps do, though its links may be busy.
  bool chainsAtOnce = false;
  /// Whether to wait for a collective that ends soon, where another one waits
  /// for it, rather than to begin a step that takes long.
  bool waitsForShort = false;
};

/// What an order depends on of its options: the steps by which one was ready
/// ahead of an earlier one, the collectives that enlarge which were under way
/// when another one was ready, whether a collective of another one's result
/// was, and whether one that waited shortly.
struct OverlapExtent {
  int64_t ahead = 0;
  int32_t enlarging = 0;
  bool chains = false, waits = false;
};

/// Whether the order made with `options`, of this extent, is that of `others`.
bool makeSameOrder(const OverlapOptions &options, const OverlapOptions &others,
                   const OverlapExtent &extent);

/// From when to when a collective may run, in the order of a program.
struct CollectiveSpan {
  int32_t link;
  int64_t start, wait;
};

/// For each collective whether it is in the second of two queues, in each of
/// which one runs after the other: of collectives on several levels of links
/// those beyond the lowest; of one level those that others overtake, which
/// start later and are waited for earlier.
std::vector<bool> findSecondQueue(llvm::ArrayRef<CollectiveSpan> spans);

/// When each step of an order begins and ends.
struct StepTimes {
  std::vector<int64_t> begins, ends;
};
StepTimes timesOf(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions);

/// What an order takes: until the last step and collective is over, and at most
/// alive at once of what steps make. A result may be written where an operand
/// dies.
struct OrderCost {
  int64_t picoseconds = 0, bytes = 0;
};
OrderCost costOf(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions);

/// Of schedules that overlap more or less, the fastest of those that hold at
/// most `growth` of the bytes more than the order of the program does, with
/// `beside` bytes of arguments in both; the order of the program if there is
/// none. Of the bytes that recomputation has `spared` it gets as many back as
/// it takes to be no slower than with all of them, by more than 0.5 %.
std::vector<Action> fastestOrder(llvm::ArrayRef<Step> steps, double growth,
                                 int64_t beside = 0, int64_t spared = 0);
/// The same, which is made once in a process for all that ask for it.
std::vector<Action> knownFastestOrder(llvm::ArrayRef<Step> steps, double growth,
                                      int64_t beside = 0, int64_t spared = 0);
/// The fastest of a few, however much they hold: an estimate of what steps
/// take.
std::vector<Action> fastestOrder(llvm::ArrayRef<Step> steps);

/// The schedule that overlaps, of steps with more priority first, the order of
/// the program among equals.
std::vector<Action> overlapOrder(llvm::ArrayRef<Step> steps,
                                 llvm::ArrayRef<int64_t> priorities,
                                 const OverlapOptions &options = {},
                                 OverlapExtent *extent = nullptr);

/// The schedule that gives each step, one of more priority first, the earliest
/// time at which its resource is free for as long as it takes, be it before
/// steps that have been given theirs: links are left free for what will soon be
/// ready (R. Kolisch, "Serial and Parallel Resource-Constrained Project
/// Scheduling Methods Revisited", 1996). No step may have more priority than
/// its operands.
std::vector<Action> reservedOrder(llvm::ArrayRef<Step> steps,
                                  llvm::ArrayRef<int64_t> priorities);

/// An order that takes no longer than another one: where that waits, steps are
/// moved past others. It may hold more.
std::vector<Action> shiftedOrder(llvm::ArrayRef<Step> steps,
                                 llvm::ArrayRef<Action> actions);

/// The order of the program, each collective followed by its wait.
std::vector<Action> programOrder(llvm::ArrayRef<Step> steps);

/// What collectives need and all their starts first, those that wait for fewer
/// others in front, then the rest in the order of the program, each wait before
/// the first use of the result: for a program that goes on beside others once
/// all is started.
std::vector<Action> startsFirst(llvm::ArrayRef<Step> steps);

/// Everything that is wrong with a schedule, in words; empty if it is right:
/// a step that is missing or done twice, a collective without exactly one wait
/// behind its start, a step before its operands are there.
std::vector<std::string> checkOrder(llvm::ArrayRef<Step> steps,
                                    llvm::ArrayRef<Action> actions);

} // namespace weft

#endif // WEFT_SCHEDULE_OVERLAPORDER_H
