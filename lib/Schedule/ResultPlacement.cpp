//===- ResultPlacement.cpp - Results into their buffers -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultPlacement.h"

#include "weft/IR/Origin.h"

#include "mlir/IR/Builders.h"

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

/// The one operand of `op` that lies in a buffer; null if there is none or more
/// than one.
static OpOperand *findOperandIn(Operation *op, const EntryBuffers &buffers,
                                int32_t buffer) {
  OpOperand *found = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
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

/// Whether every other use of a buffer is over when `op` begins.
static bool isLastUse(const EntryBuffers &buffers, int32_t buffer,
                      Operation *op) {
  return buffers.lastUse(buffer, op) < buffers.timeOf(op);
}

static void separateOperands(func::FuncOp entry, const ProgramStates &states) {
  EntryBuffers buffers(entry, states, ResultBinding::Loose);
  for (auto launch : entry.getOps<LaunchOp>()) {
    llvm::SmallDenseSet<std::pair<int64_t, int32_t>> seen;
    size_t setSize = launch.getSetOperands(0).size();
    for (OpOperand &operand : launch->getOpOperands()) {
      int64_t set = operand.getOperandNumber() / setSize;
      if (seen.insert({set, buffers.bufferOf(operand.get())}).second)
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
    for (OpResult result : op->getResults()) {
      int32_t to = buffers.bufferOf(result);
      BufferKind kind = buffers.buffer(to).kind;
      if (kind != BufferKind::Temporary && kind != BufferKind::Output)
        continue;
      for (Value operand : op->getOperands()) {
        int32_t from = buffers.bufferOf(operand);
        if (from == to || buffers.buffer(from).kind != BufferKind::Temporary ||
            !isLastUse(buffers, from, op) ||
            !writeInPlace(result, buffers, from, pairs))
          continue;
        buffers.merge(from, to);
        break;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

namespace {

/// A result that has to be copied into the buffer of a state.
struct Move {
  unsigned result;
  int32_t state;
  Value source;
  /// The state whose buffer the source lies in, or -1.
  int32_t sourceState;
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
  void copyStates(std::vector<Move> moves);
  Value copy(Value value);

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

/// Puts a result into the buffer of its state if that changes nothing that
/// other ops read.
bool Placement::placeDirectly(Value value, int32_t state) {
  int32_t from = buffers.bufferOf(value), home = buffers.bufferOfState(state);
  if (from == home)
    return true;
  if (buffers.buffer(from).kind != BufferKind::Temporary)
    return false;
  if (home >= 0) {
    OpResult writer = findWriter(value);
    Operation *op = writer.getOwner();
    bool reads = llvm::any_of(op->getOperands(), [&](Value operand) {
      return buffers.bufferOf(operand) == home;
    });
    if (!isLastUse(buffers, home, op) ||
        (reads && !writeInPlace(writer, buffers, home, pairs)))
      return false;
  }
  buffers.assignState(from, state);
  return true;
}

Value Placement::copy(Value value) {
  auto copied = CopyOp::create(builder, value.getLoc(), value.getType(), value);
  setOrigin(copied, getValueOrigin(value));
  return copied;
}

/// An output needs a buffer that nothing else lives in.
void Placement::copyOutput(OpOperand &result) {
  if (buffers.bufferFor(result.get()).kind != BufferKind::Temporary)
    result.set(copy(result.get()));
}

/// Emits moves so that none overwrites what a later one reads.
void Placement::copyStates(std::vector<Move> moves) {
  auto isRead = [&](int32_t state) {
    return llvm::any_of(
        moves, [&](const Move &move) { return move.sourceState == state; });
  };
  while (!moves.empty()) {
    auto next = llvm::find_if(
        moves, [&](const Move &move) { return !isRead(move.state); });
    if (next == moves.end()) {
      // A cycle: save what the first move would overwrite.
      for (Move &move : moves)
        if (move.sourceState == moves.front().state) {
          move.source = copy(move.source);
          move.sourceState = -1;
        }
      continue;
    }
    terminator->setOperand(next->result, copy(next->source));
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
    move.sourceState = buffers.bufferFor(move.source).state;
  for (OpOperand *output : outputs)
    copyOutput(*output);
  copyStates(std::move(moves));
}

void placeInBuffers(func::FuncOp entry, const ProgramStates &states,
                    const InPlacePairs &pairs) {
  separateOperands(entry, states);
  Placement(entry, states, pairs).run();
  shareTemporaries(entry, states, pairs);
}

} // namespace weft
