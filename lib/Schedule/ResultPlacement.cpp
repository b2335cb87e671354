//===- ResultPlacement.cpp - Results into their buffers -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultPlacement.h"

#include "weft/IR/Origin.h"

#include "mlir/IR/Builders.h"

#include <set>
#include <tuple>

using namespace mlir;

namespace weft {

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

bool InPlacePairs::contain(LaunchOp launch, int64_t operand,
                           int64_t result) const {
  auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
  auto pairs =
      kernel->getAttrOfType<DenseI64ArrayAttr>(WeftDialect::kInPlaceAttrName);
  if (!pairs)
    return false;
  for (int64_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i] == operand && pairs[i + 1] == result)
      return true;
  return false;
}

/// The one operand of `op` that lies in a buffer; null if there is none, more
/// than one, or one that shares bytes with it.
static OpOperand *findOperandIn(Operation *op, const EntryBuffers &buffers,
                                int32_t buffer) {
  OpOperand *found = nullptr;
  SmallVector<int32_t> sharing = buffers.sharing(buffer);
  for (OpOperand &operand : op->getOpOperands()) {
    if (llvm::is_contained(sharing, buffers.bufferOf(operand.get())))
      return nullptr;
    if (buffers.bufferOf(operand.get()) != buffer)
      continue;
    if (found)
      return nullptr;
    found = &operand;
  }
  return found;
}

static bool isTaken(LaunchOp launch, unsigned operand) {
  return launch.getInPlace() &&
         llvm::is_contained(*launch.getInPlace(), operand);
}

/// Lets `op` write `result` over its operand in `buffer`, if it can.
static bool writeInPlace(OpResult result, const EntryBuffers &buffers,
                         int32_t buffer, const InPlacePairs &pairs) {
  Operation *op = result.getOwner();
  OpOperand *operand = findOperandIn(op, buffers, buffer);
  if (!operand)
    return false;
  if (auto start = dyn_cast<StartOp>(op)) {
    if (start.getKind() != cost::CollectiveKind::AllReduce)
      return false;
    start.setInPlace(true);
    return true;
  }
  // The sets of a batch have one choice, which was made before it.
  auto launch = dyn_cast<LaunchOp>(op);
  if (!launch || launch.getBatch() != 1)
    return false;
  unsigned from = operand->getOperandNumber(), to = result.getResultNumber();
  if (launch.getInPlaceOperand(to) >= 0 || isTaken(launch, from) ||
      !pairs.contain(launch, from, to))
    return false;
  SmallVector<int64_t> inPlace(launch.getNumResults(), -1);
  if (launch.getInPlace())
    inPlace.assign(launch.getInPlace()->begin(), launch.getInPlace()->end());
  inPlace[to] = from;
  launch.setInPlace(inPlace);
  return true;
}

/// Whether the buffer is a part of another one, or made of parts.
static bool hasRelatives(const EntryBuffers &buffers, int32_t buffer) {
  return buffers.buffer(buffer).whole || !buffers.buffer(buffer).parts.empty();
}

/// A buffer is a part of one other, which is no part; both are temporaries.
static bool canBeOne(const EntryBuffers &buffers, int32_t a, int32_t b) {
  const EntryBuffer &x = buffers.buffer(a), &y = buffers.buffer(b);
  bool isX = hasRelatives(buffers, a), isY = hasRelatives(buffers, b);
  if (isX || isY)
    return x.kind == BufferKind::Temporary && y.kind == BufferKind::Temporary &&
           (!isX || !isY || (!x.whole && !y.whole));
  return true;
}

/// What a concat puts side by side is written for that alone, once.
static void separateParts(func::FuncOp entry, const ProgramStates &states) {
  WalkResult walked =
      entry.walk([](ConcatOp) { return WalkResult::interrupt(); });
  if (!walked.wasInterrupted())
    return;
  EntryBuffers buffers(entry, states, ResultBinding::Loose);
  entry.walk([&](ConcatOp concat) {
    for (auto [index, part] : llvm::enumerate(*findParts(concat))) {
      const EntryBuffer &buffer = buffers.bufferFor(part.part);
      if (buffer.kind == BufferKind::Temporary && buffer.parts.empty() &&
          buffer.whole == part.whole && buffer.offsetInWhole == part.offset &&
          llvm::all_of(buffer.values, [&](Value value) {
            return value.getParentBlock() == concat->getBlock() &&
                   !isa<BlockArgument>(value);
          }))
        continue;
      OriginListener listener(getOrigin(concat));
      OpBuilder builder(concat, &listener);
      concat.setOperand(index, CopyOp::create(builder, concat.getLoc(),
                                              part.part.getType(), part.part));
    }
  });
}

static void separateOperands(func::FuncOp entry, const ProgramStates &states) {
  EntryBuffers buffers(entry, states, ResultBinding::Loose);
  SmallVector<LaunchOp> launches;
  entry.walk([&](LaunchOp launch) { launches.push_back(launch); });
  for (LaunchOp launch : launches) {
    std::set<std::tuple<int64_t, int32_t, int64_t, int64_t>> seen;
    size_t setSize = launch.getSetOperands(0).size();
    for (OpOperand &operand : launch->getOpOperands()) {
      int64_t set = operand.getOperandNumber() / setSize;
      // Equal parts of a buffer are one.
      const EntryBuffer &buffer = buffers.bufferFor(operand.get());
      Value in = buffer.whole ? buffer.whole : operand.get();
      const int64_t offset = buffer.whole ? buffer.offsetInWhole : -1,
                    bytes = buffer.whole ? buffer.bytes : 0;
      if (seen.insert({set, buffers.bufferOf(in), offset, bytes}).second)
        continue;
      OriginListener listener(getOrigin(launch));
      OpBuilder builder(launch, &listener);
      operand.set(CopyOp::create(builder, launch.getLoc(),
                                 operand.get().getType(), operand.get()));
    }
  }
}

static void shareTemporaries(func::FuncOp entry, const ProgramStates &states,
                             const InPlacePairs &pairs) {
  EntryBuffers buffers(entry, states, ResultBinding::Bound);
  for (Operation *op : buffers.instructions()) {
    if (!isa<LaunchOp, StartOp>(op))
      continue;
    // An op can have dozens of operands and as many results.
    llvm::SmallDenseMap<int32_t, bool> known;
    auto isLastUse = [&](int32_t buffer) {
      auto [entry, isNew] = known.try_emplace(buffer);
      if (isNew)
        entry->second = buffers.isLastUse(buffer, op);
      return entry->second;
    };
    for (OpResult result : op->getResults()) {
      int32_t to = buffers.bufferOf(result);
      BufferKind kind = buffers.buffer(to).kind;
      // What a loop carries is in its buffer before the op writes there.
      bool isNew = buffers.buffer(to).first == buffers.timeOf(op);
      if (!isNew ||
          (kind != BufferKind::Temporary && kind != BufferKind::Output))
        continue;
      for (Value operand : op->getOperands()) {
        int32_t from = buffers.bufferOf(operand);
        if (from == to || buffers.buffer(from).kind != BufferKind::Temporary ||
            !canBeOne(buffers, from, to) || !isLastUse(from) ||
            !writeInPlace(result, buffers, from, pairs))
          continue;
        buffers.merge(from, to);
        known.clear();
        break;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

namespace {

/// A value that a block ends with and that has to be copied into the buffer of
/// a state, or of what a loop carries.
struct Move {
  unsigned result;
  int32_t home;
  Value source;
  /// The home whose buffer the source lies in, or -1.
  int32_t sourceHome;
};

class Placement {
public:
  Placement(func::FuncOp entry, const ProgramStates &states,
            const InPlacePairs &pairs)
      : entry(entry), states(states), pairs(pairs),
        buffers(entry, states, ResultBinding::Loose),
        terminator(entry.front().getTerminator()), builder(terminator) {}

  void run();

private:
  bool placeDirectly(Value value, int32_t state);
  void copyOutput(OpOperand &result);

  func::FuncOp entry;
  const ProgramStates &states;
  const InPlacePairs &pairs;
  EntryBuffers buffers;
  Operation *terminator;
  OpBuilder builder;
};

} // namespace

/// The result that first writes the buffer behind a temporary value.
static OpResult findWriter(Value value) {
  auto result = cast<OpResult>(value);
  if (isView(result.getOwner()))
    return findWriter(result.getOwner()->getOperand(0));
  return result;
}

/// Whether the op that first writes `value` can write it over what is in
/// `home`, without changing what any other op reads there.
static bool canWriteInto(Value value, int32_t home, const EntryBuffers &buffers,
                         const InPlacePairs &pairs) {
  OpResult writer = findWriter(value);
  Operation *op = writer.getOwner();
  // A loop writes what it carries from its begin on.
  if (isa<RepeatOp>(op))
    return false;
  bool reads = llvm::any_of(op->getOperands(), [&](Value operand) {
    return buffers.bufferOf(operand) == home;
  });
  return buffers.isLastUse(home, op) &&
         (!reads || writeInPlace(writer, buffers, home, pairs));
}

/// Puts a result into the buffer of its state if that changes nothing that
/// other ops read.
bool Placement::placeDirectly(Value value, int32_t state) {
  int32_t from = buffers.bufferOf(value), home = buffers.bufferOfState(state);
  if (from == home)
    return true;
  if (buffers.buffer(from).kind != BufferKind::Temporary ||
      hasRelatives(buffers, from) ||
      (home >= 0 && !canWriteInto(value, home, buffers, pairs)))
    return false;
  buffers.assignState(from, state);
  return true;
}

static Value copy(OpBuilder &builder, Value value) {
  auto copied = CopyOp::create(builder, value.getLoc(), value.getType(), value);
  setOrigin(copied, getValueOrigin(value));
  return copied;
}

/// An output needs a buffer that nothing else lives in.
void Placement::copyOutput(OpOperand &result) {
  int32_t buffer = buffers.bufferOf(result.get());
  if (buffers.buffer(buffer).kind != BufferKind::Temporary ||
      hasRelatives(buffers, buffer))
    result.set(copy(builder, result.get()));
}

/// Emits moves before `terminator` so that none overwrites what a later one
/// reads.
static void emitMoves(std::vector<Move> moves, Operation *terminator) {
  OpBuilder builder(terminator);
  auto isRead = [&](int32_t home) {
    return llvm::any_of(
        moves, [&](const Move &move) { return move.sourceHome == home; });
  };
  while (!moves.empty()) {
    auto next = llvm::find_if(
        moves, [&](const Move &move) { return !isRead(move.home); });
    if (next == moves.end()) {
      // A cycle: save what the first move would overwrite.
      for (Move &move : moves)
        if (move.sourceHome == moves.front().home) {
          move.source = copy(builder, move.source);
          move.sourceHome = -1;
        }
      continue;
    }
    terminator->setOperand(next->result, copy(builder, next->source));
    moves.erase(next);
  }
}

void Placement::run() {
  std::vector<Move> moves;
  SmallVector<OpOperand *> outputs;
  for (OpOperand &result : terminator->getOpOperands()) {
    unsigned index = result.getOperandNumber();
    int32_t state = states.ofResult(entry, index);
    if (state < 0)
      outputs.push_back(&result);
    else if (!placeDirectly(result.get(), state))
      moves.push_back({index, state, result.get(), -1});
  }
  for (Move &move : moves)
    move.sourceHome = buffers.bufferFor(move.source).state;
  for (OpOperand *output : outputs)
    copyOutput(*output);
  emitMoves(std::move(moves), terminator);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {

/// Makes it so that what a loop carries can be in one buffer.
class LoopPlacement {
public:
  LoopPlacement(func::FuncOp entry, const ProgramStates &states,
                const InPlacePairs &pairs)
      : entry(entry), pairs(pairs),
        buffers(entry, states, ResultBinding::Loose) {}

  void run() {
    // Inner loops first.
    SmallVector<RepeatOp> loops;
    entry.walk([&](RepeatOp loop) { loops.push_back(loop); });
    for (RepeatOp loop : loops) {
      placeInits(loop);
      placeYielded(loop);
    }
  }

private:
  bool isFree(Value init, RepeatOp loop) const;
  void placeInits(RepeatOp loop);
  bool placeDirectly(Value value, BlockArgument carried);
  void placeYielded(RepeatOp loop);

  func::FuncOp entry;
  const InPlacePairs &pairs;
  EntryBuffers buffers;
};

} // namespace

/// Whether nothing but the loop needs the buffer of an init.
bool LoopPlacement::isFree(Value init, RepeatOp loop) const {
  int32_t buffer = buffers.bufferOf(init);
  bool isCarried =
      llvm::any_of(buffers.buffer(buffer).values, [&](Value value) {
        return value.getParentBlock() != loop->getBlock() ||
               isa<BlockArgument>(value) || value.getDefiningOp<RepeatOp>();
      });
  return !isCarried && !hasRelatives(buffers, buffer) &&
         buffers.buffer(buffer).kind == BufferKind::Temporary &&
         buffers.isLastUse(buffer, loop);
}

void LoopPlacement::placeInits(RepeatOp loop) {
  OpBuilder builder(loop);
  llvm::DenseMap<int32_t, unsigned> initsIn;
  for (Value init : loop->getOperands())
    ++initsIn[buffers.bufferOf(init)];
  SmallVector<OpOperand *> copied;
  for (OpOperand &init : loop->getOpOperands())
    if (initsIn.lookup(buffers.bufferOf(init.get())) > 1 ||
        !isFree(init.get(), loop))
      copied.push_back(&init);
  for (OpOperand *init : copied)
    init->set(copy(builder, init->get()));
}

/// Lets what makes the value write it where the loop carries it.
bool LoopPlacement::placeDirectly(Value value, BlockArgument carried) {
  int32_t from = buffers.bufferOf(value), home = buffers.bufferOf(carried);
  if (from == home)
    return true;
  bool isOfBlock = llvm::all_of(buffers.buffer(from).values, [&](Value other) {
    return other.getParentBlock() == carried.getOwner() &&
           !isa<BlockArgument>(other);
  });
  if (!isOfBlock || hasRelatives(buffers, from) ||
      buffers.buffer(from).kind != BufferKind::Temporary ||
      !canWriteInto(value, home, buffers, pairs))
    return false;
  buffers.merge(home, from);
  return true;
}

void LoopPlacement::placeYielded(RepeatOp loop) {
  std::vector<Move> moves;
  Operation *yield = loop.getYield();
  for (BlockArgument carried : loop.getBlock().getArguments()) {
    unsigned number = carried.getArgNumber();
    Value value = yield->getOperand(number);
    if (!placeDirectly(value, carried))
      moves.push_back(
          {number, buffers.bufferOf(carried), value, buffers.bufferOf(value)});
  }
  emitMoves(std::move(moves), yield);
}

void placeInBuffers(func::FuncOp entry, const ProgramStates &states,
                    const InPlacePairs &pairs) {
  separateParts(entry, states);
  separateOperands(entry, states);
  LoopPlacement(entry, states, pairs).run();
  Placement(entry, states, pairs).run();
  shareTemporaries(entry, states, pairs);
}

} // namespace weft
