//===- ComplexNumbers.cpp - Complex numbers as two real ones --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComplexNumbers.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// Ops that do the same to real and imaginary parts: sums, and what moves or
/// chooses elements.
static bool isLinear(Operation &op) {
  static const llvm::StringSet<> names = {
      "stablehlo.add",           "stablehlo.subtract",
      "stablehlo.negate",        "stablehlo.broadcast_in_dim",
      "stablehlo.reshape",       "stablehlo.transpose",
      "stablehlo.slice",         "stablehlo.dynamic_slice",
      "stablehlo.concatenate",   "stablehlo.dynamic_update_slice",
      "stablehlo.pad",           "stablehlo.reverse",
      "stablehlo.gather",        "stablehlo.scatter",
      "stablehlo.select",        "stablehlo.reduce",
      "stablehlo.reduce_window", "sdy.sharding_constraint"};
  return op.getNumResults() == 1 && isComplex(op.getResult(0)) &&
         names.contains(op.getName().getStringRef());
}

/// Ops that pass on what they are given.
static bool passesOn(StringRef op) {
  static const llvm::StringSet<> names = {
      "func.call",       "func.return",
      "stablehlo.while", "stablehlo.case",
      "stablehlo.if",    "stablehlo.return",
      "sdy.return",      "stablehlo.optimization_barrier"};
  return names.contains(op);
}

//===----------------------------------------------------------------------===//
// The walk over a function
//===----------------------------------------------------------------------===//

namespace {
class Splitter {
public:
  explicit Splitter(func::FuncOp function)
      : function(function), builder(function.getContext()) {}
  void run();

private:
  void splitSignature();
  void splitBlocks(Region &region);
  void splitOp(Operation &op);
  std::optional<Complex> splitLinear(Operation &op);
  void passOn(Operation &op);
  void reject(Operation &op);
  Complex partsOf(Value value);
  SmallVector<Value> flatten(ValueRange values);

  func::FuncOp function;
  OpBuilder builder;
  DenseMap<Value, Complex> parts;
  SmallVector<Operation *> replaced;
  SmallVector<BlockArgument> splitArguments;
};
} // namespace

/// Those of a value that is not known are not known either.
Complex Splitter::partsOf(Value value) {
  RankedTensorType type = partType(value.getType());
  if (!type)
    return {value, Value()};
  auto known = parts.find(value);
  if (known != parts.end())
    return known->second;
  RealOps ops(builder, value.getLoc());
  return {ops.make("stablehlo.real", value, type),
          ops.make("stablehlo.imag", value, type)};
}

SmallVector<Value> Splitter::flatten(ValueRange values) {
  SmallVector<Value> flat;
  for (Value value : values) {
    auto [real, imag] = partsOf(value);
    flat.push_back(real);
    if (imag)
      flat.push_back(imag);
  }
  return flat;
}

static SmallVector<Type> flatten(TypeRange types) {
  SmallVector<Type> flat;
  for (Type type : types) {
    RankedTensorType part = partType(type);
    flat.append(part ? 2 : 1, part ? part : type);
  }
  return flat;
}

/// Makes the complex values of a region those of one part. None if it does
/// anything but add and choose.
static bool takePart(Region &region) {
  for (Block &block : region) {
    for (BlockArgument argument : block.getArguments())
      if (RankedTensorType type = partType(argument.getType()))
        argument.setType(type);
    for (Operation &op : block) {
      StringRef name = op.getName().getStringRef();
      if (name != "stablehlo.add" && name != "stablehlo.return")
        return false;
      for (Value result : op.getResults())
        if (RankedTensorType type = partType(result.getType()))
          result.setType(type);
    }
  }
  return true;
}

std::optional<Complex> Splitter::splitLinear(Operation &op) {
  auto takeParts = [&](Value Complex::*part) -> Value {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(isComplex(operand) ? partsOf(operand).*part : operand);
    IRMapping mapping;
    Operation *copy = builder.clone(op, mapping);
    copy->setOperands(operands);
    copy->getResult(0).setType(partType(op.getResult(0).getType()));
    if (llvm::all_of(copy->getRegions(), takePart))
      return copy->getResult(0);
    copy->erase();
    return {};
  };
  Value real = takeParts(&Complex::real);
  if (!real)
    return std::nullopt;
  return Complex{real, takeParts(&Complex::imag)};
}

/// The op with two operands, results and arguments of its regions for each
/// complex one.
void Splitter::passOn(Operation &op) {
  OperationState state(op.getLoc(), op.getName());
  state.addOperands(flatten(op.getOperands()));
  state.addTypes(::flatten(op.getResultTypes()));
  state.addAttributes(attributesOf(&op).getAttrs());
  for (Region &region : op.getRegions())
    state.addRegion()->takeBody(region);
  Operation *flat = builder.create(state);
  unsigned next = 0;
  for (Value result : op.getResults()) {
    if (isComplex(result)) {
      parts[result] = {flat->getResult(next), flat->getResult(next + 1)};
      next += 2;
    } else {
      result.replaceAllUsesWith(flat->getResult(next++));
    }
  }
  replaced.push_back(&op);
  for (Region &region : flat->getRegions())
    splitBlocks(region);
}

void Splitter::reject(Operation &op) {
  StringRef name = op.getName().getStringRef();
  std::string why = name == "stablehlo.fft"
                        ? "of a length with a prime factor above " +
                              std::to_string(kMaxFourierFactor)
                        : "not of complex numbers, which have sums, products, "
                          "quotients, exp, "
                          "log, abs, FFTs and moves of elements";
  OperationState state(op.getLoc(), kUnreadable, ValueRange(),
                       op.getResultTypes());
  state.addAttribute("op", builder.getStringAttr(name));
  state.addAttribute("why", builder.getStringAttr(why));
  op.replaceAllUsesWith(builder.create(state));
  replaced.push_back(&op);
}

void Splitter::splitOp(Operation &op) {
  builder.setInsertionPoint(&op);
  StringRef name = op.getName().getStringRef();
  auto isSplit = [](Value value) { return isComplex(value); };
  bool touches = llvm::any_of(op.getOperands(), isSplit) ||
                 llvm::any_of(op.getResults(), isSplit);
  if (touches && passesOn(name))
    return passOn(op);
  if (!touches) {
    for (Region &region : op.getRegions())
      splitBlocks(region);
    return;
  }
  std::optional<Complex> result =
      isLinear(op) ? splitLinear(op)
                   : splitByRule(op,
                                 llvm::map_to_vector(op.getOperands(),
                                                     [&](Value operand) {
                                                       return partsOf(operand);
                                                     }),
                                 builder);
  if (!result)
    return reject(op);
  if (result->imag)
    parts[op.getResult(0)] = *result;
  else
    op.getResult(0).replaceAllUsesWith(result->real);
  replaced.push_back(&op);
}

void Splitter::splitBlocks(Region &region) {
  for (Block &block : region) {
    // Those of the function are split with its signature.
    if (region.getParentOp() != function)
      for (unsigned i = block.getNumArguments(); i-- > 0;) {
        BlockArgument argument = block.getArgument(i);
        if (RankedTensorType type = partType(argument.getType())) {
          parts[argument] = {
              block.insertArgument(i + 1, type, argument.getLoc()),
              block.insertArgument(i + 2, type, argument.getLoc())};
          splitArguments.push_back(argument);
        }
      }
    for (Operation &op : llvm::make_early_inc_range(block))
      splitOp(op);
  }
}

void Splitter::splitSignature() {
  Block &entry = function.front();
  for (unsigned i = entry.getNumArguments(); i-- > 0;) {
    BlockArgument argument = entry.getArgument(i);
    RankedTensorType type = partType(argument.getType());
    if (!type)
      continue;
    for (unsigned part : {1, 2})
      if (failed(
              function.insertArgument(i + part, type, {}, argument.getLoc())))
        return;
    parts[argument] = {entry.getArgument(i + 1), entry.getArgument(i + 2)};
    splitArguments.push_back(argument);
  }
  for (unsigned i = function.getNumResults(); i-- > 0;)
    if (RankedTensorType type = partType(function.getResultTypes()[i])) {
      (void)function.insertResult(i + 1, type, {});
      (void)function.insertResult(i + 2, type, {});
      (void)function.eraseResult(i);
    }
}

void Splitter::run() {
  if (function.isExternal())
    return;
  if (!function.isPublic())
    splitSignature();
  splitBlocks(function.getBody());
  // What is still used is so by what could not be split, or before it is
  // defined.
  for (Operation *op : llvm::reverse(replaced))
    if (op->use_empty())
      op->erase();
  for (BlockArgument argument : splitArguments) {
    if (!argument.use_empty())
      continue;
    if (argument.getOwner()->getParentOp() == function)
      (void)function.eraseArgument(argument.getArgNumber());
    else
      argument.getOwner()->eraseArgument(argument.getArgNumber());
  }
}

void weft::stablehlo::splitComplexNumbers(func::FuncOp function) {
  Splitter(function).run();
}
