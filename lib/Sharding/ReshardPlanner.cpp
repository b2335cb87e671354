//===- ReshardPlanner.cpp - Cheapest way between two shardings ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/ReshardPlanner.h"

#include "ReshardRelabel.h"
#include "ReshardSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>

using namespace weft;
using namespace weft::sharding;

using Moves = llvm::SmallVector<DigitMove, 4>;

/// Digits up to which axes are cut into primes; beyond, only where the sizes of
/// the two shardings meet. The time of a search grows with their permutations.
static int maxFineDigits(PlanEffort effort) {
  return effort == PlanEffort::Best ? 6 : 4;
}

int64_t ReshardPlan::wireBytes() const {
  int64_t total = 0;
  for (const ReshardStep &step : steps)
    total += step.wireBytes;
  return total;
}

double ReshardPlan::seconds() const {
  double total = 0;
  for (const ReshardStep &step : steps)
    total += step.seconds;
  return total;
}

size_t ReshardPlan::numCollectives() const {
  return llvm::count_if(
      steps, [](const ReshardStep &step) { return !step.isLocal(); });
}

//===----------------------------------------------------------------------===//
// Moves to steps
//===----------------------------------------------------------------------===//

/// Joins slices of one dimension, and masks, that follow each other. Slices of
/// different dimensions commute, so they are first ordered by dimension.
static Moves joinLocalMoves(const DigitProblem &problem, Moves moves) {
  auto isSlice = [](const DigitMove &move) {
    return move.kind == ReshardKind::AllSlice;
  };
  for (auto it = moves.begin(); it != moves.end();) {
    auto end = std::find_if_not(it, moves.end(), isSlice);
    std::stable_sort(it, end, [](const DigitMove &a, const DigitMove &b) {
      return a.dim < b.dim;
    });
    it = end == moves.end() ? end : std::next(end);
  }
  Moves joined;
  DigitLayout layout = problem.from;
  for (DigitMove &move : moves) {
    if (isSlice(move))
      layout.dims[move.dim].append(move.digits);
    else
      layout = move.result;
    move.result = layout;
    bool isLocal = isSlice(move) || move.kind == ReshardKind::MaskToUnreduced;
    if (isLocal && !joined.empty() && joined.back().kind == move.kind &&
        joined.back().dim == move.dim) {
      joined.back().digits.append(move.digits);
      joined.back().result = move.result;
    } else {
      joined.push_back(move);
    }
  }
  return joined;
}

static ReshardPlan toPlan(const DigitProblem &problem, const Moves &moves,
                          Reduction reduction, const Sharding &to) {
  ReshardPlan plan;
  const DigitLayout *layout = &problem.from;
  for (const DigitMove &move : moves) {
    ReshardStep &step = plan.steps.emplace_back();
    step.kind = move.kind;
    step.dim = move.dim;
    step.concatDim = move.concatDim;
    step.axes = problem.axes(move.kind == ReshardKind::AllReduce ||
                                     move.kind == ReshardKind::MaskToUnreduced
                                 ? digitsOf(setOf(move.digits))
                                 : move.digits);
    step.toAxes = problem.axes(move.toDigits);
    step.wireBytes = wireBytes(problem, *layout, move);
    if (!step.isLocal())
      step.seconds = problem.cost->seconds(
          step.wireBytes,
          std::max(problem.span(move.digits), problem.span(move.toDigits)));
    step.result = problem.toSharding(move.result, reduction);
    layout = &move.result;
  }
  // The target's own spelling, which may mention axes of size 1.
  if (!plan.steps.empty())
    plan.steps.back().result = to;
  return plan;
}

//===----------------------------------------------------------------------===//
// Searching
//===----------------------------------------------------------------------===//

namespace {

struct Solution {
  DigitProblem problem;
  Moves moves;
};

} // namespace

static Solution solve(DigitProblem problem, PlanEffort effort) {
  Moves plain = makePlainMoves(problem);
  if (auto found = searchMoves(problem, costOf(problem, plain), effort))
    plain = std::move(*found);
  Moves joined = joinLocalMoves(problem, std::move(plain));
  return {std::move(problem), std::move(joined)};
}

/// Plans where no axis is cut in clashing ways and at most one kind of
/// reduction is involved.
static std::optional<ReshardPlan>
planPlainly(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
            int64_t elementBytes, const Sharding &from, const Sharding &to,
            const cost::CollectiveCost &cost, PlanEffort effort) {
  auto make = [&](DigitCut cut, DigitChoice choice) {
    return makeDigitProblem(mesh, shape, elementBytes, from, to, cost, cut,
                            choice);
  };
  std::optional<DigitProblem> problem =
      make(DigitCut::Coarse, DigitChoice::Differing);
  if (!problem)
    return std::nullopt;
  Solution best = solve(std::move(*problem), effort);
  PathCost bound = costOf(best.problem, best.moves);
  if (bound.collectives > 0) {
    // As finely, and with as much, as the time for a search allows.
    for (auto [cut, choice] :
         {std::pair(DigitCut::Primes, DigitChoice::All),
          std::pair(DigitCut::Primes, DigitChoice::Differing),
          std::pair(DigitCut::Aligned, DigitChoice::Differing)}) {
      problem = make(cut, choice);
      if (problem && problem->numMoving() <= maxFineDigits(effort))
        break;
    }
    if (problem && problem->digits != best.problem.digits)
      if (auto found = searchMoves(*problem, bound, effort)) {
        Moves joined = joinLocalMoves(*problem, std::move(*found));
        best = {std::move(*problem), std::move(joined)};
      }
  }
  Reduction reduction =
      from.unreduced.empty() ? to.unreducedKind : from.unreducedKind;
  return toPlan(best.problem, best.moves, reduction, to);
}

/// `to` as far as it is free of `axes`: each dimension up to the first of them.
static Sharding withoutAxes(const Sharding &to, llvm::ArrayRef<int32_t> axes) {
  Sharding result = to;
  auto isBanned = [&](const AxisRef &ref) {
    return llvm::is_contained(axes, ref.axis);
  };
  for (DimSharding &dim : result.dims)
    dim.axes.erase(llvm::find_if(dim.axes, isBanned), dim.axes.end());
  llvm::erase_if(result.unreduced, isBanned);
  return result;
}

static bool fits(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                 const Sharding &sharding) {
  return sharding.dims.size() == shape.size() &&
         checkSharding(mesh, sharding, shape.size()).empty() &&
         localShape(shape, sharding).has_value();
}

static PathCost priceOf(const ReshardPlan &plan) {
  PathCost total;
  for (const ReshardStep &step : plan.steps)
    total = total + PathCost{toPicoseconds(step.seconds), !step.isLocal(), 1};
  return total;
}

/// The two plans one after the other; none if one is missing.
static std::optional<ReshardPlan> join(std::optional<ReshardPlan> first,
                                       std::optional<ReshardPlan> second) {
  if (!first || !second)
    return std::nullopt;
  first->steps.append(second->steps);
  return first;
}

//===----------------------------------------------------------------------===//
// Axes that the shardings cut in clashing ways
//===----------------------------------------------------------------------===//

namespace {

/// What all attempts at one reshard have in common.
struct Attempts {
  const Mesh &mesh;
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes;
  const cost::CollectiveCost &cost;
  PlanEffort effort;

  std::optional<ReshardPlan> plainly(const Sharding &from,
                                     const Sharding &to) const {
    return planPlainly(mesh, shape, elementBytes, from, to, cost, effort);
  }
  ReshardPlan permute(llvm::ArrayRef<AxisRef> from, llvm::ArrayRef<AxisRef> to,
                      const Sharding &result) const;
  std::optional<ReshardPlan> relabeled(const Sharding &from, const Sharding &to,
                                       llvm::ArrayRef<int32_t> clashing) const;
};

} // namespace

/// One permute that leads to `result`.
ReshardPlan Attempts::permute(llvm::ArrayRef<AxisRef> from,
                              llvm::ArrayRef<AxisRef> to,
                              const Sharding &result) const {
  ReshardPlan plan;
  ReshardStep &step = plan.steps.emplace_back();
  step.kind = ReshardKind::Permute;
  for (const AxisRef &digit : from)
    appendMerging(step.axes, digit);
  for (const AxisRef &digit : to)
    appendMerging(step.toAxes, digit);
  step.result = result;
  int64_t local = elementBytes;
  const std::optional<Shape> part = localShape(shape, result);
  for (int64_t size : *part)
    local *= size;
  step.wireBytes = cost::wireBytes(cost::CollectiveKind::Permute, local,
                                   numShards(step.axes));
  step.seconds = cost.seconds(
      step.wireBytes, std::max(mesh.span(step.axes), mesh.span(step.toAxes)));
  return plan;
}

/// The cheapest plan that turns one cut of the clashing axes into the other by
/// a permute, first or last.
std::optional<ReshardPlan>
Attempts::relabeled(const Sharding &from, const Sharding &to,
                    llvm::ArrayRef<int32_t> clashing) const {
  std::optional<ReshardPlan> best;
  auto consider = [&](std::optional<ReshardPlan> plan) {
    if (plan && (!best || priceOf(*plan) < priceOf(*best)))
      best = std::move(plan);
  };
  for (const auto &[source, target] :
       findRelabelings(mesh, from, to, clashing)) {
    Sharding near = relabel(to, target, source);
    consider(join(plainly(from, near), permute(source, target, to)));
    Sharding far = relabel(from, source, target);
    consider(join(permute(source, target, far), plainly(far, to)));
  }
  return best;
}

/// Whether an axis is reduced whole and then, or a part of it that clashes,
/// sliced.
static bool slicesWhatItReduced(const ReshardPlan &plan) {
  AxisList reduced;
  for (const ReshardStep &step : plan.steps) {
    if (step.kind == ReshardKind::AllReduce)
      reduced.append(step.axes);
    if (step.kind == ReshardKind::AllSlice)
      for (const AxisRef &sliced : step.axes)
        if (llvm::any_of(reduced, [&](const AxisRef &ref) {
              return ref.overlaps(sliced);
            }))
          return true;
  }
  return false;
}

static std::optional<ReshardPlan>
planAnew(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
         const Sharding &from, const Sharding &to,
         const cost::CollectiveCost &cost, PlanEffort effort) {
  if (!fits(mesh, shape, from) || !fits(mesh, shape, to))
    return std::nullopt;
  Attempts attempts{mesh, shape, elementBytes, cost, effort};
  // Partial values of one kind are whole before they become those of another.
  if (!from.unreduced.empty() && !to.unreduced.empty() &&
      from.unreducedKind != to.unreducedKind) {
    Sharding whole = to;
    whole.unreduced.clear();
    return join(planAnew(mesh, shape, elementBytes, from, whole, cost, effort),
                attempts.plainly(whole, to));
  }
  auto clashing = findClashingAxes(from, to);
  if (clashing.empty())
    return attempts.plainly(from, to);
  // A meeting point from which the rest of the way is local.
  Sharding middle = withoutAxes(to, clashing);
  std::optional<ReshardPlan> meeting =
      join(attempts.plainly(from, middle), attempts.plainly(middle, to));
  std::optional<ReshardPlan> relabeled = attempts.relabeled(from, to, clashing);
  if (!meeting || slicesWhatItReduced(*meeting))
    return relabeled;
  return relabeled && priceOf(*relabeled) < priceOf(*meeting) ? relabeled
                                                              : meeting;
}

//===----------------------------------------------------------------------===//
// Remembering
//===----------------------------------------------------------------------===//

namespace {

/// Plans of one mesh and its links. Passes ask for the same ones as those
/// before them, and so do variants of a program, which threads compile.
class KnownPlans {
public:
  using Key = std::vector<int64_t>;
  using Plan = std::optional<ReshardPlan>;

  KnownPlans(Mesh mesh, cost::CollectiveCost cost)
      : mesh(std::move(mesh)), cost(std::move(cost)) {}

  bool areOf(const Mesh &other, const cost::CollectiveCost &otherCost) const {
    return mesh == other && cost == otherCost;
  }
  std::optional<Plan> find(const Key &key) {
    const std::lock_guard lock(mutex);
    const auto found = plans.find(key);
    return found == plans.end() ? std::optional<Plan>()
                                : std::optional<Plan>(found->second);
  }
  void add(Key key, const Plan &plan) {
    constexpr size_t most = 4096;
    const std::lock_guard lock(mutex);
    if (plans.size() >= most)
      plans.clear();
    plans.emplace(std::move(key), plan);
  }

private:
  Mesh mesh;
  cost::CollectiveCost cost;
  std::mutex mutex;
  std::map<Key, Plan> plans;
};

} // namespace

static void spell(llvm::ArrayRef<AxisRef> axes, std::vector<int64_t> &key) {
  for (const AxisRef &ref : axes)
    key.insert(key.end(), {ref.axis, ref.pre, ref.size});
  key.push_back(-1);
}

static void spell(const Sharding &sharding, std::vector<int64_t> &key) {
  for (const DimSharding &dim : sharding.dims) {
    spell(dim.axes, key);
    key.insert(key.end(), {dim.closed, dim.priority.value_or(-1)});
  }
  key.push_back(-2);
  spell(sharding.replicated, key);
  spell(sharding.unreduced, key);
  key.push_back(static_cast<int64_t>(sharding.unreducedKind));
}

static std::shared_ptr<KnownPlans> findKnown(const Mesh &mesh,
                                             const cost::CollectiveCost &cost) {
  constexpr size_t mostMeshes = 16;
  static std::mutex mutex;
  static std::deque<std::shared_ptr<KnownPlans>> known;
  const std::lock_guard lock(mutex);
  for (const std::shared_ptr<KnownPlans> &each : known)
    if (each->areOf(mesh, cost))
      return each;
  if (known.size() == mostMeshes)
    known.pop_back();
  return known.emplace_front(std::make_shared<KnownPlans>(mesh, cost));
}

std::optional<ReshardPlan>
sharding::planReshard(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                      int64_t elementBytes, const Sharding &from,
                      const Sharding &to, const cost::CollectiveCost &cost,
                      PlanEffort effort) {
  std::vector<int64_t> key(shape.begin(), shape.end());
  key.insert(key.end(), {elementBytes, static_cast<int64_t>(effort)});
  spell(from, key);
  spell(to, key);
  const std::shared_ptr<KnownPlans> known = findKnown(mesh, cost);
  if (auto found = known->find(key))
    return *found;
  auto plan = planAnew(mesh, shape, elementBytes, from, to, cost, effort);
  known->add(std::move(key), plan);
  return plan;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

std::string sharding::print(const Mesh &mesh, const ReshardStep &step) {
  auto axes = [&](const AxisList &list) { return mesh.print(list); };
  std::string dim = " dim " + std::to_string(step.dim);
  switch (step.kind) {
  case ReshardKind::AllSlice:
    return "all_slice" + dim + " over " + axes(step.axes);
  case ReshardKind::AllGather:
    return "all_gather" + dim + " over " + axes(step.axes);
  case ReshardKind::AllToAll:
    return "all_to_all split " + std::to_string(step.dim) + " concat " +
           std::to_string(step.concatDim) + " over " + axes(step.axes);
  case ReshardKind::Permute:
    return "permute from " + axes(step.axes) + " to " + axes(step.toAxes);
  case ReshardKind::ReduceScatter:
    return "reduce_scatter" + dim + " over " + axes(step.axes);
  case ReshardKind::AllReduce:
    return "all_reduce over " + axes(step.axes);
  case ReshardKind::MaskToUnreduced:
    return "mask_to_unreduced over " + axes(step.axes);
  }
  return {};
}
