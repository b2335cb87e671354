//===- ReshardReasons.cpp - What stands behind a movement of data ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardReasons.h"

#include "HeldVersions.h"
#include "OpSplit.h"

#include "weft/Cost/Bytes.h"
#include "weft/IR/AxisProvenance.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/ValueName.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Partition/ChoiceReport.h"
#include "weft/Sharding/Projection.h"

#include "mlir/Interfaces/CastInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

using Id = ReshardPrices::Id;
using End = Reason::End;

/// Axes that are explained at each end, and ops that are gone back over: what a
/// reader can take in.
static constexpr size_t maxAxes = 2;
static constexpr int maxSteps = 256;

//===----------------------------------------------------------------------===//
// Where an axis comes from
//===----------------------------------------------------------------------===//

/// The value that a marker, barrier or inserted reshard passes on.
static Value behind(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<BarrierOp, MicrobatchUseOp>(op) && !isMarker(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static bool contains(ArrayRef<AxisRef> axes, const AxisRef &axis) {
  return llvm::any_of(
      axes, [&](const AxisRef &other) { return other.overlaps(axis); });
}

static bool splits(const Sharding &sharding, const AxisRef &axis) {
  return llvm::any_of(sharding.dims, [&](const DimSharding &dim) {
    return contains(dim.axes, axis);
  });
}

/// How the value is there while ops are visited.
static Sharding shardingWhileVisited(Value value, ReshardPrices &prices) {
  return prices.get(prices.intern(getSharding(value), typeOf(value).getRank()));
}

/// From partial results back to those that an op makes of what is split, or to
/// an argument.
static Value originOfTerms(Value value, const AxisRef &axis,
                           ReshardPrices &prices) {
  value = behind(value);
  for (int step = 0; step < maxSteps; ++step) {
    Operation *op = value.getDefiningOp();
    if (!op)
      break;
    auto holds = [&](Value operand) {
      return contains(shardingWhileVisited(operand, prices).unreduced, axis);
    };
    auto terms = llvm::find_if(op->getOperands(), holds);
    if (terms == op->operand_end())
      break;
    value = behind(*terms);
  }
  return value;
}

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
    Value at = behind(open.pop_back_val());
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
            splits(held, axis) || contains(held.unreduced, axis))
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
    if (splits(shardingOf(operand), axis))
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
      candidates.push_back(behind(other.get()));
  candidates.push_back(behind(movement.made));
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
      if (index != except && splits(prices.get(std::get<1>(pair)), axis))
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
                       (isResult ? "the result" : nameOf(behind(other))),
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
    if (!contains(need.unreduced, axis))
      add(held, [&] { return partial(axis); });
  auto gathered = missing(from, need), wanted = missing(need, from);
  for (auto [axis, dim] : gathered)
    add(held, [&, axis = axis] {
      return comesFrom("held " + over(axis), behind(movement.made), axis);
    });
  for (auto [axis, dim] : wanted)
    add(needed, [&, axis = axis] { return present(axis); });
  for (auto [axis, dim] : gathered)
    if (!splits(need, axis))
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

//===----------------------------------------------------------------------===//
// What else there is
//===----------------------------------------------------------------------===//

namespace {

/// The user on what is held, if it can run so.
struct Otherwise {
  OpSplit split;
  SmallVector<Id, 3> operands;
  SmallVector<Id, 1> results;
  int64_t wireBytes = 0;
  double seconds = 0;
};

} // namespace

static std::optional<Otherwise> runOnHeld(const Movement &movement,
                                          const ShardingRule &rule,
                                          ReshardPrices &prices) {
  const size_t index = movement.use.getOperandNumber();
  Operation *user = movement.use.getOwner();
  if (index >= rule.operands.size() ||
      !prices.get(movement.from).unreduced.empty())
    return std::nullopt;
  OpSplitter splitter(rule, prices);
  Otherwise found;
  found.split.factors.resize(rule.factors.size());
  auto read = [&](const TensorFactors &tensor, Id id) {
    for (const FactorSharding &part :
         project(tensor, rule.factors, &prices.get(id)).factors) {
      const Factor &factor = rule.factors[part.factor];
      if (found.split.factors[part.factor].empty() && mayBeSplit(factor) &&
          factor.size % numShards(part.axes) == 0 &&
          !found.split.collides(part.factor, part.axes))
        found.split.factors[part.factor] = part.axes;
    }
  };
  read(rule.operands[index], movement.from);
  for (auto [tensor, id] : llvm::zip(rule.results, movement.choice->results))
    read(tensor, id);
  for (auto [tensor, id] : llvm::zip(rule.operands, movement.choice->operands))
    read(tensor, id);
  if (!splitter.canBeSpelled(found.split) ||
      splitter.operandNeed(index, found.split) != movement.from)
    return std::nullopt;
  auto move = [&](Id from, Id to, Value value) {
    found.seconds += prices.seconds(from, to, typeOf(value));
    found.wireBytes += prices.wireBytes(from, to, typeOf(value));
  };
  for (auto [number, id] : llvm::enumerate(movement.choice->operands)) {
    if (number >= rule.operands.size())
      break;
    found.operands.push_back(splitter.operandNeed(number, found.split));
    if (number != index)
      move(id, found.operands.back(), user->getOperand(number));
  }
  for (auto [number, id] : llvm::enumerate(movement.choice->results)) {
    found.results.push_back(splitter.resultLeft(number, found.split));
    move(found.results.back(), id, user->getResult(number));
  }
  return std::isfinite(found.seconds) ? std::optional(found) : std::nullopt;
}

/// `need` with the partial sums of `from` scattered over a dimension.
static std::optional<Id> scattered(const Movement &movement,
                                   ReshardPrices &prices) {
  const Sharding &from = prices.get(movement.from);
  // Dimensions that nothing splits come first.
  SmallVector<std::pair<size_t, size_t>> dims;
  for (auto [dim, split] : llvm::enumerate(prices.get(movement.need).dims))
    dims.push_back({split.axes.size(), dim});
  llvm::sort(dims);
  for (auto [numAxes, dim] : dims) {
    Sharding target = prices.get(movement.need);
    for (const AxisRef &axis : from.unreduced)
      if (!splits(target, axis))
        target.dims[dim].axes.push_back(axis);
    if (target == prices.get(movement.need))
      return std::nullopt;
    Id id = prices.intern(target);
    if (std::isfinite(prices.seconds(movement.from, id, typeOf(movement.made))))
      return id;
  }
  return std::nullopt;
}

/// The same where it sends less: of sums that are scattered already, what is
/// left to add up is a part.
static std::optional<Id> scatteredInstead(const Movement &movement,
                                          ReshardPrices &prices) {
  const Sharding &from = prices.get(movement.from);
  RankedTensorType type = typeOf(movement.made);
  std::optional<Id> target = scattered(movement, prices);
  if (!target ||
      llvm::any_of(from.unreduced,
                   [&](const AxisRef &axis) {
                     return splits(prices.get(movement.need), axis);
                   }) ||
      prices.wireBytes(movement.from, *target, type) >=
          prices.wireBytes(movement.from, movement.need, type))
    return std::nullopt;
  return target;
}

static std::vector<Reason::Alternative>
findAlternatives(const Movement &movement,
                 const std::optional<Otherwise> &otherwise,
                 ReshardPrices &prices) {
  RankedTensorType type = typeOf(movement.made);
  auto to = [&](std::string text, Id target) {
    return Reason::Alternative{std::move(text),
                               prices.wireBytes(movement.from, target, type),
                               prices.seconds(movement.from, target, type)};
  };
  std::vector<Reason::Alternative> all = {to("as it is", movement.need)};
  std::string user = nameOf(movement.use);
  auto printed = [&](Id id) { return print(prices.getMesh(), prices.get(id)); };
  if (otherwise)
    all.push_back({"what is held taken by " + user, otherwise->wireBytes,
                   otherwise->seconds});
  if (!prices.get(movement.from).unreduced.empty())
    if (std::optional<Id> target = scattered(movement, prices))
      all.push_back(to("taken as " + printed(*target), *target));
  if (all.size() == 1) {
    Id whole = prices.intern(Sharding::closed(type.getRank()));
    if (whole != movement.need && whole != movement.from)
      all.push_back(to("taken as " + printed(whole), whole));
  }
  llvm::erase_if(all, [](const Reason::Alternative &each) {
    return !std::isfinite(each.seconds);
  });
  return all;
}

/// The argument that the value is, through conversions; null if it is none.
static BlockArgument argumentBehind(Value value) {
  value = behind(value);
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<CastOpInterface>(op))
      break;
    value = behind(op->getOperand(0));
  }
  return dyn_cast<BlockArgument>(value);
}

static int64_t bytesOnRank(BlockArgument argument, Id id,
                           ReshardPrices &prices) {
  RankedTensorType type = typeOf(argument);
  auto shape = localShape(type.getShape(), prices.get(id));
  return shape ? elementBytes(type) * llvm::product_of(*shape) : 0;
}

/// `annotate "w" (mlp.py:7) as [{}, {"model"}]`, and what that takes.
static std::string annotateArgument(BlockArgument argument, Id before, Id after,
                                    ReshardPrices &prices) {
  std::string line = lineOf(argument.getLoc());
  std::string text = "annotate " + nameOf(argument) +
                     (line.empty() ? "" : " (" + line + ")") + " as " +
                     print(prices.getMesh(), prices.get(after));
  int64_t more = bytesOnRank(argument, after, prices) -
                 bytesOnRank(argument, before, prices);
  if (more > 0)
    text += ", which takes " + printBytes(more) + " more on each rank";
  return text;
}

/// Whether the operand is returned as the next value of an argument.
static bool isNextState(OpOperand &use) {
  if (!isa<func::ReturnOp>(use.getOwner()))
    return false;
  auto function = use.getOwner()->getParentOfType<func::FuncOp>();
  std::string name = getResultName(function, use.getOperandNumber());
  return llvm::any_of(llvm::seq(function.getNumArguments()), [&](unsigned i) {
    return getArgumentName(function, i) == name;
  });
}

/// `write the constraint of mlp.py:9 as [{}, {"model"}], not as [{}, {}]`.
static std::string writeConstraint(ConstraintOp constraint,
                                   const Movement &movement,
                                   ReshardPrices &prices) {
  std::string line = lineOf(constraint.getLoc());
  if (line.empty())
    return {};
  auto printed = [&](Id id) { return print(prices.getMesh(), prices.get(id)); };
  return "write the constraint of " + line + " as " + printed(movement.from) +
         ", not as " + printed(movement.need);
}

/// Another operand of the user that an argument could be so that this one
/// stays. What is only copied to more ranks for it is left: the weights of
/// tensor parallelism are split on purpose.
static std::string annotateOther(const Movement &movement,
                                 const Otherwise &otherwise,
                                 ReshardPrices &prices) {
  Operation *user = movement.use.getOwner();
  for (auto [index, after] : llvm::enumerate(otherwise.operands)) {
    BlockArgument argument = argumentBehind(user->getOperand(index));
    if (index == movement.use.getOperandNumber() || !argument)
      continue;
    Id own = prices.intern(getSharding(argument), typeOf(argument).getRank());
    if (own != after && bytesOnRank(argument, after, prices) <=
                            bytesOnRank(argument, own, prices))
      return annotateArgument(argument, own, after, prices);
  }
  return {};
}

/// Where `op` slices one operand over an axis because another, an argument, is
/// split over it along what is added up: the argument split along a dimension
/// that the result has.
static std::string annotateColumns(Operation *op, const AxisRef &axis,
                                   ReshardPrices &prices) {
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!interface)
    return {};
  auto isSliced = [&](Value operand) {
    auto moved = operand.getDefiningOp<ReshardOp>();
    return moved &&
           splits(prices.get(prices.intern(moved.getSharding(),
                                           typeOf(operand).getRank())),
                  axis) &&
           !splits(prices.get(prices.intern(getSharding(moved.getOperand()),
                                            typeOf(operand).getRank())),
                   axis);
  };
  if (llvm::none_of(op->getOperands(), isSliced))
    return {};
  ShardingRule rule = interface.getShardingRule();
  auto isKept = [&](int32_t factor) {
    return llvm::any_of(rule.results, [&](const TensorFactors &result) {
      return llvm::any_of(result, [&](ArrayRef<int32_t> factors) {
        return llvm::is_contained(factors, factor);
      });
    });
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    BlockArgument argument = argumentBehind(operand);
    if (!argument || index >= rule.operands.size())
      continue;
    Id before =
        prices.intern(getSharding(argument), typeOf(argument).getRank());
    Sharding moved = prices.get(before);
    if (!splits(moved, axis))
      continue;
    for (DimSharding &dim : moved.dims)
      llvm::erase(dim.axes, axis);
    for (auto [dim, factors] : llvm::enumerate(rule.operands[index])) {
      if (factors.size() != 1 || !isKept(factors.front()) ||
          !moved.dims[dim].axes.empty() ||
          typeOf(argument).getDimSize(dim) % numShards(ArrayRef(axis)) != 0)
        continue;
      moved.dims[dim].axes.push_back(axis);
      return annotateArgument(argument, before, prices.intern(moved), prices);
    }
  }
  return {};
}

static std::string findEdit(const Movement &movement,
                            const std::optional<Otherwise> &otherwise,
                            ReshardPrices &prices) {
  const Sharding &from = prices.get(movement.from),
                 &need = prices.get(movement.need);
  const bool isWhole = from.unreduced.empty() && need.unreduced.empty();
  if (auto marker = movement.wanted.getDefiningOp<ConstraintOp>()) {
    Id written = prices.intern(getSharding(marker.getResult()),
                               typeOf(movement.made).getRank());
    BlockArgument argument = argumentBehind(movement.made);
    if (argument && isWhole)
      return annotateArgument(argument, movement.from, movement.need, prices);
    // The next value of a state is needed so where it rests, too.
    if (isWhole && written == movement.need && !isNextState(movement.use))
      return writeConstraint(marker, movement, prices);
  }
  if (isa<func::ReturnOp>(movement.use.getOwner())) {
    Sharding held = from;
    held.unreduced = need.unreduced;
    std::optional<Id> target = prices.intern(held);
    const bool scatters = *target == movement.need;
    if (scatters)
      target = scatteredInstead(movement, prices);
    if (!target)
      return {};
    return "annotate " + nameOf(movement.use) + " as " +
           print(prices.getMesh(), prices.get(*target)) +
           (scatters ? ", which only scatters the sums" : "");
  }
  for (const AxisRef &axis : from.unreduced)
    if (Operation *op =
            originOfTerms(movement.made, axis, prices).getDefiningOp())
      if (std::string edit = annotateColumns(op, axis, prices); !edit.empty())
        return edit;
  if (!isWhole)
    return {};
  if (otherwise)
    if (std::string edit = annotateOther(movement, *otherwise, prices);
        !edit.empty())
      return edit;
  if (BlockArgument argument = argumentBehind(movement.made))
    return annotateArgument(argument, movement.from, movement.need, prices);
  return {};
}

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

void ReshardReasons::add(StringRef cause, const Movement &movement) {
  if (table.has(cause))
    return;
  std::optional<Otherwise> otherwise;
  auto op = dyn_cast<ShardingRuleOpInterface>(movement.use.getOwner());
  if (op && movement.choice)
    otherwise = runOnHeld(movement, op.getShardingRule(), prices);
  Reason reason;
  reason.cause = cause.str();
  reason.chain = Ends(movement, prices).explain();
  reason.alternatives = findAlternatives(movement, otherwise, prices);
  reason.edit = findEdit(movement, otherwise, prices);
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
        chain = AxisProvenance::of(behind(value)).chainOf(mesh, axis);
    if (chain.empty())
      reason.chain.push_back({End::Choice, what + ": chosen by cost"});
    else
      reason.chain.push_back({End::Annotation, what + ": " + chain});
  }
  return reason;
}
