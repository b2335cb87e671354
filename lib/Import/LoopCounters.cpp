//===- LoopCounters.cpp - What the counters of a loop decide --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopCounters.h"
#include "Importer.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

static bool isSingle(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

//===----------------------------------------------------------------------===//
// The body, and functions that it calls
//===----------------------------------------------------------------------===//

/// What depends on counters in a block: that of the body of the loop, or of a
/// function that is called with them, of which there is one for each call.
class LoopCounters::Body {
public:
  /// `given` are the arguments that counters decide. Values of the body itself
  /// are as they were read last; those of a function may be of another call.
  Body(Importer &importer, Block &block, const llvm::SetVector<Value> &given,
       bool isCalled);

  bool isDerived(Value value) const { return derived.contains(value); }
  bool isConstant(Value value) const;

  /// Computes what depends on counters, of which the arguments are set. Whether
  /// what uses it finds what iterations that are alike do.
  bool evaluate(int64_t iteration, llvm::function_ref<bool(OpOperand &)> isOwn);

  unsigned numIndexed() const;
  Operation *getTerminator() const { return terminator; }

private:
  /// An op that is computed, or a call that is looked into.
  struct Step {
    Operation *op;
    std::unique_ptr<Body> callee;
  };
  /// What a use has found.
  struct Found {
    Attribute first;
    bool isIndex = false;
  };

  bool isComputed(Operation &op) const;
  std::unique_ptr<Body> lookInto(Operation &call) const;
  bool isStart(OpOperand &use) const;
  bool checkUse(OpOperand &use, int64_t iteration);

  Importer &importer;
  Block &block;
  Operation *terminator;
  const bool isCalled;
  llvm::SetVector<Value> derived;
  std::vector<Step> steps;
  llvm::SmallPtrSet<Operation *, 8> known;
  llvm::DenseMap<OpOperand *, Found> found;
  llvm::SmallPtrSet<Operation *, 4> indexed;
};

LoopCounters::Body::Body(Importer &importer, Block &block,
                         const llvm::SetVector<Value> &given, bool isCalled)
    : importer(importer), block(block), terminator(&block.back()),
      isCalled(isCalled), derived(given) {
  for (Operation &op : block.without_terminator()) {
    if (!llvm::any_of(op.getOperands(),
                      [&](Value operand) { return isDerived(operand); }))
      continue;
    std::unique_ptr<Body> callee;
    if (isComputed(op))
      derived.insert(op.result_begin(), op.result_end());
    else if (!(callee = lookInto(op)))
      continue;
    for (unsigned i = 0; callee && i < op.getNumResults(); ++i)
      if (callee->isDerived(callee->getTerminator()->getOperand(i)))
        derived.insert(op.getResult(i));
    known.insert(&op);
    steps.push_back({&op, std::move(callee)});
  }
}

bool LoopCounters::Body::isConstant(Value value) const {
  Operation *op = value.getDefiningOp();
  bool isCertain = !isCalled || (op && op->getNumOperands() == 0);
  return isCertain && getConstant(importer.valueOf(value));
}

bool LoopCounters::Body::isComputed(Operation &op) const {
  return op.getNumRegions() == 0 && llvm::all_of(op.getResults(), isSingle) &&
         llvm::all_of(op.getOperands(), [&](Value operand) {
           return isDerived(operand) || isConstant(operand);
         });
}

/// The function that an op calls with counters among others; null if it calls
/// none.
std::unique_ptr<LoopCounters::Body>
LoopCounters::Body::lookInto(Operation &call) const {
  func::FuncOp callee = importer.calleeOf(&call);
  if (!callee)
    return nullptr;
  Block &front = callee.front();
  llvm::SetVector<Value> given;
  for (OpOperand &operand : call.getOpOperands())
    if (isDerived(operand.get()))
      given.insert(front.getArgument(operand.getOperandNumber()));
  return std::make_unique<Body>(importer, front, given, /*isCalled=*/true);
}

/// Whether a use is where a slice or an update begins, of something that is no
/// constant: slices of constants are folded.
bool LoopCounters::Body::isStart(OpOperand &use) const {
  Operation *op = use.getOwner();
  StringRef name = op->getName().getStringRef();
  unsigned number = use.getOperandNumber();
  Value base = op->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(base);
  bool isCertain = !isCalled || (argument && argument.getOwner() == &block);
  return isCertain &&
         ((name == "stablehlo.dynamic_slice" && number >= 1) ||
          (name == "stablehlo.dynamic_update_slice" && number >= 2)) &&
         !getConstant(importer.valueOf(base));
}

bool LoopCounters::Body::checkUse(OpOperand &use, int64_t iteration) {
  Value value = importer.valueOf(use.get());
  Attribute constant = getConstant(value);
  if (!constant)
    return false;
  Found &before = found.try_emplace(&use, Found{constant}).first->second;
  if (iteration == 1 && before.first != constant) {
    before.isIndex = isStart(use);
    indexed.insert(use.getOwner());
  }
  return before.isIndex ? getSplatInteger(value) == iteration
                        : before.first == constant;
}

bool LoopCounters::Body::evaluate(int64_t iteration,
                                  llvm::function_ref<bool(OpOperand &)> isOwn) {
  for (Step &step : steps) {
    if (!step.callee) {
      importer.importAgain(step.op);
      continue;
    }
    Block &callee = step.callee->block;
    for (auto [argument, operand] :
         llvm::zip_equal(callee.getArguments(), step.op->getOperands()))
      importer.setValue(argument, importer.valueOf(operand));
    Operation *end = step.callee->terminator;
    auto isReturned = [&](OpOperand &use) { return use.getOwner() == end; };
    if (!step.callee->evaluate(iteration, isReturned))
      return false;
    for (auto [result, value] :
         llvm::zip_equal(step.op->getResults(), end->getOperands()))
      if (isDerived(result))
        importer.setValue(result, importer.valueOf(value));
  }
  return llvm::all_of(derived, [&](Value value) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      return known.contains(use.getOwner()) || isOwn(use) ||
             checkUse(use, iteration);
    });
  });
}

unsigned LoopCounters::Body::numIndexed() const {
  unsigned count = indexed.size();
  for (const Step &step : steps)
    if (step.callee)
      count += step.callee->numIndexed();
  return count;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

LoopCounters::LoopCounters(Conversion &c, const Values &first,
                           const Values &second, const Values &third)
    : c(c), block(c.getSource()->getRegion(1).front()), carriedValues(first) {
  findCounters(first, second, third);
  // Others may be no constants any more, from the second iteration on.
  for (unsigned i = 0; i < carriedValues.size(); ++i)
    if (!counters.contains(i))
      carriedValues[i] = third[i];
}

LoopCounters::~LoopCounters() = default;

/// Those that stay constants, less those that depend on others than these.
void LoopCounters::findCounters(const Values &first, const Values &second,
                                const Values &third) {
  for (unsigned i = 0; i < first.size(); ++i)
    if (getConstant(first[i]) && getConstant(second[i]) &&
        getConstant(third[i]) && isSingle(block.getArgument(i)))
      counters.insert(i);
  for (size_t before = counters.size() + 1; counters.size() != before;) {
    before = counters.size();
    llvm::SetVector<Value> given;
    for (unsigned i : counters)
      given.insert(block.getArgument(i));
    body = std::make_unique<Body>(c.getImporter(), block, given,
                                  /*isCalled=*/false);
    counters.remove_if([&](unsigned i) {
      Value next = block.back().getOperand(i);
      return !body->isDerived(next) && !body->isConstant(next);
    });
  }
}

/// Calls that a value is passed on to do not count, but what they do with it.
static bool isUsedOnce(Value value, Importer &importer) {
  if (!value.hasOneUse())
    return false;
  OpOperand &use = *value.use_begin();
  func::FuncOp callee = importer.calleeOf(use.getOwner());
  return !callee ||
         isUsedOnce(callee.getArgument(use.getOperandNumber()), importer);
}

bool LoopCounters::hasOneUse(unsigned carried) const {
  return isUsedOnce(block.getArgument(carried), c.getImporter());
}

unsigned LoopCounters::numIndexed() const { return body->numIndexed(); }

bool LoopCounters::run() {
  constexpr int64_t most = 1 << 16;
  Importer &importer = c.getImporter();
  auto isNext = [&](OpOperand &use) {
    return use.getOwner() == &block.back() &&
           counters.contains(use.getOperandNumber());
  };
  for (iterations = 0; iterations < most; ++iterations) {
    auto condition = importer.importRegion(c, 0, carriedValues);
    auto goesOn = condition && condition->size() == 1 && condition->front()
                      ? getSplatInteger(condition->front())
                      : std::nullopt;
    if (!goesOn || !*goesOn)
      return goesOn.has_value();
    for (unsigned i : counters)
      importer.setValue(block.getArgument(i), carriedValues[i]);
    if (!body->evaluate(iterations, isNext))
      return false;
    for (unsigned i : counters)
      carriedValues[i] = importer.valueOf(block.back().getOperand(i));
  }
  return false;
}
