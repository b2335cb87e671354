//===- EntryBuffers.cpp - The buffers behind the values of an entry -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/EntryBuffers.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace weft {

EntryBuffers::EntryBuffers(func::FuncOp entry, const ProgramStates &states,
                           ResultBinding binding)
    : entry_(entry) {
  Block &block = entry.front();
  int64_t values = block.getNumArguments();
  entry.walk([&](Operation *op) {
    values += op->getNumResults();
    if (auto loop = dyn_cast<RepeatOp>(op))
      values += loop.getBlock().getNumArguments();
  });
  buffers_.reserve(values);
  bufferOfValue_.reserve(values);
  addTimes(block);
  for (BlockArgument argument : block.getArguments()) {
    int32_t state = states.ofArgument(entry, argument.getArgNumber());
    addValue(argument, state < 0 ? BufferKind::Input : BufferKind::State, 0);
    if (state < 0)
      continue;
    buffers_.back().state = state;
    bufferOfState_[state] = bufferOf(argument);
  }
  addValues(block);
  for (EntryBuffer &buffer : buffers_)
    if (buffer.last < buffer.first)
      buffer.last = buffer.first;
  if (binding == ResultBinding::Bound) {
    entry.walk([&](RepeatOp loop) { bindCarried(loop); });
    bindResults(states);
  }
  for (EntryBuffer &buffer : buffers_)
    for (Value part : buffer.parts) {
      buffer.first = std::min(buffer.first, bufferFor(part).first);
      buffer.last = std::max(buffer.last, bufferFor(part).last);
    }
}

/// A loop is an instruction, those of its block follow.
void EntryBuffers::addTimes(Block &block) {
  for (Operation &op : block) {
    times_[&op] = instructions_.size();
    if (isa<InstructionOpInterface>(op))
      instructions_.push_back(&op);
    if (auto loop = dyn_cast<RepeatOp>(op)) {
      addTimes(loop.getBlock());
      // What is carried on is read when the last instruction has run.
      times_[loop.getYield()] = instructions_.size() - 1;
    }
  }
}

void EntryBuffers::addValues(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto loop = dyn_cast<RepeatOp>(op)) {
      for (Value carried : loop.getBlock().getArguments())
        addValue(carried, BufferKind::Temporary, timeOf(&op));
      addValues(loop.getBlock());
    }
    bool isConstant = isa<arith::ConstantOp>(op);
    int64_t written = isa<RepeatOp>(op) ? endOf(&op) : timeOf(&op);
    if (auto start = dyn_cast<StartOp>(op))
      written = beginOf(start);
    for (Value result : op.getResults())
      addValue(result,
               isConstant ? BufferKind::Constant : BufferKind::Temporary,
               isConstant ? 0 : written);
    addAliases(&op);
  }
}

int64_t EntryBuffers::endOf(Operation *op) const {
  int64_t end = timeOf(op);
  if (isStart(op))
    for (Operation *wait : op->getUsers())
      end = std::max(end, timeOf(wait));
  if (auto loop = dyn_cast<RepeatOp>(op))
    end = timeOf(loop.getYield());
  return end;
}

static RepeatOp findLoopOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !(isView(op) || isa<ConcatOp>(op)))
    return dyn_cast_if_present<RepeatOp>(op);
  RepeatOp loop = findLoopOf(op->getOperand(0));
  return llvm::all_of(op->getOperands(),
                      [&](Value each) { return findLoopOf(each) == loop; })
             ? loop
             : RepeatOp();
}

RepeatOp findLoopBefore(StartOp start) {
  return findLoopOf(start.getOperand());
}

int64_t EntryBuffers::beginOf(StartOp start) const {
  auto behind = start->getAttrOfType<IntegerAttr>(behindAttrName);
  RepeatOp loop = behind ? findLoopBefore(start) : RepeatOp();
  return loop ? timeOf(loop) + 1 + behind.getInt() : timeOf(start);
}

/// The last instruction that reads a value itself. One that is used in a loop
/// after it is read until the last execution of the loop's block ends.
static int64_t lastReader(const EntryBuffers &buffers, Value value,
                          Operation *except) {
  int64_t last = -1;
  for (Operation *user : value.getUsers()) {
    Operation *reader = value.getParentBlock()->findAncestorOpInBlock(*user);
    // The readers of a view count for themselves, but it may be in the loop.
    if (reader == except ||
        (reader == user && (isa<ReshapeOp>(user) || isPartView(user))))
      continue;
    bool isInit = reader == user && isa<RepeatOp>(user);
    last =
        std::max(last, isInit ? buffers.timeOf(user) : buffers.endOf(reader));
  }
  return last;
}

llvm::SmallVector<int32_t> EntryBuffers::sharing(int32_t index) const {
  llvm::SmallVector<int32_t> found;
  const EntryBuffer &buffer = buffers_[index];
  for (Value part : buffer.parts)
    found.push_back(bufferOf(part));
  if (!buffer.whole)
    return found;
  found.push_back(bufferOf(buffer.whole));
  for (Value value : bufferFor(buffer.whole).parts) {
    const EntryBuffer &other = bufferFor(value);
    if (&other != &buffer &&
        other.offsetInWhole < buffer.offsetInWhole + buffer.bytes &&
        buffer.offsetInWhole < other.offsetInWhole + other.bytes)
      found.push_back(bufferOf(value));
  }
  return found;
}

bool EntryBuffers::isLastUse(int32_t buffer, Operation *op) const {
  auto isOver = [&](int32_t each) { return lastUse(each, op) < timeOf(op); };
  return isOver(buffer) && llvm::all_of(sharing(buffer), isOver);
}

/// The time of the last instruction that reads or writes the buffer itself,
/// leaving out `except`; -1 if there is none.
int64_t EntryBuffers::lastUse(int32_t buffer, Operation *except) const {
  int64_t last = -1;
  for (Value value : buffers_[buffer].values) {
    last = std::max(last, lastReader(*this, value, except));
    Operation *definer = value.getDefiningOp();
    if (definer && definer != except && isa<InstructionOpInterface>(definer))
      last = std::max(last, isa<RepeatOp>(definer) ? endOf(definer)
                                                   : timeOf(definer));
  }
  return last;
}

void EntryBuffers::addValue(Value value, BufferKind kind, int64_t time) {
  bool outlives = kind == BufferKind::State || kind == BufferKind::Constant;
  int64_t last = outlives ? int64_t(instructions_.size())
                          : lastReader(*this, value, nullptr);
  bufferOfValue_[value] = buffers_.size();
  buffers_.push_back({kind, {value}, bytesOf(value), time, last});
}

/// The first whole that a buffer is a part of counts; the memory planner sees
/// to it that there is no other one.
void EntryBuffers::addPart(const BufferPart &part) {
  EntryBuffer &buffer = buffers_[bufferOf(part.part)];
  if (buffer.whole || !buffer.parts.empty())
    return;
  buffer.whole = part.whole;
  buffer.offsetInWhole = part.offset;
  buffers_[bufferOf(part.whole)].parts.push_back(part.part);
}

void EntryBuffers::addAliases(Operation *op) {
  if (isPartView(op))
    if (auto parts = findParts(op))
      llvm::for_each(*parts, [&](const BufferPart &part) { addPart(part); });
  auto instruction = dyn_cast<InstructionOpInterface>(op);
  for (OpResult result : op->getResults()) {
    int64_t operand =
        isView(op)    ? 0
        : instruction ? instruction.getInPlaceOperand(result.getResultNumber())
                      : -1;
    if (operand >= 0)
      merge(bufferOf(op->getOperand(operand)), bufferOf(result));
  }
}

/// The more lasting a kind, the greater.
static int lastingness(BufferKind kind) {
  switch (kind) {
  case BufferKind::Temporary:
    return 0;
  case BufferKind::Output:
    return 1;
  case BufferKind::Input:
    return 2;
  case BufferKind::Constant:
    return 3;
  case BufferKind::State:
    return 4;
  }
  return 0;
}

void EntryBuffers::merge(int32_t a, int32_t b) {
  if (a == b)
    return;
  if (std::pair(lastingness(buffers_[a].kind), -a) <
      std::pair(lastingness(buffers_[b].kind), -b))
    std::swap(a, b);
  EntryBuffer &kept = buffers_[a], &merged = buffers_[b];
  for (Value value : merged.values)
    bufferOfValue_[value] = a;
  kept.values.append(merged.values);
  kept.first = std::min(kept.first, merged.first);
  kept.last = std::max(kept.last, merged.last);
  kept.parts.append(merged.parts);
  if (!kept.whole) {
    kept.whole = merged.whole;
    kept.offsetInWhole = merged.offsetInWhole;
  }
  merged.values.clear();
  merged.parts.clear();
  merged.whole = {};
}

void EntryBuffers::assignState(int32_t buffer, int32_t state) {
  int32_t home = bufferOfState(state);
  if (home >= 0)
    return merge(home, buffer);
  buffers_[buffer].kind = BufferKind::State;
  buffers_[buffer].state = state;
  buffers_[buffer].last = instructions_.size();
  bufferOfState_[state] = buffer;
}

void EntryBuffers::bindCarried(RepeatOp loop) {
  for (BlockArgument carried : loop.getBlock().getArguments()) {
    unsigned number = carried.getArgNumber();
    for (Value value : {loop.getInits()[number], Value(carried),
                        loop.getYield()->getOperand(number)})
      merge(bufferOf(value), bufferOf(loop.getResult(number)));
  }
}

void EntryBuffers::bindResults(const ProgramStates &states) {
  Operation *terminator = entry_.front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    int32_t index = bufferOf(operand.get());
    int32_t state = states.ofResult(entry_, operand.getOperandNumber());
    if (state >= 0)
      assignState(index, state);
    else if (buffers_[index].kind == BufferKind::Temporary)
      buffers_[index].kind = BufferKind::Output;
  }
}

int32_t EntryBuffers::bufferOfState(int32_t state) const {
  auto it = bufferOfState_.find(state);
  return it == bufferOfState_.end() ? -1 : it->second;
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

int64_t getOffset(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<RepeatOp>(parent))
      return getOffset(loop.getResult(argument.getArgNumber()));
    auto entry = cast<func::FuncOp>(parent);
    auto offset = entry.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                      offsetAttrName);
    return offset ? offset.getInt() : -1;
  }
  auto result = cast<OpResult>(value);
  auto offsets =
      result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(offsetsAttrName);
  return offsets ? offsets[result.getResultNumber()] : -1;
}

void setOffsets(func::FuncOp entry,
                ArrayRef<std::pair<Value, int64_t>> offsets) {
  Builder builder(entry.getContext());
  SmallVector<NamedAttrList> arguments(entry.getNumArguments());
  for (auto [index, attributes] : llvm::enumerate(arguments))
    attributes.append(function_interface_impl::getArgAttrs(entry, index));
  llvm::MapVector<Operation *, SmallVector<int64_t>> results;
  for (auto [value, offset] : offsets) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      // What a loop carries is where its result is.
      if (isa<func::FuncOp>(argument.getOwner()->getParentOp()))
        arguments[argument.getArgNumber()].set(
            offsetAttrName, builder.getI64IntegerAttr(offset));
      continue;
    }
    auto result = cast<OpResult>(value);
    SmallVector<int64_t> &all = results[result.getOwner()];
    all.resize(result.getOwner()->getNumResults(), -1);
    all[result.getResultNumber()] = offset;
  }
  entry.setAllArgAttrs(
      llvm::map_to_vector(arguments, [&](NamedAttrList &attributes) {
        return attributes.getDictionary(entry.getContext());
      }));
  for (auto &[op, all] : results)
    op->setAttr(offsetsAttrName, builder.getDenseI64ArrayAttr(all));
}

} // namespace weft
