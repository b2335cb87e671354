//===- EntryBuffers.h - The buffers behind the values of an entry -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several values of a schedule share one buffer: a view and its operand, a
// pending tensor and what the wait for it gives, a result that a kernel writes
// in place, a state and its next value. Several
// buffers may be parts of one, side by side: a concat of the schedule is made
// of them, and a slice is one. This analysis finds the buffers of an entry,
// what each is for, and when it is alive. The memory planner lays them out; the
// plan writer lists them.
//
// Time is counted in instructions: launches, GEMMs, starts, waits, copies and
// loops, from 0; those of a loop's block follow it. A collective touches its
// operand and its result until its wait. What a loop carries is one buffer, and
// what is there before a loop and used in it lasts until the loop ends: of a
// program with loops, too, two buffers may share bytes if their times do not
// meet.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_ENTRYBUFFERS_H
#define WEFT_SCHEDULE_ENTRYBUFFERS_H

#include "weft/IR/BufferParts.h"
#include "weft/IR/WeftOps.h"
#include "weft/Schedule/ProgramStates.h"

#include "llvm/ADT/DenseMap.h"

namespace weft {

/// What a buffer is for: `BufferKind` of the plan.
enum class BufferKind : uint8_t { Input, Output, State, Constant, Temporary };

struct EntryBuffer {
  BufferKind kind = BufferKind::Temporary;
  /// In the order of the program. Empty if merged into another buffer.
  llvm::SmallVector<mlir::Value, 2> values;
  int64_t bytes = 0;
  /// Instructions of the first write and the last use; the number of
  /// instructions for what outlives the entry.
  int64_t first = 0, last = 0;
  /// State only: index in the ProgramStates.
  int32_t state = -1;
  /// What the buffer is a part of, and from which byte on; null if of nothing.
  mlir::Value whole;
  int64_t offsetInWhole = 0;
  /// The parts of a whole, which is alive as long as any of them.
  llvm::SmallVector<mlir::Value, 0> parts;

  /// Whether it has bytes of its own.
  bool isLaidOut() const { return !values.empty() && !whole; }
};

/// Whether the results of the entry are in the buffers they must end in.
enum class ResultBinding {
  /// A result is a value like others, kept to the end.
  Loose,
  /// A result that is a state is in the state's buffer, others are outputs;
  /// what a loop carries is in one buffer.
  Bound,
};

class EntryBuffers {
public:
  EntryBuffers(mlir::func::FuncOp entry, const ProgramStates &states,
               ResultBinding binding);

  llvm::ArrayRef<mlir::Operation *> instructions() const {
    return instructions_;
  }
  /// Position of an op among the instructions; their number for the return.
  int64_t timeOf(mlir::Operation *op) const { return times_.lookup(op); }
  /// When an op is over: at the wait for a start, with the last instruction of
  /// a loop.
  int64_t endOf(mlir::Operation *op) const;
  /// The instruction behind which a start of what a loop carries may start
  /// (`weft.behind`), otherwise its own.
  int64_t beginOf(StartOp start) const;

  int32_t bufferOf(mlir::Value value) const { return bufferOfValue_.at(value); }
  const EntryBuffer &buffer(int32_t index) const { return buffers_[index]; }
  const EntryBuffer &bufferFor(mlir::Value value) const {
    return buffers_[bufferOf(value)];
  }
  /// The other buffers that a buffer shares bytes with: its parts, or its whole
  /// and other parts.
  llvm::SmallVector<int32_t> sharing(int32_t buffer) const;
  /// All buffers, in the order of their first value; merged ones are empty.
  llvm::ArrayRef<EntryBuffer> buffers() const { return buffers_; }
  /// The buffer of a state that the entry mentions, or -1.
  int32_t bufferOfState(int32_t state) const;
  /// Whether every use of a buffer but those by `op` is over when `op` begins.
  /// The return of the entry is a use, and so is one of a buffer that shares
  /// bytes with it.
  bool isLastUse(int32_t buffer, mlir::Operation *op) const;

  /// Puts a buffer at the offset of a state.
  void assignState(int32_t buffer, int32_t state);
  /// Puts the values of two buffers into one: that of the more lasting kind,
  /// of the earlier one if they are equal.
  void merge(int32_t a, int32_t b);

private:
  void addTimes(mlir::Block &block);
  void addValues(mlir::Block &block);
  void addValue(mlir::Value value, BufferKind kind, int64_t time);
  void addAliases(mlir::Operation *op);
  void addPart(const BufferPart &part);
  int64_t lastUse(int32_t buffer, mlir::Operation *except) const;
  void bindCarried(RepeatOp loop);
  void bindResults(const ProgramStates &states);

  mlir::func::FuncOp entry_;
  llvm::SmallVector<mlir::Operation *> instructions_;
  llvm::DenseMap<mlir::Operation *, int64_t> times_;
  llvm::DenseMap<mlir::Value, int32_t> bufferOfValue_;
  llvm::SmallVector<EntryBuffer, 0> buffers_;
  llvm::DenseMap<int32_t, int32_t> bufferOfState_;
};

/// On a `weft.start` of what a loop carries: it may start once this instruction
/// of the loop's block, counted from 0 with those of loops in it, has been
/// executed for the last time. Its buffers are in use from there on.
inline constexpr llvm::StringLiteral behindAttrName = "weft.behind";

/// Of a `weft.start` that is in the second queue of collectives: 1.
inline constexpr llvm::StringLiteral queueAttrName = "weft.queue";
/// The loop that a collective of what a loop carries, or of several such values
/// side by side, is behind; or null.
RepeatOp findLoopBefore(StartOp start);

/// Names of the attributes that hold the offsets. `weft.offsets` is on ops, an
/// element a result; the others are on arguments, entries, and the module.
inline constexpr llvm::StringLiteral offsetsAttrName = "weft.offsets";
inline constexpr llvm::StringLiteral offsetAttrName = "weft.offset";
inline constexpr llvm::StringLiteral arenaBytesAttrName = "weft.arena_bytes";
inline constexpr llvm::StringLiteral livenessBytesAttrName =
    "weft.liveness_bytes";

/// The offset that the memory planner gave a value, or -1.
int64_t getOffset(mlir::Value value);
/// Sets those of values of an entry, all at once: attributes of many arguments,
/// set one by one, take memory that is quadratic in their number.
void setOffsets(mlir::func::FuncOp entry,
                llvm::ArrayRef<std::pair<mlir::Value, int64_t>> offsets);

} // namespace weft

#endif // WEFT_SCHEDULE_ENTRYBUFFERS_H
