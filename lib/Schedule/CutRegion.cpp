//===- CutRegion.cpp - What is cut for the sake of collectives ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutRegion.h"

#include "CutRules.h"

#include "weft/IR/CommunicationOpInterface.h"
#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

namespace {

using Ops = llvm::DenseSet<Operation *>;

class CutRegion {
public:
  CutRegion(Block &block, const Ops &collectives, int64_t pieces)
      : block(block), collectives(collectives), pieces(pieces) {}

  Ops find();

private:
  bool isCut(OpOperand &operand) const;
  void findBehind();
  void findBefore();
  Ops findMadeFor(const Ops &sums, const Ops &found) const;
  void addSums(Ops &found);

  Block &block;
  const Ops &collectives;
  const int64_t pieces;
  /// The last collective or matmul from pieces of which an op's pieces are
  /// computed, and the last one that is there as a whole by then, by number.
  struct Sources {
    int64_t inPieces = -1, whole = -1;
  };
  llvm::DenseMap<Operation *, Sources> sources;
  /// What is computed of rows of a collective or a matmul, and what rows of a
  /// collective are computed of.
  Ops behind, before;
  /// What besides is computed of pieces of what is found.
  Ops computed;
};

} // namespace

/// Whether the op reads only the same piece of the operand for a piece of its
/// results, and may be cut.
bool CutRegion::isCut(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  if (op->getBlock() != &block || !canCut(op, pieces) ||
      (isa<CommunicationOpInterface>(op) && !collectives.contains(op)))
    return false;
  return (*findCutOperands(op))[operand.getOperandNumber()];
}

/// An op that also waits for all pieces of a collective or matmul, or of a
/// later one, cannot run beside any: it is not behind it.
void CutRegion::findBehind() {
  for (auto [index, op] : llvm::enumerate(block)) {
    Sources &own = sources[&op];
    op.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        auto found = sources.find(operand.get().getDefiningOp());
        if (found == sources.end())
          continue;
        const Sources of = found->second;
        own.whole = std::max(own.whole, of.whole);
        int64_t &last = isCut(operand) ? own.inPieces : own.whole;
        last = std::max(last, of.inPieces);
      }
    });
    if (collectives.contains(&op) ||
        (isa<ProductOpInterface>(op) && canCut(&op, pieces)))
      own.inPieces = index;
    if (own.inPieces > own.whole)
      behind.insert(&op);
  }
}

void CutRegion::findBefore() {
  for (Operation &op : llvm::reverse(block)) {
    bool isBefore = collectives.contains(&op);
    for (OpOperand &use : op.getUses())
      isBefore |= before.contains(use.getOwner()) && isCut(use) &&
                  sources[use.getOwner()].whole < sources[&op].inPieces;
    if (isBefore && canCut(&op, pieces) &&
        (collectives.contains(&op) || !isa<CommunicationOpInterface>(op)))
      before.insert(&op);
  }
}

/// What is computed for the sake of some sums, of what is found, and of nothing
/// else that is computed of that.
Ops CutRegion::findMadeFor(const Ops &sums, const Ops &found) const {
  Ops made;
  for (Operation &op : llvm::reverse(block)) {
    if (found.contains(&op) || !computed.contains(&op))
      continue;
    auto isFor = [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return sums.contains(user) || (made.contains(user) && isCut(use));
    };
    if (isFreeToCompute(&op) ? llvm::any_of(op.getUses(), isFor)
                             : llvm::all_of(op.getUses(), isFor))
      made.insert(&op);
  }
  return made;
}

/// Sums over rows that are computed of what is in pieces: those of the whole
/// would read it once more. Not if they share work with what is done whole.
void CutRegion::addSums(Ops &found) {
  Ops sums;
  for (Operation &op : block) {
    if (isa<ProductOpInterface, CommunicationOpInterface,
            InstructionOpInterface>(op))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      if (!found.contains(producer) && !computed.contains(producer))
        continue;
      if (isCut(operand))
        computed.insert(&op);
      else if (isSumOfRows(&op) && canCut(operand.get(), pieces))
        sums.insert(&op);
    }
  }
  while (!sums.empty()) {
    Ops made = findMadeFor(sums, found), shared;
    // What is made for a sum, or the sum, of something that is made whole.
    for (Operation &op : block)
      if (sums.contains(&op) || made.contains(&op))
        for (Value operand : op.getOperands()) {
          Operation *producer = operand.getDefiningOp();
          if (shared.contains(producer) ||
              (computed.contains(producer) && !made.contains(producer) &&
               !found.contains(producer)))
            shared.insert(&op);
        }
    if (llvm::none_of(sums,
                      [&](Operation *op) { return shared.contains(op); })) {
      found.insert(made.begin(), made.end());
      found.insert(sums.begin(), sums.end());
      return;
    }
    for (Operation *op : shared)
      sums.erase(op);
  }
}

Ops CutRegion::find() {
  findBehind();
  findBefore();
  Ops found(collectives);
  for (Operation *op : behind)
    if (before.contains(op))
      found.insert(op);
  addSums(found);
  // What is received is used where matmuls read it, whatever becomes of that.
  for (Operation *op : collectives)
    for (OpOperand &use : op->getUses())
      if (isa<ProductOpInterface>(use.getOwner()) && isCut(use))
        found.insert(use.getOwner());
  return found;
}

Ops weft::findCutRegion(Block &block, const Ops &collectives, int64_t pieces) {
  return CutRegion(block, collectives, pieces).find();
}
