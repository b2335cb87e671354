//===- SegmentPlan.h - Which segment computes each op -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `--weft-form-timelines` knows of an entry before it makes segments of
// it: the schedule, and the segment of every op.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PIPELINING_SEGMENTPLAN_H
#define WEFT_LIB_PIPELINING_SEGMENTPLAN_H

#include "weft/IR/Microbatches.h"
#include "weft/IR/WeftOps.h"
#include "weft/Timeline/Table.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <compare>

namespace weft {

/// A pass of a stage over a micro-batch, the gathers of what that needs first,
/// a level of what a role does once a step, the gathers of a stage's
/// parameters, or the reduction of its gradients. Level n + 1 needs what others
/// send after level n.
struct SegmentKey {
  /// Of a level, the first stage of the role.
  int64_t stage = 0;
  timeline::ActionKind kind = timeline::ActionKind::Forward;
  int64_t level = 0;

  bool isLevel() const { return timeline::isLevel(kind); }
  /// Whether it is done once a step.
  bool isOnce() const;
  /// The action of a micro-batch, or of what is done once a step.
  timeline::Action action(int64_t microbatch = 0) const;
  /// "2F", "1U0": as in a timeline, without the micro-batch.
  std::string name() const;
  auto operator<=>(const SegmentKey &) const = default;
};

/// A schedule and where its stages are.
struct PipelineSchedule {
  timeline::Table table;
  timeline::Placement placement;
  /// By stage: whether its backward pass is one segment.
  std::vector<bool> isMerged;

  int64_t roleOf(int64_t stage) const { return placement[stage]; }
  /// The first stage of the role that has `stage`.
  int64_t firstOfRole(int64_t stage) const;
  /// Whether the role computes for another stage first.
  bool isBegunLate(int64_t stage) const;
  /// Whether the role computes for another stage when the last micro-batch has
  /// added to the gradients of this one.
  bool isDoneEarly(int64_t stage) const;
};

class SegmentPlan {
public:
  /// Of an entry all of whose ops have a stage, but those that any segment
  /// computes for itself.
  SegmentPlan(mlir::Block &block, const PipelineSchedule &schedule);

  const PipelineSchedule &schedule;
  Microbatches microbatches;

  /// Whether every segment that uses an op has a copy: views, parts of the
  /// batch, means, what depends on no value of the program, and gathers of
  /// parameters for a pass.
  bool isCopied(mlir::Operation *op) const { return copied.contains(op); }
  /// Whether an op gathers, in the loop, what is the same for all
  /// micro-batches.
  bool isParameterGather(mlir::Operation *op) const {
    return parameterGathers.contains(op);
  }
  /// The ops that values are computed from, seen through copied ones.
  llvm::SmallVector<mlir::Operation *>
  findSources(mlir::ValueRange values) const;
  const SegmentKey &of(mlir::Operation *op) const { return keys.at(op); }

private:
  void findCopied(mlir::Block &block);
  void findParameterGathers(mlir::Block &block);
  /// Not what is computed once a step for all micro-batches.
  bool isInLoop(mlir::Operation *op) const {
    return microbatches.loopOf(op) && !prologue.contains(op);
  }
  void findPrologue(mlir::Block &block);
  void findGathers(mlir::Block &block);
  int64_t
  findOnlyStage(mlir::Operation *op,
                const llvm::DenseMap<mlir::Operation *, int64_t> &stages) const;
  void findWaitedFor(mlir::Block &block);
  void assign(mlir::Operation *op);
  void delayUpdates(mlir::Block &block);
  int64_t reducedStage(mlir::Operation *op, int64_t role) const;
  bool findUsers(mlir::Operation *op,
                 llvm::SmallVectorImpl<mlir::Operation *> &users) const;
  /// The level of what is computed once a step from the operands of `op`.
  int64_t levelOf(mlir::Operation *op, int64_t stage,
                  timeline::ActionKind kind) const;

  llvm::DenseSet<mlir::Operation *> copied, parameterGathers, prologue;
  /// Ops of the prologue that are gathers of a stage.
  llvm::DenseMap<mlir::Operation *, int64_t> gathers;
  /// Ops of weight gradients that input gradients or other stages use.
  llvm::DenseSet<mlir::Operation *> waitedFor;
  llvm::DenseMap<mlir::Operation *, SegmentKey> keys;
};

} // namespace weft

#endif // WEFT_LIB_PIPELINING_SEGMENTPLAN_H
