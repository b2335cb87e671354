//===- BufferContents.cpp - What the buffers of an entry hold -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Plan/BufferContents.h"

#include "weft/IR/BufferParts.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Segments.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace weft {

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Whether a loss is differentiated by the argument of an entry.
static bool isParameter(BlockArgument argument) {
  auto entry = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return bool(entry.getArgAttr(argument.getArgNumber(),
                               WeftDialect::kParameterAttrName));
}

/// Whether a segment is of one of these kinds: of "PU", what runs once a step.
static bool isAnyOf(StringRef action, StringRef kinds) {
  return action.find_first_of(kinds) != StringRef::npos;
}

/// Whether ranks exchange what a value is computed from.
static bool isExchanged(Value value) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(value, &slice, options);
  return llvm::any_of(slice, [](Operation *op) { return isStart(op); });
}

namespace {

/// What segments leave for each other or send.
class SegmentStates {
public:
  SegmentStates(ModuleOp module, const ProgramStates &states);

  plan::Purpose purposeOf(int32_t index, const ProgramState &state) const;

private:
  void addSegment(func::FuncOp segment, const ProgramStates &states);

  /// Who writes a value.
  struct Writers {
    bool once = false, backward = false, gradient = false, gathered = false;
  };

  llvm::StringSet<> arguments, results;
  /// By name, which is the same for all roles.
  llvm::StringMap<Writers> writers;
  /// The actions that use each state: "0F". Entries share states by name.
  std::vector<llvm::SmallSetVector<StringRef, 4>> users;
  llvm::DenseSet<int32_t> counts;
};

} // namespace

SegmentStates::SegmentStates(ModuleOp module, const ProgramStates &states)
    : users(states.states().size()) {
  for (func::FuncOp entry : findTimelines(module)) {
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      arguments.insert(getArgumentName(entry, i));
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      results.insert(getResultName(entry, i));
  }
  for (func::FuncOp entry : findEntries(module))
    if (getSegment(entry))
      addSegment(entry, states);
}

void SegmentStates::addSegment(func::FuncOp segment,
                               const ProgramStates &states) {
  StringRef action = getSegment(segment).getAction().getValue();
  for (unsigned i = 0; i < segment.getNumArguments(); ++i) {
    int32_t state = states.ofArgument(segment, i);
    users[state].insert(action);
    if (segment.getArgAttr(i, kCountsAttrName))
      counts.insert(state);
  }
  for (auto [i, result] :
       llvm::enumerate(segment.front().getTerminator()->getOperands())) {
    users[states.ofResult(segment, i)].insert(action);
    OriginAttr origin = getValueOrigin(result);
    Writers &all = writers[getResultName(segment, i)];
    all.once |= isAnyOf(action, "PU");
    all.backward |= isBackward(origin);
    all.gradient |= !gradientOf(origin).empty();
    all.gathered |= isAnyOf(action, "P") && isExchanged(result);
  }
}

plan::Purpose SegmentStates::purposeOf(int32_t index,
                                       const ProgramState &state) const {
  using plan::Purpose;
  if (arguments.contains(state.name))
    return results.contains(state.name) ? Purpose::State : Purpose::Argument;
  if (results.contains(state.name))
    return Purpose::Result;
  if (counts.contains(index))
    return Purpose::Temporary;
  // What a single segment of the role uses is there to be sent, or received.
  // What a prologue gathers are parameters and arguments.
  Writers all = writers.lookup(state.name);
  if (users[index].size() == 1 || all.gathered)
    return Purpose::Communication;
  if (all.gradient)
    return Purpose::Gradient;
  bool isKept = llvm::any_of(
      users[index], [](StringRef action) { return isAnyOf(action, "BIW"); });
  return !all.once || (isKept && !all.backward) ? Purpose::Activation
                                                : Purpose::Temporary;
}

std::vector<plan::Purpose> findStatePurposes(ModuleOp module,
                                             const ProgramStates &states) {
  std::vector<plan::Purpose> purposes(states.states().size(),
                                      plan::Purpose::State);
  SegmentStates segments(module, states);
  for (auto [index, state] : llvm::enumerate(states.states()))
    if (state.role >= 0)
      purposes[index] = segments.purposeOf(index, state);
  // What is beside parameters that the program changes.
  bool hasOptimizer = false;
  llvm::StringSet<> changed;
  for (func::FuncOp entry : findEntries(module))
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      changed.insert(getResultName(entry, i));
  for (func::FuncOp entry : findEntries(module))
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      int32_t state = states.ofArgument(entry, i);
      if (state < 0 || !isParameter(entry.getArgument(i)))
        continue;
      purposes[state] = plan::Purpose::Parameter;
      // Those of segments may be frozen.
      hasOptimizer |=
          !getSegment(entry) || changed.contains(getArgumentName(entry, i));
    }
  if (hasOptimizer)
    llvm::replace(purposes, plan::Purpose::State,
                  plan::Purpose::OptimizerState);
  return purposes;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Calls `visit` with everything that reads a value or a view of it; with a
/// loop that carries it on, and what reads the loop's result.
static void visitReaders(Value value,
                         llvm::function_ref<void(Operation *)> visit) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isView(user) || isPartView(user)) {
      visitReaders(user->getResult(0), visit);
      continue;
    }
    if (isa<YieldOp>(user))
      user = user->getParentOp();
    visit(user);
    if (isa<RepeatOp>(user))
      visitReaders(user->getResult(use.getOperandNumber()), visit);
  }
}

/// Whether the value is one that a loop carries, and has been written by
/// others.
static bool isCarried(Value value) {
  Operation *parent = value.getParentBlock()->getParentOp();
  return value.getDefiningOp<RepeatOp>() ||
         (isa<BlockArgument>(value) && isa<RepeatOp>(parent));
}

namespace {

/// Who reads a value.
struct Readers {
  explicit Readers(Value value) {
    visitReaders(value, [&](Operation *op) {
      auto start = dyn_cast<StartOp>(op);
      collective |= isStart(op);
      loop |= isa<RepeatOp>(op);
      reduction |= start && start.getReduction();
      terminator |= op->hasTrait<OpTrait::IsTerminator>();
      backward |= isBackward(getOrigin(op));
      recomputed |= isRecomputed(getOrigin(op));
    });
  }

  bool collective = false, reduction = false, loop = false, terminator = false;
  bool backward = false, recomputed = false;
};

} // namespace

/// Whether the value is an argument that was sent from rank to rank.
static bool isMovedArgument(Value value) {
  bool moved = false;
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op) && !isPartView(op) && !isStart(op) && !isa<CopyOp>(op))
      return false;
    moved |= isStart(op);
    value = op->getOperand(0);
  }
  return moved;
}

/// Whether the backward pass reads a value of the forward pass, of its first
/// run or of its recomputation.
static bool isActivation(OriginAttr origin, const Readers &readers) {
  return !isBackward(origin) &&
         (readers.backward || (readers.recomputed && !isRecomputed(origin)));
}

plan::Purpose BufferContents::purposeOf(const EntryBuffer &buffer,
                                        Value value) const {
  using plan::Purpose;
  if (buffer.kind == BufferKind::State)
    return statePurposes[buffer.state];
  if (buffer.kind == BufferKind::Constant)
    return Purpose::Constant;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isParameter(argument) ? Purpose::Parameter : Purpose::Argument;
  OriginAttr origin = getValueOrigin(value);
  Readers readers(value);
  bool isGradient = !gradientOf(origin).empty();
  // Partial sums are no gradient yet, nor an activation; but those that
  // micro-batches add up are all that there is of a gradient.
  if (readers.reduction && !(readers.loop && isGradient))
    return Purpose::Communication;
  if (isGradient)
    return Purpose::Gradient;
  if (readers.terminator)
    return Purpose::Result;
  if (isMovedArgument(value))
    return Purpose::Communication;
  if (isActivation(origin, readers))
    return Purpose::Activation;
  bool isReceived = isStart(value.getDefiningOp());
  return isReceived || readers.collective ? Purpose::Communication
                                          : Purpose::Temporary;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

std::vector<HeldValue> BufferContents::of(const EntryBuffer &buffer) const {
  std::vector<HeldValue> held;
  for (Value value : buffer.values) {
    Operation *op = value.getDefiningOp();
    if (isView(op) || isa_and_present<SliceOp>(op) || isCarried(value))
      continue;
    int64_t first = op && !isa<arith::ConstantOp>(op) ? buffers.timeOf(op) : 0;
    held.push_back({value, first, buffer.last, purposeOf(buffer, value)});
    // Who uses a state reads its name, and it holds nothing else.
    if (buffer.kind == BufferKind::State)
      break;
  }
  // Merging puts the values of one buffer behind those of the other.
  llvm::stable_sort(held, [](const HeldValue &a, const HeldValue &b) {
    return a.first < b.first;
  });
  // The first of its parts comes before a whole.
  if (!buffer.parts.empty() && !held.empty())
    held.front().first = std::min(held.front().first, buffer.first);
  for (size_t i = 1; i < held.size(); ++i)
    held[i - 1].last = held[i].first - 1;
  return held;
}

} // namespace weft
