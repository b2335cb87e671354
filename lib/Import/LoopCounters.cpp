//===- LoopCounters.cpp - What the counters of a loop decide --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopCounters.h"
#include "Importer.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

static bool isSingle(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

LoopCounters::LoopCounters(Conversion &c, const Values &first,
                           const Values &second, const Values &third)
    : c(c), body(c.getSource()->getRegion(1).front()), terminator(&body.back()),
      carriedValues(first) {
  findCounters(first, second, third);
  // Others may be no constants any more, from the second iteration on.
  for (unsigned i = 0; i < carriedValues.size(); ++i)
    if (!counters.contains(i))
      carriedValues[i] = third[i];
}

bool LoopCounters::isConstant(Value source) const {
  return bool(getConstant(c.getImporter().valueOf(source)));
}

/// Those that stay constants, less those that depend on others than these.
void LoopCounters::findCounters(const Values &first, const Values &second,
                                const Values &third) {
  for (unsigned i = 0; i < first.size(); ++i)
    if (getConstant(first[i]) && getConstant(second[i]) &&
        getConstant(third[i]) && isSingle(body.getArgument(i)))
      counters.insert(i);
  for (size_t before = counters.size() + 1; counters.size() != before;) {
    before = counters.size();
    findDerived();
    counters.remove_if([&](unsigned i) {
      Value next = terminator->getOperand(i);
      return !derived.contains(next) && !isConstant(next);
    });
  }
}

void LoopCounters::findDerived() {
  derived.clear();
  ops.clear();
  for (unsigned i : counters)
    derived.insert(body.getArgument(i));
  for (Operation &op : body.without_terminator()) {
    auto isDerived = [&](Value operand) { return derived.contains(operand); };
    if (op.getNumRegions() != 0 || !llvm::any_of(op.getOperands(), isDerived) ||
        !llvm::all_of(op.getResults(), isSingle) ||
        !llvm::all_of(op.getOperands(), [&](Value operand) {
          return isDerived(operand) || isConstant(operand);
        }))
      continue;
    ops.insert(&op);
    derived.insert(op.result_begin(), op.result_end());
  }
}

/// Whether a use is where a slice or an update begins, of something that is no
/// constant: slices of constants are folded.
static bool beginsThere(OpOperand &use, Importer &importer) {
  Operation *op = use.getOwner();
  StringRef name = op->getName().getStringRef();
  unsigned number = use.getOperandNumber();
  return ((name == "stablehlo.dynamic_slice" && number >= 1) ||
          (name == "stablehlo.dynamic_update_slice" && number >= 2)) &&
         !getConstant(importer.valueOf(op->getOperand(0)));
}

bool LoopCounters::checkUse(OpOperand &use, int64_t iteration) {
  Operation *user = use.getOwner();
  if (ops.contains(user) ||
      (user == terminator && counters.contains(use.getOperandNumber())))
    return true;
  Value value = c.getImporter().valueOf(use.get());
  Attribute constant = getConstant(value);
  if (!constant)
    return false;
  Attribute &before = found.try_emplace(&use, constant).first->second;
  if (before == constant)
    return true;
  indexed.insert(user);
  return user->getBlock() == &body && beginsThere(use, c.getImporter()) &&
         getSplatInteger(value) == iteration;
}

bool LoopCounters::checkUses(int64_t iteration) {
  return llvm::all_of(derived, [&](Value value) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      return checkUse(use, iteration);
    });
  });
}

bool LoopCounters::run() {
  constexpr int64_t most = 1 << 16;
  Importer &importer = c.getImporter();
  for (iterations = 0; iterations < most; ++iterations) {
    auto condition = importer.importRegion(c, 0, carriedValues);
    auto goesOn = condition && condition->size() == 1 && condition->front()
                      ? getSplatInteger(condition->front())
                      : std::nullopt;
    if (!goesOn || !*goesOn)
      return goesOn.has_value();
    for (unsigned i : counters)
      importer.setValue(body.getArgument(i), carriedValues[i]);
    importer.importAgain(ops.getArrayRef());
    if (!checkUses(iterations))
      return false;
    for (unsigned i : counters)
      carriedValues[i] = importer.valueOf(terminator->getOperand(i));
  }
  return false;
}
