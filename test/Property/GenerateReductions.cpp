//===- GenerateReductions.cpp - Products, reductions and partial sums -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramGenerator.h"

#include <algorithm>

using namespace weft;
using namespace weft::sharding;
using namespace weft::test;

void ProgramGenerator::addReduce(int x) {
  if (shape(x).empty())
    return;
  Value result = value(x);
  result.shape.clear();
  Shape dims;
  int64_t length = 1;
  const int64_t chosen = random.below(shape(x).size());
  for (size_t i = 0; i < shape(x).size(); ++i) {
    if (static_cast<int64_t>(i) == chosen || random.oneIn(4)) {
      dims.push_back(static_cast<int64_t>(i));
      length *= shape(x)[i];
    } else {
      result.shape.push_back(shape(x)[i]);
    }
  }
  std::vector<std::string> kinds = {"max", "min"};
  if (value(x).element != Element::I1)
    kinds.insert(kinds.end(), {"sum", "sum"});
  const std::string kind = random.pick(kinds);
  if (kind == "sum" && isFloat(result.element)) {
    result.magnitude *= length;
    result.error = length * result.error +
                   length * rounding(result.element, result.magnitude);
  }
  add({.op = "weft.reduce " + kind,
       .operands = {x},
       .attributes = "dims = " + list(dims),
       .style = TypeStyle::OperandToResult},
      std::move(result));
}

int ProgramGenerator::addDot(int lhs, int rhs, llvm::ArrayRef<int64_t> lhsBatch,
                             llvm::ArrayRef<int64_t> rhsBatch, int64_t lhsSum,
                             int64_t rhsSum) {
  Value result = value(lhs);
  result.shape.clear();
  for (int64_t dim : lhsBatch)
    result.shape.push_back(shape(lhs)[dim]);
  const auto appendFree = [&](int operand, llvm::ArrayRef<int64_t> batch,
                              int64_t sum) {
    for (size_t i = 0; i < shape(operand).size(); ++i)
      if (static_cast<int64_t>(i) != sum &&
          !llvm::is_contained(batch, static_cast<int64_t>(i)))
        result.shape.push_back(shape(operand)[i]);
  };
  appendFree(lhs, lhsBatch, lhsSum);
  appendFree(rhs, rhsBatch, rhsSum);
  const Value &a = value(lhs), &b = value(rhs);
  const double length = static_cast<double>(shape(lhs)[lhsSum]);
  result.magnitude = length * a.magnitude * b.magnitude;
  // Sums of 16 bits are formed in f32; the terms of the ranks are rounded.
  const double roundings =
      isNarrow(result.element) ? 1 + std::min<double>(unit, length) : length;
  result.error = length * (a.magnitude * b.error + b.magnitude * a.error) +
                 roundings * rounding(result.element, result.magnitude);
  std::string attributes;
  if (!lhsBatch.empty())
    attributes = "batching = " + list(lhsBatch) + " x " + list(rhsBatch) + " ";
  return add({.op = "weft.dot_general",
              .operands = {lhs, rhs},
              .attributes = attributes + "contracting = " + list(lhsSum) +
                            " x " + list(rhsSum),
              .style = TypeStyle::Functional},
             std::move(result));
}

void ProgramGenerator::addDotGeneral(int lhs) {
  const Element element = value(lhs).element;
  if (shape(lhs).empty() || !isFloat(element))
    return;
  const int64_t lhsSum = random.below(shape(lhs).size());
  Shape lhsBatch, rhsBatch, rhsShape;
  if (shape(lhs).size() > 1 && random.oneIn(3)) {
    lhsBatch.push_back((lhsSum + 1) % shape(lhs).size());
    rhsShape.push_back(shape(lhs)[lhsBatch[0]]);
    rhsBatch.push_back(0);
  }
  rhsShape.push_back(shape(lhs)[lhsSum]);
  int64_t rhsSum = rhsShape.size() - 1;
  if (!random.oneIn(5))
    rhsShape.insert(rhsShape.begin() + random.between(rhsSum, rhsSum + 1),
                    unit * random.between(1, 2));
  if (rhsShape[rhsSum] != shape(lhs)[lhsSum])
    ++rhsSum;
  int rhs = -1;
  for (size_t i = 0; i < program.values.size(); ++i)
    if (value(i).shape == rhsShape && value(i).element == element)
      rhs = static_cast<int>(i);
  if (rhs < 0 && program.arguments.size() < 6)
    rhs = newArgument(rhsShape, element);
  if (rhs >= 0)
    addDot(lhs, rhs, lhsBatch, rhsBatch, lhsSum, rhsSum);
}

int ProgramGenerator::newSplitArgument(Element element, AxisRef axis) {
  Sharding split = Sharding::closed(2);
  split.dims[1].axes = {axis};
  const int64_t rows = unit * random.between(1, 2);
  const int x = newArgument({rows, axis.size * random.between(1, 3)}, element);
  return add({.op = "weft.constraint", .operands = {x}, .constraint = split},
             value(x));
}

void ProgramGenerator::addUnreduced() {
  const AxisRef axis = anyAxis();
  const Reduction kind = anyReduction();
  if (program.arguments.size() > 4)
    return;
  if (kind != Reduction::Sum)
    return addUnreducedExtremum(kind);
  const int x = newSplitArgument(Element::F32, axis);
  const int y = newArgument({shape(x)[1], unit}, Element::F32);
  program.arguments.back().sharding.reset();
  int sum = addDot(x, y, {}, {}, 1, 0);
  if (sum < 0)
    return;
  sum = addPartial(sum, axis, kind);
  if (sum >= 0 && random.oneIn(2))
    sum = addUnary("arith.negf", sum, value(sum));
  if (sum >= 0 && random.oneIn(2))
    addTranspose(sum);
  else if (sum >= 0 && random.oneIn(2))
    addBinary("arith.addf", sum, sum);
}

void ProgramGenerator::addUnreducedExtremum(Reduction kind) {
  static const std::vector<Element> elements = {
      Element::F32, Element::F64, Element::BF16, Element::F16,
      Element::I32, Element::I64, Element::I16,  Element::I8};
  const AxisRef axis = anyAxis();
  const int x = newSplitArgument(random.pick(elements), axis);
  Value result = value(x);
  result.shape.pop_back();
  const int terms =
      add({.op = kind == Reduction::Max ? "weft.reduce max" : "weft.reduce min",
           .operands = {x},
           .attributes = "dims = [1]",
           .style = TypeStyle::OperandToResult},
          std::move(result));
  const int kept = terms < 0 ? -1 : addPartial(terms, axis, kind);
  if (kept >= 0 && random.oneIn(2))
    addReshape(kept);
}

int ProgramGenerator::addPartial(int terms, AxisRef axis, Reduction kind) {
  Sharding sharding = randomSharding(random, program.mesh, shape(terms), axis);
  sharding.unreducedKind = kind;
  return add({.op = "weft.constraint",
              .operands = {terms},
              .constraint = std::move(sharding)},
             value(terms));
}
