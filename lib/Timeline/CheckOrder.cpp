//===- CheckOrder.cpp - Whether each action stands behind its inputs ------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JobIndex.h"

#include <map>

namespace weft::timeline {

/// Whether what is in one column has ended when what is in the other starts:
/// the two of a pair start and end together.
static bool isBehind(const JobIndex &index, int32_t rank, int32_t column,
                     int32_t input) {
  return input < column &&
         !(input + 1 == column && index.at(rank, input).overlapsNext);
}

static void requireBehind(JobIndex &index, int32_t rank, int32_t column,
                          int32_t input) {
  if (!isBehind(index, rank, column, input))
    index.fail(Condition::Order, rank, column,
               shown(index.at(rank, column)) + " needs " +
                   shown(index.at(rank, input)) + " at " + place(rank, input) +
                   ", which does not end before it");
}

/// What one edge carries: behind its producer or receive, ahead of its consumer
/// or send.
static void checkEdge(JobIndex &index, int32_t number) {
  const Edge &edge = index.job.edges[number];
  const std::vector<int32_t> &made = index.made(edge.isBackward);
  const int32_t from = index.rankOf[edge.source];
  const int32_t to = index.rankOf[edge.destination];
  for (int32_t i = 0; i < index.microbatches; ++i) {
    const int32_t message = index.messageOf(number, i);
    const int32_t producer = made[size_t(edge.source) * index.microbatches + i];
    const int32_t consumer =
        made[size_t(edge.destination) * index.microbatches + i];
    if (from == to) {
      requireBehind(index, to, consumer, producer);
      continue;
    }
    requireBehind(index, from, index.send[message], producer);
    requireBehind(index, to, consumer, index.receive[message]);
  }
}

/// C9: bitwise equal gradients need the same order of sums.
static void checkGradientOrder(JobIndex &index, int32_t stage) {
  const std::vector<int32_t> &order = index.job.gradientOrder;
  for (int32_t i = 0; i + 1 < index.microbatches; ++i) {
    const size_t row = size_t(stage) * index.microbatches;
    const int32_t first =
        index.weightGradient[row + (order.empty() ? i : order[i])];
    const int32_t second =
        index.weightGradient[row + (order.empty() ? i + 1 : order[i + 1])];
    const int32_t rank = index.rankOf[stage];
    if (second < first)
      index.fail(
          Condition::C9, rank, second,
          shown(index.at(rank, second)) + " adds to the gradient before " +
              shown(index.at(rank, first)) + " at " + place(rank, first));
  }
}

static bool isOrder(const std::vector<int32_t> &order, int32_t microbatches) {
  std::vector<bool> seen(microbatches);
  for (int32_t microbatch : order) {
    if (microbatch < 0 || microbatch >= microbatches || seen[microbatch])
      return false;
    seen[microbatch] = true;
  }
  return order.empty() || int32_t(order.size()) == microbatches;
}

/// What a once edge carries, and the levels of each stage around its
/// micro-batches.
void checkLevels(JobIndex &index) {
  for (size_t i = 0; i < index.job.onceEdges.size(); ++i) {
    const int32_t edge = index.countEdges() + int32_t(i);
    const int32_t message = index.messageOf(edge, nowhere);
    const int32_t from = index.sender(message), to = index.receiver(message);
    const int32_t producer = index.producerOf(message);
    const int32_t consumer = index.consumerOf(message);
    if (from != to)
      requireBehind(index, from, index.send[message], producer);
    if (consumer != nowhere)
      requireBehind(index, to, consumer,
                    from == to ? producer : index.receive[message]);
  }
  for (int32_t stage = 0; stage < index.stages; ++stage) {
    int32_t before = nowhere;
    const auto follow = [&](int32_t column) {
      if (before != nowhere && column != nowhere)
        requireBehind(index, index.rankOf[stage], column, before);
      before = column == nowhere ? before : column;
    };
    for (int32_t column : index.prologue[stage])
      follow(column);
    follow(index.firstColumn[stage]);
    before = index.lastColumn[stage];
    for (int32_t column : index.update[stage])
      follow(column);
  }
}

void checkOrder(JobIndex &index) {
  for (size_t i = 0; i < index.job.edges.size(); ++i)
    if (!index.job.edges[i].isBackward || index.hasBackward)
      checkEdge(index, int32_t(i));
  if (!index.hasBackward)
    return;
  for (int32_t stage = 0; stage < index.stages; ++stage)
    for (int32_t i = 0; i < index.microbatches; ++i) {
      const size_t key = size_t(stage) * index.microbatches + i;
      const int32_t rank = index.rankOf[stage];
      requireBehind(index, rank, index.inputGradient[key], index.forward[key]);
      if (index.weightGradient[key] != index.inputGradient[key])
        requireBehind(index, rank, index.weightGradient[key],
                      index.inputGradient[key]);
    }
  if (!isOrder(index.job.gradientOrder, index.microbatches)) {
    index.fail(Condition::C9, nowhere, nowhere,
               "the order of gradients must name each micro-batch once");
    return;
  }
  const size_t before = index.verdict.problems.size();
  for (int32_t stage = 0; stage < index.stages; ++stage)
    checkGradientOrder(index, stage);
  if (index.verdict.problems.size() == before)
    index.verdict.proved.push_back(Condition::C9);
}

namespace {

/// What a rank has done with the parameters of a stage.
struct Parameters {
  bool areSharded = false;
  bool areGathered = false;
  bool areFreed = false;
  bool areReduced = false;
  int32_t gradients = 0;
  int32_t reductions = 0;
};

} // namespace

/// A stage of the rank whose gradients are still to be reduced.
static int32_t findUnreduced(const JobIndex &index, int32_t rank,
                             const std::vector<Parameters> &stages) {
  for (int32_t stage = 0; stage < index.stages; ++stage)
    if (index.rankOf[stage] == rank && stages[stage].areReduced &&
        stages[stage].reductions == 0)
      return stage;
  return nowhere;
}

static void checkParametersOfRow(JobIndex &index, int32_t rank,
                                 std::vector<Parameters> &stages) {
  const std::vector<Call> &row = index.job.rows[rank];
  for (size_t i = 0; i < row.size(); ++i) {
    const Action &action = row[i].action;
    Parameters &stage = stages[action.stage];
    std::string problem;
    switch (action.kind) {
    case ActionKind::Unshard:
      if (stage.areGathered)
        problem = ": the parameters are gathered already";
      stage.areGathered = true;
      break;
    case ActionKind::Reshard:
      if (!stage.areGathered)
        problem = ": the parameters are not gathered";
      stage.areGathered = false;
      stage.areFreed = true;
      break;
    case ActionKind::Update:
      if (const int32_t other = findUnreduced(index, rank, stages);
          other != nowhere)
        problem = " needs the gradients of stage " + std::to_string(other) +
                  ", which are not reduced";
      break;
    case ActionKind::ReduceGradient:
      if (!stage.areReduced)
        problem = " is unexpected: the update reduces these gradients";
      else if (stage.gradients != index.microbatches || stage.reductions > 0)
        problem = " must come once, behind all weight gradients of the stage";
      ++stage.reductions;
      break;
    case ActionKind::Backward:
    case ActionKind::WeightGradient:
      ++stage.gradients;
      [[fallthrough]];
    default:
      if (isCompute(action.kind) && stage.areSharded && !stage.areGathered)
        problem = " needs the parameters, which are not gathered";
    }
    if (!problem.empty())
      index.fail(Condition::Order, rank, int32_t(i), shown(action) + problem);
  }
}

/// The gathers that a pass would use, if its parameters are gathered for each
/// micro-batch.
static GatheredPass gathersFor(const Action &action) {
  const bool isBackward = action.kind == ActionKind::Backward ||
                          action.kind == ActionKind::InputGradient;
  return {action.stage, isBackward ? ActionKind::UnshardBackward
                        : action.kind == ActionKind::Forward
                            ? ActionKind::UnshardForward
                            : action.kind};
}

/// What is gathered for a pass is in one place: each gather behind the pass
/// before, and ahead of its own.
static void checkPassGathers(JobIndex &index, int32_t rank,
                             std::map<GatheredPass, int32_t> &held) {
  const std::vector<Call> &row = index.job.rows[rank];
  for (size_t i = 0; i < row.size(); ++i) {
    const Action &action = row[i].action;
    const bool gathers = isPassGather(action.kind);
    const auto found = held.find(gathersFor(action));
    if (found == held.end()) {
      if (gathers)
        index.fail(
            Condition::Order, rank, int32_t(i),
            shown(action) +
                " is unexpected: the pass gathers its parameters itself");
      continue;
    }
    int32_t &microbatch = found->second;
    std::string problem;
    if (gathers && microbatch != nowhere)
      problem = " would be written over what " +
                shown({action.stage, action.kind, microbatch}) +
                " gathered, which is not used yet";
    else if (!gathers && microbatch != action.microbatch)
      problem = " needs " +
                shown({action.stage, found->first.second, action.microbatch}) +
                " behind the pass before it";
    microbatch = gathers ? action.microbatch : nowhere;
    if (!problem.empty())
      index.fail(Condition::Order, rank, int32_t(i), shown(action) + problem);
  }
}

/// While it is in flight, nothing uses its memory.
static void checkDeferred(JobIndex &index, const Deferred &deferred) {
  const auto &[rank, column, awaitedBy, users] = deferred;
  const bool isRight = rank >= 0 && size_t(rank) < index.job.rows.size() &&
                       column >= 0 && column < awaitedBy &&
                       size_t(awaitedBy) <= index.job.rows[rank].size() &&
                       canBeDeferred(index.at(rank, column).kind);
  if (!isRight) {
    index.fail(Condition::Order, rank, column,
               "column " + std::to_string(column + 1) + ", awaited by column " +
                   std::to_string(awaitedBy + 1) +
                   ", is neither UNSHARD nor REDUCE_GRAD");
    return;
  }
  for (int32_t user : users)
    if (column < user && user < awaitedBy)
      index.fail(Condition::Order, rank, user,
                 shown(index.at(rank, user)) + " does not wait for " +
                     shown(index.at(rank, column)) + " at " +
                     place(rank, column) + ", whose memory it uses");
}

void checkParameters(JobIndex &index) {
  bool any = !index.job.reducedStages.empty() ||
             !index.job.shardedStages.empty() ||
             !index.job.gatheredPasses.empty();
  for (size_t rank = 0; rank < index.job.rows.size(); ++rank)
    for (size_t i = 0; i < index.job.rows[rank].size(); ++i) {
      const Action &action = index.job.rows[rank][i].action;
      if (isComputed(action.kind) || isTransfer(action.kind))
        continue;
      any = true;
      if (index.rankOf[action.stage] != int32_t(rank))
        index.fail(Condition::Order, int32_t(rank), int32_t(i),
                   shown(action) + " belongs on rank " +
                       std::to_string(index.rankOf[action.stage]) +
                       ", which computes stage " +
                       std::to_string(action.stage));
    }
  if (!any || !index.verdict.problems.empty())
    return;
  std::vector<Parameters> stages(index.stages);
  for (int32_t stage : index.job.shardedStages)
    if (stage >= 0 && stage < index.stages)
      stages[stage].areSharded = true;
  for (int32_t stage : index.job.reducedStages)
    if (stage >= 0 && stage < index.stages)
      stages[stage].areReduced = true;
  std::map<GatheredPass, int32_t> held;
  for (const GatheredPass &pass : index.job.gatheredPasses)
    held[pass] = nowhere;
  for (size_t rank = 0; rank < index.job.rows.size(); ++rank) {
    checkParametersOfRow(index, int32_t(rank), stages);
    checkPassGathers(index, int32_t(rank), held);
  }
  for (const auto &[pass, microbatch] : held)
    if (microbatch != nowhere)
      index.fail(Condition::Order, index.rankOf[pass.first], nowhere,
                 shown({pass.first, pass.second, microbatch}) +
                     " gathers for no pass behind it");
  for (int32_t i = 0; i < index.stages; ++i) {
    if (stages[i].areGathered && stages[i].areFreed)
      index.fail(Condition::Order, index.rankOf[i], nowhere,
                 shown({i, ActionKind::Reshard}) + " is missing at the end");
    if (stages[i].areReduced && stages[i].reductions == 0)
      index.fail(Condition::Order, index.rankOf[i], nowhere,
                 shown({i, ActionKind::ReduceGradient}) + " is missing");
  }
  for (const Deferred &deferred : index.job.deferred)
    checkDeferred(index, deferred);
}

} // namespace weft::timeline
