//===- EmptyTensors.cpp - Tensors without elements ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmptyTensors.h"
#include "Reducer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

bool weft::stablehlo::isEmpty(RankedTensorType type) {
  return llvm::is_contained(type.getShape(), 0);
}

static bool isEmpty(Value value) { return isEmpty(typeOf(value)); }

/// A scalar operand in every element of the result.
static Value everywhere(Conversion &c, unsigned scalar) {
  Value value = c.operand(scalar);
  if (value && typeOf(value).getRank() != 0)
    return c.malformed("what it pads with or begins with must be a scalar");
  return c.broadcastScalar(value, c.shape());
}

static Values concatenate(Conversion &c) {
  Values parts = llvm::filter_to_vector<1>(
      c.getOperands(), [](Value part) { return !isEmpty(part); });
  std::optional<int64_t> dim = c.integer("dimension");
  if (!dim)
    return {nullptr};
  return {parts.size() == 1 ? parts.front() : c.concat(parts, *dim)};
}

/// What the reduction begins with, also of windows.
static Values reduceNothing(Conversion &c) {
  Values results;
  size_t count = c.getSource()->getNumResults();
  if (!c.hasOperands(2 * count))
    return results;
  for (size_t i = 0; i < count; ++i)
    results.push_back(everywhere(c, count + i));
  return results;
}

/// No element is added, or replaced.
static Values keepUpdated(Conversion &c) {
  return Values(c.getOperands().take_front(c.getSource()->getNumResults()));
}

/// Without updates nothing changes. An index vector without numbers is the
/// place of a window as large as the tensor.
static Value scatter(Conversion &c) {
  if (c.numOperands() != 3 || isEmpty(c.operand(2)))
    return c.operand(0);
  Value table = c.operand(0), updates = c.operand(2);
  std::optional<Reducer> reducer = matchReducer(c.getSource());
  if (typeOf(c.operand(1)).getRank() != 1 || typeOf(updates) != typeOf(table) ||
      (!reducer && !replaces(c.getSource())))
    return c.unsupported("at indices without numbers");
  return reducer ? combine(c, *reducer, table, updates) : updates;
}

Values weft::stablehlo::convertWithoutElements(Conversion &c) {
  using Convert = Values (*)(Conversion &);
  auto convert =
      llvm::StringSwitch<Convert>(c.name())
          .Case("stablehlo.concatenate", concatenate)
          .Case("stablehlo.pad",
                [](Conversion &c) -> Values {
                  return {c.hasOperands(2) ? everywhere(c, 1) : Value()};
                })
          .Cases({"stablehlo.reduce", "stablehlo.reduce_window"}, reduceNothing)
          .Case("stablehlo.select_and_scatter",
                [](Conversion &c) -> Values {
                  return {c.hasOperands(3) ? everywhere(c, 2) : Value()};
                })
          .Cases(
              {"stablehlo.dot_general", "stablehlo.convolution"},
              [](Conversion &c) -> Values { return {c.splat(c.type(), 0.0)}; })
          .Case("stablehlo.scatter",
                [](Conversion &c) -> Values { return {scatter(c)}; })
          .Case("stablehlo.dynamic_update_slice", keepUpdated)
          .Default(nullptr);
  if (convert)
    return convert(c);
  c.unsupported("of a tensor without elements");
  return {};
}

Value EmptyTensors::get(RankedTensorType type, OpBuilder &builder) {
  Value &value = constants[type];
  if (!value)
    value =
        arith::ConstantOp::create(builder, builder.getUnknownLoc(),
                                  cast<TypedAttr>(builder.getZeroAttr(type)));
  return value;
}

void EmptyTensors::clear() {
  for (auto &[type, value] : constants)
    if (value.use_empty())
      value.getDefiningOp()->erase();
  constants.clear();
}
