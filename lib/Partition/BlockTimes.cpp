//===- BlockTimes.cpp - When ops of a block are computed ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockTimes.h"

#include "StoredValues.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;

namespace {

/// Walks over a block in order. An op that is no product, attention or loop
/// becomes part of a kernel with those around it, up to the next op that is
/// one: what such a kernel takes is its launch, and what it reads and writes of
/// memory, once each.
class SecondsOfOps {
public:
  SecondsOfOps(Block &block, const cost::CostModel &model, double launch)
      : model(model), launchSeconds(launch), stored(block) {}

  double next(Operation *op);

private:
  std::optional<double> secondsAlone(Operation *op);
  int64_t bytesRead(Value value);
  double launchOnce();

  const cost::CostModel &model;
  /// Of a kernel behind others.
  const double launchSeconds;
  /// What has been made or read since the last op that stands alone, and
  /// whether a kernel has been launched for it.
  DenseSet<Value> near;
  bool isLaunched = false;
  StoredValues stored;
};

} // namespace

int64_t SecondsOfOps::bytesRead(Value value) {
  Operation *producer = value.getDefiningOp();
  while (producer && isView(producer)) {
    value = producer->getOperand(0);
    producer = value.getDefiningOp();
  }
  if (producer && producer->hasTrait<OpTrait::ConstantLike>())
    return 0;
  return near.insert(value).second && stored.contains(value) ? bytesOf(value)
                                                             : 0;
}

std::optional<double> SecondsOfOps::secondsAlone(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](ProductOpInterface product) {
        return model.gemm(product.getGemm());
      })
      .Case<AttentionOp, AttentionGradOp>(
          [&](auto attention) { return model.attention(costOf(attention)); })
      .Case([&](RepeatOp loop) {
        SecondsOfOps inner(loop.getBlock(), model, launchSeconds);
        double seconds = 0;
        for (Operation &each : loop.getBlock().without_terminator())
          seconds += inner.next(&each);
        return double(loop.getCount()) * seconds;
      })
      .Default(std::nullopt);
}

/// Of a kernel, before the first of its ops that reads or writes memory.
double SecondsOfOps::launchOnce() {
  return std::exchange(isLaunched, true) ? 0 : launchSeconds;
}

double SecondsOfOps::next(Operation *op) {
  if (isa<CommunicationOpInterface>(op) || isView(op) ||
      op->hasTrait<OpTrait::ConstantLike>() ||
      op->hasTrait<OpTrait::IsTerminator>())
    return 0;
  if (std::optional<double> alone = secondsAlone(op)) {
    near.clear();
    isLaunched = false;
    return *alone;
  }
  int64_t bytes = 0;
  for (Value operand : op->getOperands())
    bytes += bytesRead(operand);
  for (Value result : op->getResults()) {
    bytes += stored.contains(result) ? bytesOf(result) : 0;
    near.insert(result);
  }
  return bytes > 0 ? launchOnce() + double(bytes) * model.secondsPerByte() : 0;
}

BlockTimes::BlockTimes(Block &block, const cost::CostModel &model,
                       bool hasLaunches)
    : model(model),
      launchSeconds(hasLaunches ? model.behindOthers(
                                      model.cluster().software.computeFactor *
                                      model.launch())
                                : 0) {
  SecondsOfOps seconds(block, model, launchSeconds);
  double now = 0;
  for (Operation &op : block) {
    begins.push_back(now);
    now += seconds.next(&op);
  }
  begins.push_back(now);
}

size_t BlockTimes::numberAt(double seconds) const {
  return llvm::upper_bound(begins, seconds) - begins.begin() - 1;
}

/// How long before the end of an iteration each op of a loop has been computed:
/// a kernel when the last product, or another op that stands alone, of which it
/// is made has.
static DenseMap<Operation *, double> findEnds(RepeatOp loop,
                                              SecondsOfOps seconds) {
  DenseMap<Operation *, double> ends;
  double now = 0;
  for (Operation &op : loop.getBlock()) {
    now += seconds.next(&op);
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    double made = 0;
    if (!standsAlone(&op) && !isa<CommunicationOpInterface>(&op))
      for (Value operand : op.getOperands())
        if (auto found = ends.find(operand.getDefiningOp());
            found != ends.end())
          made = std::max(made, found->second);
    // What is made of arguments alone is a kernel where it stands.
    ends[&op] = made == 0 ? now : made;
  }
  for (auto &[op, end] : ends)
    end = now - end;
  return ends;
}

double BlockTimes::ready(Value value, size_t number) {
  double end = begins[number + 1];
  auto loop = value.getDefiningOp<RepeatOp>();
  if (!loop)
    return end;
  auto [ends, isNew] = endsInLoops.try_emplace(loop);
  if (isNew)
    ends->second =
        findEnds(loop, SecondsOfOps(loop.getBlock(), model, launchSeconds));
  unsigned index = cast<OpResult>(value).getResultNumber();
  Operation *last = loop.getYield()->getOperand(index).getDefiningOp();
  auto found = ends->second.find(last);
  return found == ends->second.end() ? end : end - found->second;
}
