//===- RecomputationChoice.cpp - What is kept and what recomputed ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputationPlanner.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace weft;
using optimize::Availability;
using optimize::Cost;
using optimize::forbidden;

/// Whether a value is in memory in the first half even if it is not kept.
bool RecomputationPlanner::isStoredEarly(unsigned number) const {
  return isBarrier(number) || llvm::any_of(users[number], [&](unsigned user) {
           return isEarly(user) &&
                  (isBarrier(user) || levels[user] != levels[number]);
         });
}

bool RecomputationPlanner::isRecomputable(unsigned number) const {
  Operation *op = graph.ops[number];
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  switch (nodes[number].kind) {
  case FusionKind::Elementwise:
  case FusionKind::RowBroadcast:
  case FusionKind::Reshape:
    return true;
  case FusionKind::Movement:
    return isa<BroadcastOp>(op);
  default:
    return isAlias(number);
  }
}

/// Whether the op reads its operand at other indices than it writes at.
bool RecomputationPlanner::needsStoredOperand(unsigned number) const {
  const FusionOp &node = nodes[number];
  if (node.kind != FusionKind::Reshape)
    return node.kind == FusionKind::Movement;
  return node.shape.empty() || node.operandShape.empty() ||
         node.shape.back() != node.operandShape.back();
}

/// Of the arithmetic of an op.
double RecomputationPlanner::secondsOf(unsigned number) const {
  Operation *op = graph.ops[number];
  if (nodes[number].kind != FusionKind::Elementwise)
    return 0;
  double elements = double(typeOf(op->getResult(0)).getNumElements());
  cost::ElementWork work;
  work.flops = elements;
  if (isa<math::MathDialect>(op->getDialect()))
    work.addCalls(op->getName().stripDialect().str(), elements);
  return model.kernel({}, work) - model.kernel({}, {});
}

/// The bytes from which on a value is worth recomputing. Less than this part of
/// the peak is kept for nothing, such as the statistics of a norm: kernels stay
/// as they are.
int64_t RecomputationPlanner::findLeast(ArrayRef<unsigned> numbers,
                                        ArrayRef<char> isFixed) const {
  constexpr int64_t fractionThatCounts = 16384;
  int64_t largest = 0;
  for (unsigned number : numbers)
    if (isRecomputable(number) && !isFixed[number] && !isAlias(number))
      largest = std::max(largest, nodes[number].bytes);
  return std::max(peak / fractionThatCounts, onlyLarge ? largest / 2 : 0);
}

void RecomputationPlanner::choose(const Exchange &exchange) {
  constexpr Cost unit = 16;
  std::vector<uint32_t> indices(nodes.size());
  std::vector<unsigned> numbers;
  std::vector<char> isNeeded(nodes.size()), isFixed(nodes.size()),
      isWritten(nodes.size()), isSeen(nodes.size());
  for (unsigned user = 0; user < nodes.size(); ++user) {
    if (isEarly(user) || nodes[user].kind == FusionKind::End)
      continue;
    for (unsigned value : operands[user]) {
      if (!isEarly(value))
        continue;
      isNeeded[value] = true;
      // What waits for nothing in the second half could be anywhere.
      isFixed[value] |= isAlias(user) ||
                        graph.ops[user]->getNumRegions() != 0 ||
                        (!isBarrier(user) && sources[user] < 0);
      isWritten[value] |= isBarrier(user);
    }
  }
  // Users before what they use: what is needed of one is known then.
  for (unsigned number = nodes.size(); number-- > 0;) {
    isSeen[number] |= isNeeded[number];
    if (!isSeen[number])
      continue;
    numbers.push_back(number);
    if (!isRecomputable(number) || isFixed[number])
      continue;
    for (unsigned operand : operands[number]) {
      isSeen[operand] = true;
      isFixed[operand] |= needsStoredOperand(number);
      isWritten[operand] |= isWritten[number] && isAlias(number);
    }
  }
  std::reverse(numbers.begin(), numbers.end());
  std::vector<optimize::KeepableValue> values(numbers.size());
  const double perByte = model.secondsPerByte();
  const int64_t least = findLeast(numbers, isFixed);
  for (auto [index, number] : llvm::enumerate(numbers)) {
    indices[number] = uint32_t(index);
    optimize::KeepableValue &value = values[index];
    value.isNeeded = isNeeded[number];
    const bool isFree =
        isReturned(number) || (isAlias(number) && operands[number].empty());
    const Cost bytes = nodes[number].bytes;
    if (!isFree && bytes >= least)
      value.keeping = unit * bytes + (isStoredEarly(number) ? 0 : 2 * bytes);
    value.recomputing = forbidden;
    if (isFixed[number] || !isRecomputable(number) ||
        (isWritten[number] && exchange.written < 0))
      continue;
    double seconds = exchange.computed * secondsOf(number);
    if (isWritten[number])
      seconds += exchange.written * perByte * double(bytes);
    value.recomputing = Cost(double(unit) * seconds / perByte);
    for (unsigned operand : operands[number])
      value.operands.push_back(indices[operand]);
  }
  std::vector<Availability> found = optimize::chooseKeptValues(values);
  availability.assign(nodes.size(), Availability::None);
  for (auto [index, number] : llvm::enumerate(numbers))
    availability[number] = found[index];
}
