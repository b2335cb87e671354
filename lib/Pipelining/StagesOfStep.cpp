//===- StagesOfStep.cpp - The stages of what is computed once a step ------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A walk down the block finds which stages have what an op is computed from, a
// walk up which stages need it. A stage that needs it and can compute it does
// so for itself; to others the first stage that can sends it.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace weft;

namespace {

class StepStages {
public:
  StepStages(func::FuncOp entry, Stages &stages, const StateStages &held,
             const OpStages &behind)
      : entry(entry), block(entry.front()), stages(stages), held(held),
        behind(behind) {
    for (BlockArgument argument : block.getArguments())
      argumentOf.try_emplace(getArgumentName(entry, argument.getArgNumber()),
                             argument);
  }

  void run();

private:
  StageSet findAvailable(Operation *op) const;
  StageSet findUsers(Value value) const;
  StageSet findOwner(unsigned result);
  StageSet availableOf(Value value) const;

  func::FuncOp entry;
  Block &block;
  Stages &stages;
  const StateStages &held;
  const OpStages &behind;
  /// The stages that can compute an op from what they have.
  llvm::DenseMap<Operation *, StageSet> available;
  llvm::StringMap<BlockArgument> argumentOf;
};

} // namespace

/// Arguments are where they are used, but for states of other entries.
StageSet StepStages::availableOf(Value value) const {
  Operation *definer = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto found = held.find(getArgumentName(entry, argument.getArgNumber()));
        found != held.end())
      return found->second;
  if (!definer || isa<arith::ConstantOp>(definer))
    return StageSet(stages.count, true);
  return leavesMicrobatches(definer) ? stages.of.at(definer)
                                     : available.lookup(definer);
}

/// A view, or a scale for all elements of a gradient, is made where it is used.
static int64_t bytesToSend(Value value) {
  Operation *definer = value.getDefiningOp();
  if (isa_and_present<BroadcastOp, ReshapeOp, TransposeOp>(definer))
    return bytesToSend(definer->getOperand(0));
  return bytesOf(value);
}

StageSet StepStages::findAvailable(Operation *op) const {
  if (auto found = behind.find(op); found != behind.end())
    return stages.only(found->second);
  StageSet all(stages.count, true), ofArguments(stages.count, true);
  for (Value operand : computedFrom(op)) {
    all &= availableOf(operand);
    if (isa<BlockArgument>(operand))
      ofArguments &= availableOf(operand);
  }
  if (all.any())
    return all;
  // Only what is computed can be sent.
  if (ofArguments.any() && !ofArguments.all())
    return stages.only(ofArguments.find_first());
  SmallVector<int64_t> bytes(stages.count);
  bool isLarge = false;
  for (Value operand : computedFrom(op)) {
    StageSet has = availableOf(operand);
    if (has.all())
      continue;
    int64_t sent = bytesToSend(operand);
    isLarge |= sent > mostSmallBytes;
    for (unsigned stage : has.set_bits())
      bytes[stage] += sent;
  }
  if (!isLarge)
    return StageSet(stages.count, true);
  return stages.only(llvm::max_element(bytes) - bytes.begin());
}

StageSet StepStages::findUsers(Value value) const {
  StageSet users(stages.count);
  for (OpOperand &use : value.getUses())
    if (auto found = stages.of.find(use.getOwner()); found != stages.of.end())
      users |= found->second;
  return users;
}

/// The first stage that the next step needs a result in, which sends it to
/// others; none if that is no state.
StageSet StepStages::findOwner(unsigned result) {
  std::string name = getResultName(entry, result);
  if (auto found = held.find(name); found != held.end())
    return stages.only(found->second.find_first());
  if (BlockArgument argument = argumentOf.lookup(name);
      argument && !name.empty())
    if (int first = findUsers(argument).find_first(); first >= 0)
      return stages.only(first);
  return StageSet(stages.count);
}

void StepStages::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    if (!stages.isInLoop(&op) && !isa<arith::ConstantOp>(op))
      ops.push_back(&op);
  for (Operation *op : ops)
    available[op] = findAvailable(op);

  llvm::DenseMap<Operation *, StageSet> needed;
  auto need = [&](Value value, const StageSet &where) {
    Operation *definer = value.getDefiningOp();
    if (!definer || !available.contains(definer))
      return;
    StageSet &all = needed.try_emplace(definer, stages.count).first->second;
    all |= where;
  };
  for (const auto &[op, where] : stages.of)
    for (Value operand : op->getOperands())
      need(operand, where);
  Operation *end = block.getTerminator();
  for (OpOperand &operand : end->getOpOperands())
    need(operand.get(), findOwner(operand.getOperandNumber()));
  for (Operation *op : llvm::reverse(ops)) {
    StageSet where = needed.lookup(op);
    where.resize(stages.count);
    where &= available.at(op);
    if (where.none())
      where = stages.only(available.at(op).find_first());
    stages.of[op] = where;
    for (Value operand : computedFrom(op))
      need(operand, where);
  }
}

void weft::findStagesOfStep(func::FuncOp entry, Stages &stages,
                            const StateStages &held, const OpStages &behind) {
  StepStages(entry, stages, held, behind).run();
}
