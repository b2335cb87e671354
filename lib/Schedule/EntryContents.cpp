//===- EntryContents.cpp - What the buffers of an entry hold --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryContents.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Schedule/ArenaPlanner.h"
#include "weft/Schedule/EntryBuffers.h"
#include "weft/Schedule/StepCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;

static std::string quoted(StringRef name) { return ("\"" + name + "\"").str(); }

/// Whoever reads the result reads the operands.
static bool isOtherName(Operation *op) {
  return isa<ReshapeOp, ConcatOp, SliceOp>(op);
}

static bool isFree(Operation *op) {
  return isOtherName(op) || isa<arith::ConstantOp>(op);
}

/// Instructions from 0, those of a loop behind it; the return, and what is
/// behind the last one, is `end`.
void EntryContents::number(Block &block) {
  for (Operation &op : block) {
    times[&op] = end;
    // What a loop carries on is read with its last instruction.
    if (isa<YieldOp>(op))
      times[&op] = end - 1;
    end += !isFree(&op) && !op.hasTrait<OpTrait::IsTerminator>();
    if (auto loop = dyn_cast<RepeatOp>(op))
      number(loop.getBlock());
  }
}

/// When an op is over: a collective at the wait for it, a loop with its last
/// instruction.
int64_t EntryContents::endOf(Operation *op) const {
  int64_t time = times.at(op);
  if (isa<StartOp>(op))
    for (Operation *wait : op->getUsers())
      time = std::max(time, times.at(wait));
  if (auto loop = dyn_cast<RepeatOp>(op))
    time = times.at(loop.getYield());
  return time;
}

std::string EntryContents::nameOf(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (parent != entry)
      return "value " + std::to_string(argument.getArgNumber()) +
             " that instruction " + std::to_string(times.at(parent)) +
             " (weft.repeat) carries";
    return quoted(getArgumentName(entry, argument.getArgNumber()));
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  if (isa<arith::ConstantOp>(op))
    return "a constant";
  std::string name = op->getNumResults() == 1
                         ? "the result"
                         : "result " + std::to_string(result.getResultNumber());
  return name + " of instruction " + std::to_string(times.at(op)) + " (" +
         op->getName().getStringRef().str() + ")";
}

/// A value that is used in a loop behind it is read until the loop ends. What a
/// loop begins with it takes over.
int64_t EntryContents::lastReadOf(Value value) const {
  int64_t last = -1;
  for (Operation *user : value.getUsers()) {
    Operation *reader = value.getParentBlock()->findAncestorOpInBlock(*user);
    if (reader != user)
      last = std::max(last, endOf(reader));
    else if (isa<RepeatOp>(user))
      last = std::max(last, times.at(user));
    else if (!isOtherName(user))
      last = std::max(last, endOf(user));
  }
  return last;
}

void EntryContents::addValue(Value value, int64_t time) {
  indices[value] = contents.size();
  int64_t last = lastReadOf(value);
  contents.push_back({value, {value}, time, last});
}

/// `value` has the buffer of `source`.
void EntryContents::addView(Value value, Value source) {
  if (getOffset(value) != getOffset(source))
    check.error(value.getLoc())
        << nameOf(value) << " has the buffer of " << nameOf(source)
        << ", which is at offset " << getOffset(source) << ", but is at "
        << getOffset(value) << planMemoryRemedy;
  size_t index = indices.at(source);
  indices[value] = index;
  Content &content = contents[index];
  content.current.push_back(value);
  int64_t last = lastReadOf(value);
  content.lastRead = std::max(content.lastRead, last);
}

/// The contents that have bytes in common with one: its parts, what it is a
/// part of, and the parts of that which overlap with it.
SmallVector<size_t> EntryContents::sharing(size_t index) const {
  const Content &content = contents[index];
  if (!content.whole)
    return llvm::to_vector(content.parts);
  SmallVector<size_t> found = {*content.whole};
  for (size_t other : contents[*content.whole].parts)
    if (other != index &&
        contents[other].offset < content.offset + bytesOf(content.maker) &&
        content.offset <
            contents[other].offset + bytesOf(contents[other].maker))
      found.push_back(other);
  return found;
}

/// `part` lies in the buffer of `whole` from a byte on.
void EntryContents::addPart(Operation *op, Value part, Value whole,
                            int64_t offset) {
  size_t index = indices.at(part), of = indices.at(whole);
  Content &content = contents[index];
  auto isFixed = [&](const Content &content) {
    Operation *definer = content.maker.getDefiningOp();
    return !definer || isa<arith::ConstantOp>(definer) ||
           definer->getBlock() != op->getBlock();
  };
  if (contents[of].whole || content.whole || !content.parts.empty() ||
      isFixed(content) || isFixed(contents[of]))
    check.error(op->getLoc())
        << nameOf(part) << " cannot be a part of " << nameOf(whole)
        << ": one of them has a buffer of its own" << planMemoryRemedy;
  else if (getOffset(part) != getOffset(whole) + offset ||
           offset % arenaAlignment != 0)
    check.error(op->getLoc())
        << nameOf(part) << " is a part of " << nameOf(whole) << " from byte "
        << offset << " on, but is at offset " << getOffset(part) << " and that "
        << "at " << getOffset(whole) << planMemoryRemedy;
  if (content.whole)
    return;
  content.whole = of;
  content.offset = offset;
  contents[of].parts.push_back(index);
}

/// Of a concat, what it is made of is there before; of a slice, the whole.
void EntryContents::addParts(Operation *op) {
  addValue(op->getResult(0), times.at(op));
  if (auto slice = dyn_cast<SliceOp>(op)) {
    // Strides are 1, and all dimensions but one are whole or have one index.
    int64_t index = 0;
    ArrayRef<int64_t> shape = slice.getOperand().getType().getShape();
    for (auto [size, start] : llvm::zip_equal(shape, slice.getStarts()))
      index = index * size + start;
    return addPart(op, slice.getResult(), slice.getOperand(),
                   index * elementBytes(slice.getType()));
  }
  int64_t offset = 0;
  for (Value operand : op->getOperands()) {
    addPart(op, operand, op->getResult(0), offset);
    offset += bytesOf(operand);
  }
}

void EntryContents::checkKernelAllows(OpResult result, OpOperand &operand) {
  auto launch = dyn_cast<LaunchOp>(result.getOwner());
  if (!launch)
    return;
  int64_t from = operand.getOperandNumber() % launch.getSetOperands(0).size();
  int64_t to = result.getResultNumber() % launch.getSetResults(0).size();
  auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
  auto pairs =
      kernel->getAttrOfType<DenseI64ArrayAttr>(WeftDialect::kInPlaceAttrName);
  for (int64_t i = 0; pairs && i + 1 < pairs.size(); i += 2)
    if (pairs[i] == from && pairs[i + 1] == to)
      return;
  check.error(launch.getLoc())
      << "weft.launch writes result " << to << " over operand " << from
      << ", which " << WeftDialect::kInPlaceAttrName << " of kernel @"
      << launch.getKernel()
      << " does not list; run --weft-find-in-place and --weft-plan-memory";
}

/// Whether a value is from before a loop that `op` is in. A view that a loop
/// before `op` makes is not.
static bool isFromBeforeLoop(Value value, Operation *op) {
  return !op->getParentOp()->isAncestor(value.getParentBlock()->getParentOp());
}

/// `result` is written over `over`, and with it over a content that has bytes
/// in common: nothing may read that any more, not even the op itself.
void EntryContents::checkWrittenOver(OpResult result, const Content &over,
                                     const Content &content) {
  Operation *op = result.getOwner();
  for (Value value : content.current) {
    if (isFromBeforeLoop(value, op)) {
      check.error(op->getLoc())
          << nameOf(result) << " is written over " << nameOf(value)
          << ", which the next iteration of the loop reads again"
          << planMemoryRemedy;
      break;
    }
    for (Operation *user : value.getUsers())
      if ((user != op || &content != &over) && !isOtherName(user) &&
          endOf(op->getBlock()->findAncestorOpInBlock(*user)) >= times.at(op)) {
        check.error(op->getLoc())
            << nameOf(result) << " is written over " << nameOf(value)
            << ", which instruction " << times.at(user) << " ("
            << user->getName() << ") reads later" << planMemoryRemedy;
        break;
      }
  }
}

/// `result` is written over `operand`: nothing may read it from then on.
void EntryContents::addInPlace(OpResult result, OpOperand &operand) {
  Operation *op = result.getOwner();
  Content &content = contents[indices.at(operand.get())];
  checkKernelAllows(result, operand);
  if (content.maker.getDefiningOp<arith::ConstantOp>())
    check.error(op->getLoc())
        << nameOf(result) << " is written over a constant" << planMemoryRemedy;
  checkWrittenOver(result, content, content);
  for (size_t other : sharing(indices.at(operand.get())))
    checkWrittenOver(result, content, contents[other]);
  content.current.clear();
  content.isWrittenOver = true;
  addView(result, operand.get());
  content.lastRead = std::max(content.lastRead, endOf(op));
}

/// Code may count on it that no buffer of a launch is another one.
void EntryContents::checkOperands(LaunchOp launch) {
  for (unsigned set = 0; set < launch.getBatch(); ++set) {
    llvm::SmallDenseMap<size_t, unsigned> seen;
    for (auto [number, operand] : llvm::enumerate(launch.getSetOperands(set))) {
      auto [it, isNew] = seen.try_emplace(indices.at(operand), number);
      if (!isNew)
        check.error(launch.getLoc())
            << "operands " << it->second << " and " << number
            << " of weft.launch are one buffer, that of "
            << nameOf(contentOf(operand).maker) << planMemoryRemedy;
    }
  }
}

/// The operand whose buffer a result is written to, or null.
static OpOperand *findInPlaceOperand(OpResult result) {
  Operation *op = result.getOwner();
  if (auto start = dyn_cast<StartOp>(op))
    return start.getInPlace() ? &op->getOpOperand(0) : nullptr;
  if (auto gemm = dyn_cast<GemmOp>(op);
      gemm && gemm.getEpilogue() == GemmEpilogue::Accumulate)
    return gemm.getEpilogueOperandMutable().begin();
  auto launch = dyn_cast<LaunchOp>(op);
  int64_t operand =
      launch ? launch.getInPlaceOperand(result.getResultNumber()) : -1;
  return operand < 0 ? nullptr : &op->getOpOperand(operand);
}

/// What a loop carries is not touched from where a collective of it begins.
void EntryContents::checkBehind(StartOp start, RepeatOp loop, int64_t begin) {
  auto [touches, isNew] = lastTouches.try_emplace(loop);
  if (isNew)
    loop.getBody().walk([&](Operation *op) {
      if (isFree(op) || op->hasTrait<OpTrait::IsTerminator>())
        return;
      for (ValueRange values :
           {ValueRange(op->getOperands()), ValueRange(op->getResults())})
        for (Value value : values) {
          int64_t &last =
              touches->second.try_emplace(indices.at(value), -1).first->second;
          last = std::max(last, endOf(op));
        }
    });
  size_t whole = indices.at(start.getOperand());
  SmallVector<size_t> sources = sharing(whole);
  sources.push_back(whole);
  for (size_t source : sources) {
    if (int64_t last = touches->second.lookup_or(source, -1); last > begin)
      check.error(start.getLoc())
          << "a collective starts behind instruction " << begin << ", but "
          << "instruction " << last << " of the loop touches its operand"
          << planMemoryRemedy;
    for (Value value : contents[source].current)
      for (Operation *user : value.getUsers())
        if (start.getInPlace() && user != start && !isFree(user) &&
            times.at(user) > endOf(loop) && times.at(user) < times.at(start))
          check.error(start.getLoc())
              << "a collective that starts in a loop writes over its operand, "
              << "which instruction " << times.at(user) << " ("
              << user->getName() << ") behind the loop reads"
              << planMemoryRemedy;
  }
}

/// The instruction behind which a collective begins, if that is one of a loop.
int64_t EntryContents::beginOf(StartOp start) {
  Attribute attr = start->getAttr(behindAttrName);
  if (!attr)
    return times.at(start);
  SmallVector<Value> sources = {start.getOperand()};
  llvm::SmallPtrSet<Operation *, 2> definers;
  while (!sources.empty()) {
    Operation *definer = sources.pop_back_val().getDefiningOp();
    if (isa_and_present<ReshapeOp, ConcatOp>(definer))
      llvm::append_range(sources, definer->getOperands());
    else
      definers.insert(definer);
  }
  auto loop = definers.size() == 1
                  ? dyn_cast_if_present<RepeatOp>(*definers.begin())
                  : RepeatOp();
  auto behind = dyn_cast<IntegerAttr>(attr);
  if (!loop || !behind || loop->getBlock() != start->getBlock() ||
      behind.getInt() < 0 || behind.getInt() >= endOf(loop) - times.at(loop)) {
    check.error(start.getLoc())
        << behindAttrName << " of a weft.start must be the index of an "
        << "instruction in the loop that carries its operand, got " << attr
        << "; run --weft-start-in-loops";
    return times.at(start);
  }
  int64_t begin = times.at(loop) + 1 + behind.getInt();
  checkBehind(start, loop, begin);
  return begin;
}

void EntryContents::addResults(Operation &op) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    checkOperands(launch);
  if (auto loop = dyn_cast<RepeatOp>(op))
    return addLoop(loop);
  auto start = dyn_cast<StartOp>(op);
  int64_t begin = start ? beginOf(start) : times.at(&op);
  for (OpResult result : op.getResults()) {
    if (isa<ReshapeOp, WaitOp>(op))
      addView(result, op.getOperand(0));
    else if (isa<ConcatOp, SliceOp>(op))
      addParts(&op);
    else if (OpOperand *operand = findInPlaceOperand(result))
      addInPlace(result, *operand);
    else
      addValue(result, begin);
  }
}

/// A loop writes over the buffer of what it begins with.
void EntryContents::takeOver(RepeatOp loop, OpOperand &init, Value carried) {
  Content &content = contents[indices.at(init.get())];
  if (content.maker.getDefiningOp<arith::ConstantOp>())
    check.error(loop.getLoc()) << "a loop begins with a constant, which it "
                                  "writes over"
                               << planMemoryRemedy;
  for (Value value : content.current) {
    if (isFromBeforeLoop(value, loop)) {
      check.error(loop.getLoc())
          << "a loop writes over " << nameOf(value)
          << ", which the next iteration of the loop around it reads again"
          << planMemoryRemedy;
      break;
    }
    for (OpOperand &use : value.getUses()) {
      Operation *user =
          loop->getBlock()->findAncestorOpInBlock(*use.getOwner());
      if (&use == &init || isOtherName(use.getOwner()) || !user ||
          endOf(user) < times.at(loop))
        continue;
      check.error(loop.getLoc())
          << "a loop writes over " << nameOf(value) << ", which instruction "
          << times.at(use.getOwner()) << " (" << use.getOwner()->getName()
          << ") reads later" << planMemoryRemedy;
      break;
    }
  }
  content.current.clear();
  content.isWrittenOver = true;
  addView(carried, init.get());
}

/// What a loop carries has one offset: of what it begins with, the argument,
/// what is carried on, and the result.
void EntryContents::addLoop(RepeatOp loop) {
  Block &block = loop.getBlock();
  for (auto [init, carried] :
       llvm::zip_equal(loop->getOpOperands(), block.getArguments()))
    takeOver(loop, init, carried);
  for (Operation &op : block.without_terminator())
    addResults(op);
  for (auto [next, carried, result] :
       llvm::zip_equal(loop.getYield()->getOperands(), block.getArguments(),
                       loop.getResults())) {
    if (getOffset(next) != getOffset(carried)) {
      check.error(loop.getLoc())
          << nameOf(next) << " is carried on at offset " << getOffset(carried)
          << ", but is at " << getOffset(next) << planMemoryRemedy;
      addView(result, carried);
      continue;
    }
    if (const Content &made = contentOf(next);
        &made != &contentOf(carried) &&
        (next.getParentBlock() != &block ||
         made.first <= contentOf(carried).lastRead))
      check.error(loop.getLoc())
          << nameOf(next) << " is written over what the loop "
          << "carries, whose old value is read until instruction "
          << contentOf(carried).lastRead << planMemoryRemedy;
    // Nothing reads the values of the block any more.
    contents[indices.at(next)].current.clear();
    addView(result, next);
  }
}

EntryContents::EntryContents(func::FuncOp entry, const SymbolTable &symbols,
                             FormCheck &check)
    : entry(entry), symbols(symbols), check(check) {
  number(entry.front());
  for (BlockArgument argument : entry.getArguments())
    addValue(argument, 0);
  for (Operation &op : entry.getBody().getOps())
    addResults(op);
}
