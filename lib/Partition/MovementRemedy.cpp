//===- MovementRemedy.cpp - What else a movement could be ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MovementRemedy.h"

#include "HeldVersions.h"
#include "OpSplit.h"

#include "weft/Cost/Bytes.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/ValueName.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Sharding/Projection.h"

#include "mlir/Interfaces/CastInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

using Id = ReshardPrices::Id;

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
      if (!isSplitOver(target, axis))
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
                     return isSplitOver(prices.get(movement.need), axis);
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
  value = valueBehind(value);
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<CastOpInterface>(op))
      break;
    value = valueBehind(op->getOperand(0));
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
           isSplitOver(prices.get(prices.intern(moved.getSharding(),
                                                typeOf(operand).getRank())),
                       axis) &&
           !isSplitOver(
               prices.get(prices.intern(getSharding(moved.getOperand()),
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
    if (!isSplitOver(moved, axis))
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

MovementRemedy weft::findRemedy(const Movement &movement,
                                ReshardPrices &prices) {
  std::optional<Otherwise> otherwise;
  auto op = dyn_cast<ShardingRuleOpInterface>(movement.use.getOwner());
  if (op && movement.choice)
    otherwise = runOnHeld(movement, op.getShardingRule(), prices);
  return {findAlternatives(movement, otherwise, prices),
          findEdit(movement, otherwise, prices)};
}
