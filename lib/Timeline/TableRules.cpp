//===- TableRules.cpp - What a table must have ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/TableRules.h"

#include "Simulation.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace weft::timeline {
namespace {

/// A table of which most is missing has as many problems as it lacks actions.
constexpr size_t mostProblems = 100;

/// Where an action stands.
struct Position {
  int32_t row = -1;
  size_t index = 0;
};

class RuleChecker {
public:
  explicit RuleChecker(const Table &table) : table(table) {}

  std::vector<std::string> check() {
    collect();
    checkRows();
    checkOthers();
    checkCompleteness();
    if (isPlaced)
      checkOrder();
    // What is missing or out of order would be reported as waiting again.
    if (problems.empty())
      checkProgress();
    return std::move(problems);
  }

private:
  using Key = std::tuple<int32_t, ActionKind, int32_t>;

  void report(int32_t row, const std::string &text) {
    problems.push_back("row " + std::to_string(row + 1) + ": " + text);
  }
  const Position *find(int32_t stage, ActionKind kind,
                       int32_t microbatch) const {
    const auto found = positions.find({stage, kind, microbatch});
    return found == positions.end() ? nullptr : &found->second;
  }
  const Position *findBackward(int32_t stage, int32_t microbatch) const {
    const Position *full = find(stage, ActionKind::Backward, microbatch);
    return full ? full : find(stage, ActionKind::InputGradient, microbatch);
  }

  void collect();
  void checkRows();
  void checkOthers();
  void checkCompleteness();
  void checkMicrobatch(int32_t stage, int32_t microbatch, int32_t row);
  void checkOrder();
  void checkBefore(const Position &position, const Position *needed);
  void checkProgress();

  const Table &table;
  std::map<Key, Position> positions;
  /// By stage: the row of its first action.
  std::map<int32_t, int32_t> rowOfStage;
  int32_t microbatches = 0;
  /// Whether every stage is on one rank.
  bool isPlaced = true;
  std::vector<std::string> problems;
};

std::string name(int32_t stage, ActionKind kind, int32_t microbatch) {
  return print(Action{stage, kind, microbatch});
}

/// Places of every action, and those that are there twice or on a rank that
/// does not have their stage.
void RuleChecker::collect() {
  std::map<int32_t, int32_t> otherRows;
  for (int32_t row = 0; row < table.ranks(); ++row)
    for (size_t i = 0; i < table.rows[row].size(); ++i) {
      const Action &action = table.rows[row][i];
      if (isOnce(action.kind))
        report(row, print(action) + " is once a step; remove it, the compiler "
                                    "adds such actions to a table");
      if (!isCompute(action.kind))
        continue;
      microbatches = std::max(microbatches, action.microbatch + 1);
      const int32_t first = rowOfStage.emplace(action.stage, row).first->second;
      const bool isNew =
          positions
              .insert(
                  {{action.stage, action.kind, action.microbatch}, {row, i}})
              .second;
      if (first != row) {
        isPlaced = false;
        // One message for a stage and a row, not one for each action.
        if (otherRows.emplace(action.stage, row).second)
          report(row, print(action) + " is of stage " +
                          std::to_string(action.stage) +
                          ", which is on the rank of row " +
                          std::to_string(first + 1) +
                          "; move all actions of a stage to one row");
      } else if (!isNew) {
        report(row,
               print(action) + " is there more than once; remove all but one");
      }
    }
}

void RuleChecker::checkRows() {
  for (int32_t row = 0; row < table.ranks(); ++row) {
    const auto isComputing = [](const Action &action) {
      return isCompute(action.kind);
    };
    if (std::ranges::none_of(table.rows[row], isComputing))
      report(row, "has no compute action; a rank needs at least one stage, "
                  "remove the row or give it one");
  }
}

/// Transfers, gathers and reductions may be there or not, but only of what is
/// computed.
void RuleChecker::checkOthers() {
  const auto hasStage = [&](int32_t stage) {
    return rowOfStage.contains(stage);
  };
  for (int32_t row = 0; row < table.ranks(); ++row)
    for (const Action &action : table.rows[row]) {
      if (isCompute(action.kind) || isOnce(action.kind))
        continue;
      if (problems.size() >= mostProblems)
        return;
      std::string problem;
      if (!hasStage(action.stage))
        problem = "is of stage " + std::to_string(action.stage) +
                  ", which no row computes; remove it";
      else if (const int32_t own = rowOfStage.at(action.stage); own != row)
        problem = "is of stage " + std::to_string(action.stage) +
                  ", which is on the rank of row " + std::to_string(own + 1) +
                  "; move it there, or remove it";
      else if (action.microbatch >= microbatches)
        problem = "is of micro-batch " + std::to_string(action.microbatch) +
                  ", which no row computes; remove it";
      else if (isTransfer(action.kind) && !hasStage(peerOf(action)))
        problem = "has stage " + std::to_string(peerOf(action)) +
                  " at its other end, which no row computes; remove it";
      if (!problem.empty())
        report(row, print(action) + " " + problem);
    }
}

void RuleChecker::checkCompleteness() {
  // No more stages than actions, however large the number of one is.
  int32_t expected = 0;
  for (const auto &[stage, row] : rowOfStage) {
    if (stage > expected)
      report(row, "has stage " + std::to_string(stage) + ", but no row has " +
                      (stage - expected == 1
                           ? "stage " + std::to_string(expected)
                           : "stages " + std::to_string(expected) + " to " +
                                 std::to_string(stage - 1)) +
                      "; stages count from 0 without gaps");
    expected = stage + 1;
  }
  if (microbatches > int64_t(positions.size())) {
    const auto &[key, position] =
        *std::ranges::max_element(positions, {}, [](const auto &entry) {
          return std::get<2>(entry.first);
        });
    return report(position.row,
                  name(std::get<0>(key), std::get<1>(key), std::get<2>(key)) +
                      " is of a micro-batch that most stages do not have; "
                      "micro-batches count from 0 without gaps");
  }
  for (const auto &[stage, row] : rowOfStage)
    for (int32_t i = 0; i < microbatches; ++i) {
      if (problems.size() >= mostProblems)
        return report(row, "more problems follow; mend these first");
      checkMicrobatch(stage, i, row);
    }
}

/// F once, and B or I and W once.
void RuleChecker::checkMicrobatch(int32_t stage, int32_t microbatch,
                                  int32_t row) {
  const auto has = [&](ActionKind kind) {
    return find(stage, kind, microbatch) != nullptr;
  };
  const auto nameOf = [&](ActionKind kind) {
    return name(stage, kind, microbatch);
  };
  const std::string forward = nameOf(ActionKind::Forward);
  const std::string full = nameOf(ActionKind::Backward);
  const std::string input = nameOf(ActionKind::InputGradient);
  const std::string weight = nameOf(ActionKind::WeightGradient);
  const bool hasInput = has(ActionKind::InputGradient);
  const bool hasWeight = has(ActionKind::WeightGradient);
  if (!has(ActionKind::Forward))
    report(row, forward + " is missing; add it");
  if (has(ActionKind::Backward)) {
    if (hasInput || hasWeight)
      report(row, full + " is there beside " + (hasInput ? input : weight) +
                      "; a backward pass is either B, or I and W: remove one");
  } else if (!hasInput && !hasWeight) {
    report(row, full + " is missing; add it, or " + input + " and " + weight);
  } else if (!hasWeight) {
    report(row, weight + " is missing; add it behind " + input +
                    ", or replace that by " + full);
  } else if (!hasInput) {
    report(row, input + " is missing; add it before " + weight +
                    ", or replace that by " + full);
  }
}

void RuleChecker::checkBefore(const Position &position,
                              const Position *needed) {
  if (!needed || needed->row != position.row)
    return;
  const Row &row = table.rows[position.row];
  const bool isPair =
      needed->index + 1 == position.index && row[needed->index].overlapsNext;
  const std::string action = print(row[position.index]);
  const std::string other = print(row[needed->index]);
  if (isPair)
    report(position.row, action + " overlaps " + other +
                             ", which it needs; run one after the other");
  else if (needed->index > position.index)
    report(position.row, action + " stands before " + other +
                             ", which it needs; move it behind");
}

/// What a rank needs of itself.
void RuleChecker::checkOrder() {
  for (const auto &[key, position] : positions) {
    const auto [stage, kind, microbatch] = key;
    switch (kind) {
    case ActionKind::Forward:
      checkBefore(position, find(stage - 1, kind, microbatch));
      break;
    case ActionKind::WeightGradient:
      checkBefore(position, find(stage, ActionKind::InputGradient, microbatch));
      break;
    default:
      checkBefore(position, find(stage, ActionKind::Forward, microbatch));
      checkBefore(position, findBackward(stage + 1, microbatch));
    }
  }
}

/// Whether the ranks wait for each other in a circle.
void RuleChecker::checkProgress() {
  const Table compute = computeOnly(table);
  Costs costs;
  costs.stages.resize(rowOfStage.size());
  Simulation simulation(compute, costs);
  if (simulation.run())
    return;
  // From a rank that waits to the one that it waits for, until it closes.
  int32_t rank = 0;
  while (!simulation.ranks[rank].wait)
    ++rank;
  const auto awaited = [&](int32_t waiting) {
    return simulation.extent.placement[simulation.ranks[waiting].wait->stage];
  };
  std::vector<bool> seen(table.ranks());
  for (; !seen[rank]; rank = awaited(rank))
    seen[rank] = true;
  const auto headOf = [&](int32_t waiting) {
    return print(compute.rows[waiting][simulation.ranks[waiting].next]);
  };
  std::string circle;
  const int32_t first = rank;
  do {
    const Simulation::Wait &wait = *simulation.ranks[rank].wait;
    const Position *needed =
        wait.isForward ? find(wait.stage, ActionKind::Forward, wait.microbatch)
                       : findBackward(wait.stage, wait.microbatch);
    circle += (circle.empty() ? "" : ", ") + headOf(rank) + " (row " +
              std::to_string(rank + 1) + ") waits for " +
              print(table.rows[needed->row][needed->index]) + " (row " +
              std::to_string(needed->row + 1) + ")";
    if (needed->row != first)
      circle += ", which comes after " + headOf(needed->row);
    rank = needed->row;
  } while (rank != first);
  report(first, headOf(first) + " can never start: " + circle +
                    ", which comes after " + headOf(first) +
                    "; move one of the actions that are waited for forward");
}

} // namespace

std::vector<std::string> findProblems(const Table &table) {
  return RuleChecker(table).check();
}

} // namespace weft::timeline
