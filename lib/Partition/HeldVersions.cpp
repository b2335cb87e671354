//===- HeldVersions.cpp - In which shardings values are there -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeldVersions.h"

#include "ElementMoves.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

using Id = HeldVersions::Id;

/// Needs of a value of which two are looked at together.
static constexpr size_t maxPairedNeeds = 6;

bool weft::isMarker(Operation *op) { return isa<ConstraintOp, ReshardOp>(op); }

Value weft::rootOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isMarker(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

Needs weft::findNeeds(func::FuncOp function, const OpChoices &choices,
                      ReshardPrices &prices) {
  Needs needs;
  DenseMap<Value, Value> roots;
  auto rootOf = [&](Value value) {
    auto root = roots.find(value);
    return root == roots.end() ? value : root->second;
  };
  Block &block = function.getBody().front();
  for (Operation &op : block.without_terminator()) {
    if (isMarker(&op)) {
      Value root = roots[op.getResult(0)] = rootOf(op.getOperand(0));
      needs[root].marked.insert(
          prices.intern(getSharding(op.getResult(0)), typeOf(root).getRank()));
      continue;
    }
    for (auto [value, need] :
         llvm::zip(op.getOperands(), choices.at(&op).operands))
      needs[rootOf(value)].needs.insert(need);
  }
  for (OpOperand &use : block.getTerminator()->getOpOperands())
    needs[rootOf(use.get())].needs.insert(
        prices.intern(getResultSharding(function, use.getOperandNumber()),
                      typeOf(use.get()).getRank()));
  return needs;
}

void weft::needInShards(Needs &needs, Operation *op,
                        const DenseSet<Operation *> &late,
                        ReshardPrices &prices) {
  if (!isa<SliceOp, RearrangeOp>(op))
    return;
  SmallVector<ElementMove, 1> moves = findMoves(op);
  ShardingAttr attr = getSharding(op->getOperand(0));
  if (!attr || moves.size() != 1)
    return;
  const int64_t dim = moves.front().dim;
  const sharding::AxisList axes =
      prices.get(prices.intern(attr, typeOf(op->getOperand(0)).getRank()))
          .dims[dim]
          .axes;
  if (axes.empty())
    return;
  for (Value operand : op->getOperands()) {
    Value root = rootOf(operand);
    auto found = needs.find(root);
    if (found == needs.end())
      continue;
    if (isa<SliceOp>(op) || !late.contains(root.getDefiningOp())) {
      needs.erase(found);
      continue;
    }
    llvm::SmallSetVector<Id, 4> inShards;
    for (Id need : found->second.needs) {
      sharding::Sharding split = prices.get(need);
      if (llvm::none_of(axes, [&](const sharding::AxisRef &axis) {
            return split.mentions(axis);
          }))
        split.dims[dim].axes = axes;
      inShards.insert(prices.intern(split));
    }
    found->second.needs = std::move(inShards);
  }
}

void HeldVersions::define(Value value, Id made) {
  groups[value] = all.size();
  all.push_back({value, {made}, {}, {}});
}

void HeldVersions::share(Value value, Value other) {
  size_t group = groupOf(other);
  groups[value] = group;
}

void HeldVersions::widen(Value wide, Value narrow) {
  all[groupOf(wide)].narrow = narrow;
}

/// The time that it takes to make all of `needs`, each of the nearest version.
double HeldVersions::secondsOfAll(const Group &group,
                                  ArrayRef<Id> needs) const {
  RankedTensorType type = prices.typeToSum(group.value);
  RankedTensorType moved = typeToMove(group.value);
  SmallVector<Id, 4> versions(group.versions.begin(), group.versions.end());
  double seconds = 0;
  for (Id need : needs) {
    if (llvm::is_contained(versions, need))
      continue;
    double least = std::numeric_limits<double>::infinity();
    for (Id version : versions)
      least = std::min(
          least, prices.seconds(version, need,
                                prices.reduces(version, need) ? type : moved));
    seconds += least;
    versions.push_back(need);
  }
  return seconds;
}

/// The sharding of most axes of which both are parts that a device has itself.
static sharding::Sharding coveringBoth(const sharding::Sharding &a,
                                       const sharding::Sharding &b) {
  auto covering = sharding::Sharding::closed(a.dims.size());
  for (auto [dim, first, second] :
       llvm::zip_equal(covering.dims, a.dims, b.dims))
    for (auto [x, y] : llvm::zip(first.axes, second.axes)) {
      if (x != y)
        break;
      dim.axes.push_back(x);
    }
  return covering;
}

/// One version after the other is moved to the front while that saves time.
void HeldVersions::plan(Value value, const Needs &allNeeds) {
  auto found = allNeeds.find(value);
  if (found == allNeeds.end())
    return;
  const auto &[needs, marked] = found->second;
  Group &group = all[groupOf(value)];
  Id made = group.versions.front();
  if (needs.size() < 2 || (needs.size() == 2 && needs.contains(made)))
    return;
  SetVector<Id> candidates(needs.begin(), needs.end());
  candidates.insert(marked.begin(), marked.end());
  sharding::Sharding reduced = prices.get(made);
  reduced.unreduced.clear();
  candidates.insert(prices.intern(reduced));
  SmallVector<Id> ends = llvm::to_vector(needs);
  ends.resize(std::min(ends.size(), maxPairedNeeds));
  for (auto [index, a] : llvm::enumerate(ends))
    for (Id b : ArrayRef(ends).drop_front(index + 1))
      candidates.insert(
          prices.intern(coveringBoth(prices.get(a), prices.get(b))));
  SmallVector<Id> order(needs.begin(), needs.end());
  double least = secondsOfAll(group, order);
  for (bool improved = true; improved;) {
    improved = false;
    SmallVector<Id> best;
    for (Id candidate : candidates) {
      if (llvm::is_contained(group.planned, candidate))
        continue;
      SmallVector<Id> trial = order;
      trial.insert(trial.begin() + group.planned.size(), candidate);
      double seconds = secondsOfAll(group, trial);
      if (seconds < least) {
        least = seconds;
        best = std::move(trial);
      }
    }
    if (!best.empty()) {
      improved = true;
      order = std::move(best);
      group.planned.push_back(order[group.planned.size()]);
    }
  }
}

SmallVector<Id, 1> HeldVersions::firstFor(Value value, Id need) const {
  const Group &group = all[groupOf(value)];
  SmallVector<Id, 1> first;
  if (!llvm::is_contained(group.versions, need))
    for (Id version : group.planned)
      if (!llvm::is_contained(group.versions, version))
        first.push_back(version);
  return first;
}

RankedTensorType HeldVersions::typeToMove(Value value) const {
  Value narrow = all[groupOf(value)].narrow;
  return typeOf(narrow ? narrow : value);
}

size_t HeldVersions::versionToKeep(Value value) const {
  for (auto [index, version] : llvm::enumerate(versionsOf(value)))
    if (prices.get(version).unreduced.empty())
      return index;
  return 0;
}

/// The version of which `need` is made at the least price, if it can be made.
std::optional<HeldVersions::Nearest>
HeldVersions::findNearest(const Group &group, Id need, bool mayReduce) const {
  std::optional<Nearest> nearest;
  double least = std::numeric_limits<double>::infinity();
  for (auto [index, version] : llvm::enumerate(group.versions)) {
    const bool reduces = prices.reduces(version, need);
    if (!mayReduce && reduces)
      continue;
    const RankedTensorType type =
        reduces ? prices.typeToSum(group.value) : typeOf(group.value);
    double seconds = prices.seconds(version, need, type);
    if (seconds < least) {
      least = seconds;
      nearest = {index, seconds, prices.wireBytes(version, need, type)};
    }
  }
  return nearest;
}

/// Moves what the value was converted from, and converts it there, if that
/// takes less time. Terms are added up in the wide type: they stay as they are.
bool HeldVersions::moveNarrow(const Group &group, Id need,
                              Provision &provision) {
  if (!group.narrow || prices.reduces(group.versions[provision.source], need))
    return false;
  Group &narrow = all[groupOf(group.narrow)];
  auto nearest = findNearest(narrow, need, /*mayReduce=*/false);
  if (!nearest || nearest->seconds >= provision.seconds)
    return false;
  provision.narrow = group.narrow;
  provision.source = nearest->version;
  provision.seconds = nearest->seconds;
  provision.wireBytes = nearest->wireBytes;
  provision.narrowWasThere = narrow.versions[nearest->version] == need;
  provision.narrowVersion = nearest->version;
  if (!provision.narrowWasThere) {
    provision.narrowVersion = narrow.versions.size();
    narrow.versions.push_back(need);
  }
  return true;
}

HeldVersions::Provision HeldVersions::provide(Value value, Id need) {
  Group &group = all[groupOf(value)];
  Provision provision;
  auto there = llvm::find(group.versions, need);
  provision.version = there - group.versions.begin();
  if (there != group.versions.end()) {
    provision.wasThere = true;
    return provision;
  }
  auto nearest = findNearest(group, need, /*mayReduce=*/true);
  if (!nearest) // no way; said where the reshard is lowered
    nearest = {0, std::numeric_limits<double>::infinity(), 0};
  provision.source = nearest->version;
  provision.seconds = nearest->seconds;
  provision.wireBytes = nearest->wireBytes;
  moveNarrow(group, need, provision);
  group.versions.push_back(need);
  return provision;
}
