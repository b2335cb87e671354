//===- ReshardReasons.cpp - What stands behind a movement of data ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardReasons.h"

#include "MovementRemedy.h"
#include "OpSplit.h"

#include "weft/Cost/Bytes.h"
#include "weft/IR/AxisProvenance.h"
#include "weft/IR/ValueName.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Partition/ChoiceReport.h"

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

using Id = ReshardPrices::Id;
using End = Reason::End;

/// Axes that are explained at each end, and ops that are gone back over: what a
/// reader can take in.
static constexpr size_t maxAxes = 2;
static constexpr int maxSteps = 256;

namespace {

/// The two ends of one movement.
class Ends {
public:
  Ends(const Movement &movement, ReshardPrices &prices)
      : movement(movement), prices(prices), mesh(prices.getMesh()),
        from(prices.get(movement.from)), need(prices.get(movement.need)),
        user(movement.use.getOwner()) {}

  std::vector<Reason::Line> explain();

private:
  Sharding shardingOf(Value value) const {
    return shardingWhileVisited(value, prices);
  }
  std::string over(const AxisRef &axis) const {
    return "over " + mesh.print(ArrayRef(axis));
  }
  std::string choice() const;

  Reason::Line comesFrom(const std::string &what, Value value,
                         const AxisRef &axis);
  Reason::Line partial(const AxisRef &axis);
  Reason::Line present(const AxisRef &axis);
  Reason::Line absent(const AxisRef &axis, int64_t dim);
  std::optional<Reason::Line> absentFromResult(const std::string &what);
  std::optional<Reason::Line> takenElsewhere(const std::string &what,
                                             const AxisRef &axis);
  bool isNeededWhole(int64_t dim) const;

  const Movement &movement;
  ReshardPrices &prices;
  const Mesh &mesh;
  const Sharding &from, &need;
  Operation *user;
};

} // namespace

/// The price of what nobody wrote.
std::string Ends::choice() const {
  auto function = user->getParentOfType<func::FuncOp>();
  if (std::optional<ChoiceReport> report = getChoiceReport(function))
    return "chosen by cost over all of @" + function.getSymName().str() + ": " +
           printBytes(uint64_t(report->wireBytesAfter)) + " and " +
           printSeconds(report->secondsAfter) + " of collectives, as " +
           "propagated " + printBytes(uint64_t(report->wireBytesBefore)) +
           " and " + printSeconds(report->secondsBefore);
  return "chosen by cost for the op alone: " +
         printBytes(prices.wireBytes(movement.from, movement.need,
                                     typeOf(movement.made))) +
         " and " +
         printSeconds(prices.seconds(movement.from, movement.need,
                                     typeOf(movement.made)));
}

/// From the value back to what propagation gave the axis. What the optimizer
/// split over it is led back over operands that are split so.
Reason::Line Ends::comesFrom(const std::string &what, Value value,
                             const AxisRef &axis) {
  SmallPtrSet<Value, 8> seen;
  SmallVector<Value> open = {value};
  bool isDirect = true;
  for (int step = 0; step < maxSteps && !open.empty(); ++step) {
    Value at = valueBehind(open.pop_back_val());
    if (!seen.insert(at).second)
      continue;
    std::string chain = AxisProvenance::of(at).chainOf(mesh, axis);
    if (!chain.empty() && isDirect)
      return {End::Annotation, what + ": " + chain};
    if (!chain.empty())
      return {End::Choice,
              what + ": " + choice() + "; the axis is that of " + chain};
    isDirect = false;
    if (Operation *op = at.getDefiningOp())
      for (Value operand : llvm::reverse(op->getOperands()))
        if (Sharding held = shardingOf(operand);
            isSplitOver(held, axis) || overlapsAny(held.unreduced, axis))
          open.push_back(operand);
  }
  return {End::Choice, what + ": " + choice()};
}

/// From partial results back to the op that makes them, and from there along
/// the operand that is split.
Reason::Line Ends::partial(const AxisRef &axis) {
  Value value = originOfTerms(movement.made, axis, prices);
  Operation *op = value.getDefiningOp();
  if (!op) {
    StringRef written = AxisProvenance::of(value).annotation();
    return {End::Annotation, written.empty()
                                 ? "held: " + nameOf(value) + " is partial"
                                 : "held: " + written.str()};
  }
  for (Value operand : op->getOperands())
    if (isSplitOver(shardingOf(operand), axis))
      return comesFrom("held: " + nameOf(op) +
                           ", which adds up what is split " + over(axis),
                       operand, axis);
  return {End::Choice, "held: " + nameOf(op) +
                           ", which leaves partial results " + over(axis) +
                           ", " + choice()};
}

/// Why the user needs an axis that the value is not split over.
Reason::Line Ends::present(const AxisRef &axis) {
  std::string what = "needed " + over(axis);
  const bool isConstraint =
      isa_and_present<ConstraintOp>(movement.wanted.getDefiningOp());
  if (isa<func::ReturnOp>(user) && !isConstraint) {
    auto function = user->getParentOfType<func::FuncOp>();
    std::string chain =
        AxisProvenance::ofResult(function, movement.use.getOperandNumber())
            .chainOf(mesh, axis);
    if (!chain.empty())
      return {End::Annotation, what + ": " + chain};
    return {End::Choice, what + ": " + choice()};
  }
  SmallVector<Value> candidates;
  if (isConstraint)
    candidates.push_back(movement.wanted);
  llvm::append_range(candidates, user->getResults());
  for (OpOperand &other : user->getOpOperands())
    if (&other != &movement.use)
      candidates.push_back(valueBehind(other.get()));
  candidates.push_back(valueBehind(movement.made));
  for (Value value : candidates)
    if (std::string chain = AxisProvenance::of(value).chainOf(mesh, axis);
        !chain.empty())
      return {End::Annotation, what + ": " + chain};
  return {End::Choice, what + ": " + choice()};
}

/// A result, or a constraint, that says how the value is to be.
std::optional<Reason::Line> Ends::absentFromResult(const std::string &what) {
  auto function = user->getParentOfType<func::FuncOp>();
  bool isReturn = isa<func::ReturnOp>(user);
  bool isConstraint =
      isa_and_present<ConstraintOp>(movement.wanted.getDefiningOp());
  AxisProvenance provenance =
      isConstraint ? AxisProvenance::of(movement.wanted)
      : isReturn
          ? AxisProvenance::ofResult(function, movement.use.getOperandNumber())
          : AxisProvenance();
  if (!provenance.annotation().empty())
    return Reason::Line{End::Annotation,
                        what + ": " + provenance.annotation().str()};
  if (isReturn)
    return Reason::Line{End::Default, what + ": no annotation splits " +
                                          nameOf(movement.use) + " over it"};
  return std::nullopt;
}

/// An axis that splits another dimension of what the user computes.
std::optional<Reason::Line> Ends::takenElsewhere(const std::string &what,
                                                 const AxisRef &axis) {
  if (!movement.choice)
    return std::nullopt;
  auto look = [&](ValueRange values, ArrayRef<Id> ids, size_t except) {
    for (auto [index, pair] : llvm::enumerate(llvm::zip(values, ids)))
      if (index != except && isSplitOver(prices.get(std::get<1>(pair)), axis))
        return std::get<0>(pair);
    return Value();
  };
  Value other = look(user->getOperands(), movement.choice->operands,
                     movement.use.getOperandNumber());
  if (!other)
    other = look(user->getResults(), movement.choice->results, ~size_t(0));
  if (!other)
    return std::nullopt;
  bool isResult = other.getDefiningOp() == user;
  return comesFrom(what + ", which splits another dimension of " +
                       (isResult ? "the result" : nameOf(valueBehind(other))),
                   other, axis);
}

bool Ends::isNeededWhole(int64_t dim) const {
  auto op = dyn_cast<ShardingRuleOpInterface>(user);
  if (!op)
    return false;
  ShardingRule rule = op.getShardingRule();
  size_t index = movement.use.getOperandNumber();
  return index < rule.operands.size() &&
         size_t(dim) < rule.operands[index].size() &&
         llvm::any_of(
             rule.operands[index][dim],
             [&](int32_t factor) { return !mayBeSplit(rule.factors[factor]); });
}

/// Why the user takes the value without an axis that splits it.
Reason::Line Ends::absent(const AxisRef &axis, int64_t dim) {
  std::string what = "needed whole " + over(axis);
  if (auto line = absentFromResult(what))
    return *line;
  if (isNeededWhole(dim))
    return {End::Operation, what + ": by " + nameOf(user) +
                                ", which cannot be split along dimension " +
                                std::to_string(dim)};
  if (auto line = takenElsewhere(what, axis))
    return *line;
  return {End::Choice, what + ": " + choice()};
}

/// The axes of `a`, by dimension, that `b` does not have there.
static SmallVector<std::pair<AxisRef, int64_t>> missing(const Sharding &a,
                                                        const Sharding &b) {
  SmallVector<std::pair<AxisRef, int64_t>> axes;
  for (auto [dim, pair] : llvm::enumerate(llvm::zip(a.dims, b.dims)))
    for (const AxisRef &axis : std::get<0>(pair).axes)
      if (!llvm::is_contained(std::get<1>(pair).axes, axis))
        axes.push_back({axis, int64_t(dim)});
  return axes;
}

std::vector<Reason::Line> Ends::explain() {
  std::vector<Reason::Line> held, needed;
  auto add = [](std::vector<Reason::Line> &lines, auto make) {
    if (lines.size() < maxAxes)
      lines.push_back(make());
  };
  for (const AxisRef &axis : from.unreduced)
    if (!overlapsAny(need.unreduced, axis))
      add(held, [&] { return partial(axis); });
  auto gathered = missing(from, need), wanted = missing(need, from);
  for (auto [axis, dim] : gathered)
    add(held, [&, axis = axis] {
      return comesFrom("held " + over(axis), valueBehind(movement.made), axis);
    });
  for (auto [axis, dim] : wanted)
    add(needed, [&, axis = axis] { return present(axis); });
  for (auto [axis, dim] : gathered)
    if (!isSplitOver(need, axis))
      add(needed, [&, axis = axis, dim = dim] { return absent(axis, dim); });
  if (needed.empty())
    for (const AxisRef &axis : from.unreduced) {
      if (std::optional<Reason::Line> line =
              absentFromResult("needed added up " + over(axis)))
        needed.push_back(std::move(*line));
      else
        needed.push_back(
            {End::Operation, "needed added up " + over(axis) + ": by " +
                                 nameOf(user) +
                                 ", which takes no partial results"});
      break;
    }
  held.insert(held.end(), std::make_move_iterator(needed.begin()),
              std::make_move_iterator(needed.end()));
  return held;
}

void ReshardReasons::add(StringRef cause, const Movement &movement) {
  if (table.has(cause))
    return;
  MovementRemedy remedy = findRemedy(movement, prices);
  Reason reason;
  reason.cause = cause.str();
  reason.chain = Ends(movement, prices).explain();
  reason.alternatives = std::move(remedy.alternatives);
  reason.edit = std::move(remedy.edit);
  table.add(std::move(reason));
}

Reason weft::reasonOfSplit(Operation *op, const Mesh &mesh,
                           ArrayRef<AxisRef> axes, StringRef cause) {
  Reason reason;
  reason.cause = cause.str();
  for (const AxisRef &axis : axes.take_front(maxAxes)) {
    std::string what = "split over " + mesh.print(ArrayRef(axis)), chain;
    for (Value value : op->getResults())
      if (chain.empty())
        chain = AxisProvenance::of(value).chainOf(mesh, axis);
    for (Value value : op->getOperands())
      if (chain.empty())
        chain = AxisProvenance::of(valueBehind(value)).chainOf(mesh, axis);
    if (chain.empty())
      reason.chain.push_back({End::Choice, what + ": chosen by cost"});
    else
      reason.chain.push_back({End::Annotation, what + ": " + chain});
  }
  return reason;
}
