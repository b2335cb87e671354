//===- Check.cpp - Whether a timeline can deadlock or mix up data ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Check.h"

#include "JobQueues.h"

#include "weft/Timeline/Counted.h"

#include <algorithm>

namespace weft::timeline {

bool Verdict::has(Condition condition) const {
  return std::ranges::find(proved, condition) != proved.end();
}

/// A rank waits only for calls that it has issued.
static void checkWaits(JobIndex &index) {
  for (const Wait &wait : index.job.waits) {
    const bool isRight =
        wait.rank >= 0 && size_t(wait.rank) < index.job.rows.size() &&
        0 <= wait.awaited && wait.awaited < wait.waiting &&
        size_t(wait.waiting) < index.job.rows[wait.rank].size();
    if (!isRight)
      index.fail(Condition::Order, wait.rank, wait.waiting,
                 "waits for column " + std::to_string(wait.awaited + 1) +
                     ", which is not before it");
  }
}

Verdict check(const Job &job) {
  JobIndex index(job);
  Verdict &verdict = index.verdict;
  if (!indexJob(index))
    return std::move(verdict);
  checkOrder(index);
  checkLevels(index);
  checkParameters(index);
  checkWaits(index);
  const JobQueues queues = makeQueues(index);
  verdict.queues = int64_t(queues.queues.size());
  const bool isOrdered =
      std::ranges::none_of(verdict.problems, [](const Problem &problem) {
        return problem.condition == Condition::Order;
      });
  if (isOrdered)
    verdict.proved.push_back(Condition::Order);
  const bool matches = checkMatching(index, queues);
  if (matches)
    verdict.proved.push_back(Condition::C1);
  if (!isOrdered || !matches)
    return std::move(verdict);
  std::vector<Completed> completed;
  const bool hasSlots = !job.slotUses.empty();
  if (checkRendezvous(index, queues, hasSlots ? &completed : nullptr)) {
    verdict.proved.push_back(Condition::C2);
    checkBlockingCalls(index);
    if (hasSlots)
      checkSlots(index, queues, completed);
  }
  std::ranges::sort(verdict.proved);
  return std::move(verdict);
}

static std::string_view nameOf(Condition condition) {
  switch (condition) {
  case Condition::Order:
    return "order";
  case Condition::C1:
    return "C1";
  case Condition::C2:
    return "C2";
  case Condition::C3:
    return "C3";
  case Condition::C8:
    return "C8";
  case Condition::C9:
    return "C9";
  }
  return "";
}

static std::string_view meaningOf(Condition condition) {
  switch (condition) {
  case Condition::Order:
    return "every computation once, behind its inputs";
  case Condition::C1:
    return "the k-th send to a rank is the k-th receive there";
  case Condition::C2:
    return "no deadlock if all queues of a rank can run at once";
  case Condition::C3:
    return "no deadlock even if a rank runs one call at a time";
  case Condition::C8:
    return "no slot is written while it is in use";
  case Condition::C9:
    return "every stage sums gradients in the same order";
  }
  return "";
}

static std::string printCycle(const Verdict &verdict) {
  std::string text;
  for (const BlockedCall &call : verdict.cycle)
    text += "  " + call.text + "\n";
  return text;
}

std::string print(const Verdict &verdict, std::string_view file) {
  std::string text;
  for (const Problem &problem : verdict.problems) {
    text += file;
    if (problem.rank >= 0)
      text += ":" + std::to_string(problem.rank + 1);
    if (problem.rank >= 0 && problem.column >= 0)
      text += ":" + std::to_string(problem.column + 1);
    text += ": " + std::string(nameOf(problem.condition)) + ": " +
            problem.text + "\n";
  }
  const int64_t hidden =
      verdict.problemCount - int64_t(verdict.problems.size());
  if (hidden > 0)
    text += "and " + std::to_string(hidden) + " more problems\n";
  if (!verdict.isSafe())
    return verdict.has(Condition::C2) ? text : text + printCycle(verdict);

  text +=
      "safe: " + counted(verdict.actions, "action") + ", " +
      counted(verdict.stages, "stage") + ", " +
      counted(verdict.microbatches, "micro-batch", "micro-batches") + ", " +
      (verdict.levels > 0 ? counted(verdict.levels, "level") + " once a step, "
                          : "") +
      counted(verdict.messages, "message") + " over " +
      counted(verdict.edges, "edge") + ", " + counted(verdict.queues, "queue") +
      "\n";
  for (Condition condition : verdict.proved) {
    const std::string name(nameOf(condition));
    text += "  " + name + std::string(8 - name.size(), ' ') +
            std::string(meaningOf(condition)) + "\n";
  }
  if (verdict.cycle.empty())
    return text;
  return text + "C3 does not hold; these calls would block each other:\n" +
         printCycle(verdict);
}

} // namespace weft::timeline
