//===- PieceTimes.cpp - Time of a block in pieces -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PieceTimes.h"

#include "CutRules.h"

#include "weft/IR/BufferParts.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/TensorTypes.h"
#include "weft/Schedule/OverlapOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace weft;

/// An op that takes no time is no step unless it has more operands.
static constexpr size_t mostPassedOn = 8;

namespace {

class StepBuilder {
public:
  StepBuilder(const llvm::DenseSet<Operation *> &cut, int64_t pieces,
              const cost::CostModel &model)
      : cut(cut), pieces(pieces), model(model) {}

  void build(Block &block);

  std::vector<Step> steps;
  /// Of each step, and by what share a collective slows computation down.
  std::vector<Operation *> ops;
  std::vector<double> slowdown;

private:
  using Needed = SmallVector<int32_t, 4>;

  bool waitsForWhole(Operation *op) const;
  void flush();
  void add(Operation *op, int64_t number, int64_t count);
  Needed neededBy(Operation *op, int64_t number) const;
  double secondsOf(Operation *op, int64_t count) const;

  const llvm::DenseSet<Operation *> &cut;
  const int64_t pieces;
  const cost::CostModel &model;
  /// Ops in pieces since the last collective (PieceWriter.h).
  SmallVector<Operation *> pending;
  llvm::DenseSet<Operation *> isPending;
  /// The steps that make each piece of an op's results, or the whole.
  llvm::DenseMap<Operation *, SmallVector<Needed>> made;
};

} // namespace

static SmallVector<bool> ruleOf(Operation *op) {
  return isSumOfRows(op) ? SmallVector<bool>{true} : *findCutOperands(op);
}

static bool isStored(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<CommunicationOpInterface, ProductOpInterface, AttentionOp,
               AttentionGradOp, RepeatOp>(user) ||
           user->hasTrait<OpTrait::IsTerminator>();
  });
}

double StepBuilder::secondsOf(Operation *op, int64_t count) const {
  if (isView(op) || isPartView(op) || op->hasTrait<OpTrait::ConstantLike>())
    return 0;
  if (auto loop = dyn_cast<RepeatOp>(op))
    return double(loop.getCount()) *
           predictPieces(loop.getBlock(), {}, 1, model).seconds;
  if (auto communication = dyn_cast<CommunicationOpInterface>(op)) {
    cost::CollectiveCall call = callOf(communication, model);
    call.bytes /= double(count);
    return model.collective(call).seconds;
  }
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](ProductOpInterface product) {
        cost::Gemm gemm = product.getGemm();
        (gemm.batch % count == 0 && gemm.batch > 1 ? gemm.batch : gemm.m) /=
            count;
        return model.behindOthers(model.gemm(gemm));
      })
      .Case<AttentionOp, AttentionGradOp>([&](auto attention) {
        return model.behindOthers(model.attention(costOf(attention))) /
               double(count);
      })
      .Default([&](Operation *) {
        double bytes = 0;
        for (Value result : op->getResults())
          bytes += double(bytesOf(result)) / double(count);
        return isStored(op)
                   ? model.behindOthers(model.kernel({2 * bytes, bytes}, {}))
                   : 0;
      });
}

StepBuilder::Needed StepBuilder::neededBy(Operation *op, int64_t number) const {
  Needed needed;
  bool isCut = cut.contains(op);
  SmallVector<bool> rule;
  if (isCut)
    rule = ruleOf(op);
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands()) {
      auto found = made.find(operand.get().getDefiningOp());
      if (found == made.end())
        continue;
      ArrayRef<Needed> all = found->second;
      if (isCut && inner == op && rule[operand.getOperandNumber()] &&
          all.size() > 1)
        all = all.slice(number, 1);
      for (const Needed &each : all)
        llvm::append_range(needed, each);
    }
  });
  llvm::sort(needed);
  needed.erase(llvm::unique(needed), needed.end());
  return needed;
}

void StepBuilder::add(Operation *op, int64_t number, int64_t count) {
  Needed needed = neededBy(op, number);
  const double seconds = secondsOf(op, count);
  if (seconds == 0 && needed.size() <= mostPassedOn) {
    made[op].push_back(std::move(needed));
    return;
  }
  Step step;
  step.operands.assign(needed.begin(), needed.end());
  step.picoseconds = std::llround(seconds * picosecondsPerSecond);
  double share = 0;
  auto communication = dyn_cast<CommunicationOpInterface>(op);
  if (communication && hides(communication, model)) {
    cost::CollectiveCall call = callOf(communication, model);
    step.isCollective = true;
    step.enlarges = bytesOf(op->getResult(0)) > bytesOf(op->getOperand(0));
    step.link = int32_t(call.group.level);
    cost::CollectiveTime time = model.collective(call);
    share = 1 - 1 / model.contention(call, time, 0).computeFactor;
  }
  made[op].push_back({int32_t(steps.size())});
  steps.push_back(std::move(step));
  ops.push_back(op);
  slowdown.push_back(share);
}

void StepBuilder::flush() {
  for (int64_t number = 0; number < pieces; ++number)
    for (Operation *op : pending)
      add(op, number, pieces);
  pending.clear();
  isPending.clear();
}

/// Whether the op needs whole results of what is pending.
bool StepBuilder::waitsForWhole(Operation *op) const {
  SmallVector<bool> rule(op->getNumOperands(), false);
  if (cut.contains(op))
    rule = ruleOf(op);
  bool waits = false;
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      waits |= isPending.contains(operand.get().getDefiningOp()) &&
               (inner != op || !rule[operand.getOperandNumber()]);
  });
  return waits;
}

void StepBuilder::build(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (waitsForWhole(&op))
      flush();
    if (!cut.contains(&op)) {
      add(&op, 0, 1);
      continue;
    }
    pending.push_back(&op);
    isPending.insert(&op);
    if (isa<CommunicationOpInterface>(op))
      flush();
  }
  flush();
}

/// Of an order: time, and what is waited for.
static PieceTimes run(const StepBuilder &built, ArrayRef<Action> actions) {
  PieceTimes times;
  std::map<int32_t, double> links;
  std::vector<double> ends(built.steps.size());
  double now = 0, slowed = 0;
  for (const Action &action : actions) {
    const Step &step = built.steps[action.step];
    const double seconds = double(step.picoseconds) / picosecondsPerSecond;
    if (action.isWait) {
      const double exposed = std::max(0.0, ends[action.step] - now);
      times.exposed[built.ops[action.step]] += exposed;
      slowed += built.slowdown[action.step] * std::max(0.0, seconds - exposed);
      now += exposed;
    } else if (step.isCollective) {
      double &link = links[step.link];
      ends[action.step] = link = std::max(link, now) + seconds;
    } else {
      now += seconds;
    }
  }
  times.seconds = now + slowed;
  return times;
}

PieceTimes weft::predictPieces(Block &block,
                               const llvm::DenseSet<Operation *> &cut,
                               int64_t pieces, const cost::CostModel &model) {
  StepBuilder built(cut, pieces, model);
  built.build(block);
  return run(built, fastestOrder(built.steps));
}
