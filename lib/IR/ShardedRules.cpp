//===- ShardedRules.cpp - Rules of the sharded graph ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every value has a sharding, states have one, and partial sums go only
// through ops that commute with the sum.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/FormRules.h"
#include "weft/IR/OperandShardings.h"
#include "weft/IR/ValueSharding.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace weft;
using sharding::AxisRef;
using sharding::DimFactors;
using sharding::FactorKind;
using sharding::Linearity;
using sharding::Mesh;
using sharding::OpCategory;
using sharding::Reduction;
using sharding::Sharding;
using sharding::ShardingRule;
using sharding::TensorFactors;

void weft::checkEveryValueHasSharding(ModuleOp module, FormCheck &check) {
  for (func::FuncOp function : findPrograms(module)) {
    for (BlockArgument argument : function.getArguments())
      if (!getSharding(argument))
        check.error(argument.getLoc())
            << "argument " << argument.getArgNumber() << " of @"
            << function.getSymName() << " has no weft.sharding";
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (!getResultSharding(function, index))
        check.error(function.getLoc())
            << "result " << index << " of @" << function.getSymName()
            << " has no weft.sharding";
    function.walk([&](Operation *op) {
      if (op != function && op->getNumResults() != 0 &&
          !op->hasAttr(WeftDialect::kShardingsAttrName))
        check.error(op->getLoc())
            << "results of " << op->getName() << " have no weft.shardings";
    });
  }
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {
struct Occurrence {
  Location loc;
  std::string what;
  ShardingAttr sharding;
};
} // namespace

static bool agree(const Mesh &mesh, ShardingAttr a, ShardingAttr b) {
  if (a == b)
    return true;
  FailureOr<Sharding> first = a.toSharding(mesh), second = b.toSharding(mesh);
  return succeeded(first) && succeeded(second) &&
         first->isEquivalentTo(*second);
}

void weft::checkStateShardings(ModuleOp module, FormCheck &check) {
  MeshOp meshOp = findMesh(module);
  if (!meshOp)
    return;
  Mesh mesh = meshOp.getMesh().toMesh();

  llvm::StringMap<Occurrence> inputs;
  llvm::StringMap<bool> isResult;
  std::vector<std::pair<std::string, Occurrence>> others;
  for (func::FuncOp function : findPrograms(module)) {
    std::string of = (" of @" + function.getSymName()).str();
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      std::string name = getArgumentName(function, index);
      Occurrence here{argument.getLoc(),
                      "argument " + std::to_string(index) + of,
                      getSharding(argument)};
      if (here.sharding && !inputs.try_emplace(name, here).second)
        others.emplace_back(name, here);
    }
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      isResult[getResultName(function, index)] = true;
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (ShardingAttr sharding = getResultSharding(function, index))
        others.emplace_back(getResultName(function, index),
                            Occurrence{function.getLoc(),
                                       "result " + std::to_string(index) + of,
                                       sharding});
  }

  for (auto &[name, other] : others) {
    auto input = inputs.find(name);
    // An input of two entries that no entry returns is not a state.
    if (input == inputs.end() || !isResult.contains(name) ||
        agree(mesh, input->second.sharding, other.sharding))
      continue;
    InFlightDiagnostic error = check.error(other.loc)
                               << "state \"" << name
                               << "\" must have one sharding, got "
                               << other.sharding << " as " << other.what;
    error.attachNote(input->second.loc)
        << input->second.sharding << " as " << input->second.what;
  }
}

//===----------------------------------------------------------------------===//
// Unreduced values
//===----------------------------------------------------------------------===//

static Sharding shardingOf(const Mesh &mesh, ShardingAttr attr) {
  if (attr)
    if (FailureOr<Sharding> sharding = attr.toSharding(mesh);
        succeeded(sharding))
      return *sharding;
  return {};
}

/// The sharding of a value, or one with no axes if it has none.
static Sharding shardingOf(const Mesh &mesh, Value value) {
  return shardingOf(mesh, getSharding(value));
}

/// The sharding in which an op takes an operand: that of the value if none was
/// chosen.
static Sharding shardingOf(const Mesh &mesh, OpOperand &use) {
  ShardingAttr chosen =
      getOperandSharding(use.getOwner(), use.getOperandNumber());
  return chosen ? shardingOf(mesh, chosen) : shardingOf(mesh, use.get());
}

static bool anyOverlaps(ArrayRef<AxisRef> axes, const AxisRef &axis) {
  return llvm::any_of(
      axes, [&](const AxisRef &other) { return other.overlaps(axis); });
}

/// Whether the factor is that of windows of a kernel: elements of both operands
/// are multiplied and added up, although not element by element.
static bool isOfKernel(const ShardingRule &rule, size_t result,
                       int32_t factor) {
  auto has = [&](const TensorFactors &tensor) {
    return llvm::is_contained(tensor, DimFactors{factor});
  };
  return rule.factors[factor].kind == FactorKind::Permutation &&
         rule.operands.size() == 2 && llvm::all_of(rule.operands, has) &&
         !has(rule.results[result]);
}

/// Whether a split of a reduction factor over `axis` leaves partial values of a
/// result.
static bool makesPartialSums(const ShardingRule &rule,
                             ArrayRef<Sharding> operands, size_t result,
                             const AxisRef &axis, Reduction kind) {
  if (rule.reduction != kind)
    return false;
  for (auto [sharding, tensor] : llvm::zip(operands, rule.operands))
    for (auto [dim, factors] : llvm::zip(sharding.dims, tensor))
      if (anyOverlaps(dim.axes, axis) && llvm::any_of(factors, [&](int32_t f) {
            return rule.isReducedIn(result, f) || isOfKernel(rule, result, f);
          }))
        return true;
  return false;
}

/// Why `op` may not pass partial values along `axis` from its operands to its
/// result; empty if it may.
static std::string whyNotPassedOn(ShardingRuleOpInterface op,
                                  const ShardingRule &rule,
                                  ArrayRef<Sharding> operands,
                                  const AxisRef &axis, Reduction kind) {
  SmallVector<unsigned> with, without;
  for (auto [index, sharding] : llvm::enumerate(operands)) {
    bool isUnreduced =
        anyOverlaps(sharding.unreduced, axis) && sharding.unreducedKind == kind;
    (isUnreduced ? with : without).push_back(index);
  }
  if (with.empty())
    return "no operand is, and no reduction of the op is split over it";
  std::string asOperand = "operand " + std::to_string(with.front()) + " is";
  bool movesData = rule.category == OpCategory::DataFlow ||
                   rule.category == OpCategory::Broadcast;
  if (kind != Reduction::Sum && !movesData)
    return asOperand + ", but only ops that move data pass on partial maxima "
                       "and minima";
  switch (op.getLinearity()) {
  case Linearity::NotLinear:
    return asOperand + ", but the op is not linear";
  case Linearity::Linear:
    if (!without.empty())
      return asOperand + ", but operand " + std::to_string(without.front()) +
             " is not";
    return {};
  case Linearity::LinearInOne:
    if (with.size() > 1)
      return asOperand + ", but operand " + std::to_string(with[1]) + " is too";
    return {};
  case Linearity::LinearInFirst:
    if (with.back() != 0)
      return "operand " + std::to_string(with.back()) +
             " is, but the op is linear in operand 0 only";
    return {};
  }
  llvm_unreachable("all linearities are covered");
}

/// Reports the axes of `wanted` over which `result` cannot be unreduced. With
/// `onlyPassed`, axes along which no operand does are not looked at.
static void checkPartialSums(OpResult result, const Sharding &wanted,
                             Location loc, StringRef what, bool onlyPassed,
                             const Mesh &mesh, FormCheck &check) {
  auto op = dyn_cast<ShardingRuleOpInterface>(result.getOwner());
  if (!op)
    return;
  ShardingRule rule = op.getPropagationRule();
  std::vector<Sharding> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(shardingOf(mesh, operand));
  for (const AxisRef &axis : wanted.unreduced) {
    bool isPassed = llvm::any_of(operands, [&](const Sharding &operand) {
      return anyOverlaps(operand.unreduced, axis);
    });
    if (makesPartialSums(rule, operands, result.getResultNumber(), axis,
                         wanted.unreducedKind) ||
        (onlyPassed && !isPassed))
      continue;
    std::string why =
        whyNotPassedOn(op, rule, operands, axis, wanted.unreducedKind);
    if (!why.empty())
      check.error(loc) << what << result.getResultNumber() << " of "
                       << op->getName() << " is unreduced over "
                       << mesh.print(axis) << ": " << why
                       << "; constrain the operand or the result to a sharding "
                          "that is not unreduced";
  }
}

/// A use that asks for partial values of what an op made from partial values:
/// the op must be one that passes them on.
static void checkWantedPartialSums(OpOperand &use, const Sharding &wanted,
                                   const Mesh &mesh, FormCheck &check) {
  if (auto made = dyn_cast<OpResult>(use.get());
      made && !isa<ConstraintOp, ReshardOp>(made.getOwner()))
    checkPartialSums(made, wanted, use.getOwner()->getLoc(), "wanted result ",
                     /*onlyPassed=*/true, mesh, check);
}

void weft::checkUnreduced(ModuleOp module, FormCheck &check) {
  MeshOp meshOp = findMesh(module);
  if (!meshOp)
    return;
  Mesh mesh = meshOp.getMesh().toMesh();
  module.walk([&](Operation *op) {
    // A constraint states a layout; the partitioner brings the value to it.
    if (isa<ConstraintOp, ReshardOp>(op)) {
      checkWantedPartialSums(op->getOpOperand(0),
                             shardingOf(mesh, op->getResult(0)), mesh, check);
      return;
    }
    if (auto returned = dyn_cast<func::ReturnOp>(op)) {
      auto function = returned->getParentOfType<func::FuncOp>();
      for (OpOperand &use : returned->getOpOperands())
        if (ShardingAttr attr =
                getResultSharding(function, use.getOperandNumber()))
          if (FailureOr<Sharding> wanted = attr.toSharding(mesh);
              succeeded(wanted))
            checkWantedPartialSums(use, *wanted, mesh, check);
      return;
    }
    for (OpResult result : op->getResults())
      checkPartialSums(result, shardingOf(mesh, result), op->getLoc(),
                       "result ",
                       /*onlyPassed=*/false, mesh, check);
  });
}
