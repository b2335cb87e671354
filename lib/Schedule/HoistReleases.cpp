//===- HoistReleases.cpp - Run ops that free memory early -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/Passes.h"
#include "weft/Schedule/ProgramStates.h"

#include "weft/IR/BufferParts.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

namespace weft {
#define GEN_PASS_DEF_HOISTRELEASES
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {
/// The order of a block's ops while some of them move. Asking the block itself
/// would number all its ops anew after nearly every move.
class OpOrder {
public:
  explicit OpOrder(Block &block) : block(block) {
    uint64_t label = 0;
    for (Operation &op : block)
      labels[&op] = label += uint64_t(1) << 32;
  }

  bool isBefore(Operation *a, Operation *b) const {
    return labels.lookup(a) < labels.lookup(b);
  }

  /// Moves `op` behind `point`, or to the start of the block if that is null.
  void moveAfter(Operation *op, Operation *point) {
    if (point)
      op->moveAfter(point);
    else
      op->moveBefore(&block, block.begin());
    Operation *next = op->getNextNode();
    if (labels.lookup(next) - labelBefore(point) < 2)
      spreadAround(next, op);
    uint64_t low = labelBefore(point);
    labels[op] = low + (labels.lookup(next) - low) / 2;
  }

private:
  uint64_t labelBefore(Operation *point) const {
    return point ? labels.lookup(point) : 0;
  }
  void spreadAround(Operation *crowded, Operation *moving);

  Block &block;
  llvm::DenseMap<Operation *, uint64_t> labels;
};

/// The ops of a block as they read buffers.
class Readers {
public:
  explicit Readers(Block &block);

  /// The value whose buffer a view shows.
  Value bufferOf(Value value) const { return views.lookup_or(value, value); }
  /// The ops that read a buffer, through views too, as the block lists them
  /// before any of them moves; each once for each operand.
  ArrayRef<Operation *> of(Value buffer) const {
    auto found = readers.find(buffer);
    return found == readers.end() ? ArrayRef<Operation *>() : found->second;
  }

private:
  llvm::DenseMap<Value, Value> views;
  llvm::DenseMap<Value, SmallVector<Operation *, 2>> readers;
};

/// Moves the ops of one block, which it is given in their order.
class Hoister {
public:
  explicit Hoister(Block &block) : order(block), readers(block) {}

  /// Whether `op` could be moved towards the start of the block.
  bool hoist(Operation *op);

private:
  Operation *findEarliestPoint(Operation *op) const;

  OpOrder order;
  Readers readers;
};
} // namespace

/// Spreads the labels of all ops but `moving` evenly over the smallest aligned
/// range of labels around that of `crowded` that is sparse enough: a range
/// twice as large may be a little more crowded, so n moves give
/// O(n log(n)) labels (Bender et al., Two Simplified Algorithms for Maintaining
/// Order in a List, 2002).
void OpOrder::spreadAround(Operation *crowded, Operation *moving) {
  auto skip = [&](Operation *op, bool forward) {
    while (op == moving)
      op = forward ? op->getNextNode() : op->getPrevNode();
    return op;
  };
  Operation *first = crowded, *last = crowded;
  uint64_t label = labels.lookup(crowded), count = 1;
  double mostOps = 1;
  for (unsigned bits = 1; bits < 63; ++bits) {
    uint64_t low = label >> bits << bits, size = uint64_t(1) << bits;
    Operation *op;
    for (; (op = skip(first->getPrevNode(), false)) && labels.lookup(op) >= low;
         ++count)
      first = op;
    for (; (op = skip(last->getNextNode(), true)) &&
           labels.lookup(op) - low < size;
         ++count)
      last = op;
    mostOps *= 1.5;
    if (count > mostOps || size / (count + 1) < 2)
      continue;
    uint64_t step = size / (count + 1);
    for (op = first;; op = skip(op->getNextNode(), true)) {
      labels[op] = low += step;
      if (op == last)
        return;
    }
  }
}

Readers::Readers(Block &block) {
  for (Operation &op : block) {
    if (isView(&op))
      views[op.getResult(0)] = bufferOf(op.getOperand(0));
    // A loop reads what the ops in it do.
    op.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (!isView(&op) || operand.getOperandNumber() != 0)
          readers[bufferOf(operand.get())].push_back(&op);
    });
  }
}

static bool isReturned(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// The op behind which `op` can run at the earliest without holding more memory
/// than where it is, null for the start of the block; `op` itself if it has to
/// stay. Of a buffer that others read as well it is the last reader behind them
/// only; before them, it leaves that to them.
Operation *Hoister::findEarliestPoint(Operation *op) const {
  Operation *point = nullptr;
  auto comeAfter = [&](Operation *other) {
    if (other && (!point || order.isBefore(point, other)))
      point = other;
  };
  /// What is free behind the last other reader of a buffer.
  SmallVector<std::pair<Operation *, int64_t>> releases;
  int64_t lacking = 0;
  for (Value result : op->getResults())
    lacking += bytesOf(result);
  llvm::SmallPtrSet<void *, 8> seen;
  for (Value operand : op->getOperands()) {
    // What stands before the loop that the op is in is there, and stays.
    if (operand.getParentBlock() != op->getBlock())
      continue;
    comeAfter(operand.getDefiningOp());
    Value buffer = readers.bufferOf(operand);
    if (!seen.insert(buffer.getAsOpaquePointer()).second ||
        buffer.getParentBlock() != op->getBlock())
      continue;
    // Ops behind `op` have not moved yet, so the last reader is the one that
    // the block listed last; only that one looks at the others.
    ArrayRef<Operation *> all = readers.of(buffer);
    if (all.back() != op)
      continue;
    // The memory of an argument is free for a result that replaces it.
    if (isa<BlockArgument>(buffer) && !isReturned(op))
      continue;
    Operation *last = nullptr;
    for (Operation *other : all)
      if (other != op && (!last || order.isBefore(last, other)))
        last = other;
    // Its result takes the place of an argument only behind all other readers.
    if (isa<BlockArgument>(buffer))
      comeAfter(last);
    releases.emplace_back(last, bytesOf(buffer));
  }
  llvm::stable_sort(releases, [&](const auto &a, const auto &b) {
    return b.first && (!a.first || order.isBefore(a.first, b.first));
  });
  for (auto [last, bytes] : releases) {
    bool isBehind = last && (!point || order.isBefore(point, last));
    if (isBehind && lacking <= 0)
      break;
    comeAfter(last);
    lacking -= bytes;
  }
  return lacking <= 0 ? point : op;
}

bool Hoister::hoist(Operation *op) {
  Operation *point = findEarliestPoint(op);
  if (point == op || op->getPrevNode() == point)
    return false;
  order.moveAfter(op, point);
  return true;
}

namespace {
struct HoistReleases : weft::impl::HoistReleasesBase<HoistReleases> {
  void runOnInput() override {
    for (func::FuncOp entry : findEntries(getOperation()))
      entry.walk([&](Block *block) { hoist(*block); });
  }

  void hoist(Block &block) {
    Hoister hoister(block);
    for (Operation &op : llvm::make_early_inc_range(block))
      if ((usesBuffers(&op) || isPartView(&op)) && !isa<RepeatOp>(op))
        hoisted += hoister.hoist(&op);
  }
};
} // namespace
