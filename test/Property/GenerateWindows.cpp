//===- GenerateWindows.cpp - Ops on windows -------------------------------===//
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

/// Elements of `size` with `dilation - 1` others between neighbours.
static int64_t dilated(int64_t size, int64_t dilation) {
  return (size - 1) * dilation + 1;
}

Shape ProgramGenerator::imageShape() {
  Shape result = {random.between(1, 2)};
  for (int64_t rank = random.between(1, 2); rank > 0; --rank)
    result.push_back(random.oneIn(2) ? unit * random.between(1, 4)
                                     : random.between(unit, 4 * unit + 1));
  result.push_back(random.pick(std::vector<int64_t>{1, 2, 4}));
  return result;
}

void ProgramGenerator::addConvolution(int x) {
  if (!isFloat(value(x).element) || shape(x).size() < 3 ||
      program.arguments.size() > 5)
    return;
  const int64_t rank = static_cast<int64_t>(shape(x).size()) - 2;
  Value result = value(x);
  Shape kernel, strides, low, high, spread, dilations;
  int64_t terms = 1;
  for (int64_t i = 0; i < rank; ++i) {
    spread.push_back(random.oneIn(4) ? random.between(2, 3) : 1);
    dilations.push_back(random.oneIn(4) ? 2 : 1);
    strides.push_back(random.oneIn(3) ? random.between(2, 3) : 1);
    const int64_t room = dilated(shape(x)[i + 1], spread[i]);
    // As of a derivative by a kernel: nearly as large as the image.
    kernel.push_back(random.oneIn(4) ? std::max<int64_t>(room - 2, 1)
                                     : random.between(1, 4));
    const int64_t window = dilated(kernel[i], dilations[i]);
    low.push_back(random.oneIn(3) ? 0 : random.between(-1, window - 1));
    high.push_back(random.oneIn(3) ? 0 : random.between(-1, window - 1));
    const int64_t left = room + low[i] + high[i] - window;
    if (left < 0 || room + low[i] < 1 || room + high[i] < 1)
      return;
    result.shape[i + 1] = left / strides[i] + 1;
    terms *= kernel[i];
  }
  const int64_t features = shape(x).back();
  const int64_t groups = random.oneIn(3) ? random.pick(divisors(features)) : 1;
  Shape rhs = kernel;
  rhs.push_back(features / groups);
  rhs.push_back(groups * random.between(1, 2));
  result.shape.back() = rhs.back();
  terms *= features / groups;
  int w = -1;
  for (size_t i = 0; i < program.values.size(); ++i)
    if (value(i).shape == rhs && value(i).element == value(x).element)
      w = static_cast<int>(i);
  if (w < 0)
    w = newArgument(rhs, value(x).element);
  const Value &a = value(x), &b = value(w);
  const double length = static_cast<double>(terms);
  result.magnitude = length * a.magnitude * b.magnitude;
  const double roundings =
      isNarrow(result.element) ? 1 + std::min<double>(unit, length) : length;
  result.error = length * (a.magnitude * b.error + b.magnitude * a.error) +
                 roundings * rounding(result.element, result.magnitude);
  add({.op = "weft.convolution",
       .operands = {x, w},
       .attributes = "strides = " + list(strides) + " low = " + list(low) +
                     " high = " + list(high) + " lhs_dilation = " +
                     list(spread) + " rhs_dilation = " + list(dilations) +
                     " groups = " + std::to_string(groups),
       .style = TypeStyle::Functional},
      std::move(result));
}

void ProgramGenerator::addWindows(int x) {
  if (!isFloat(value(x).element) || shape(x).empty())
    return;
  const int64_t dim = random.below(shape(x).size());
  const int64_t size = random.between(1, 4), stride = random.between(1, 3),
                dilation = random.oneIn(4) ? 2 : 1;
  const int64_t span = dilated(size, dilation);
  // Each window has an element that is none of the padding.
  const int64_t most = dilation == 1 ? size : 1;
  const int64_t low = random.oneIn(2) ? 0 : random.below(most),
                high = random.oneIn(2) ? 0 : random.below(most);
  const int64_t left = shape(x)[dim] + low + high - span;
  if (left < 0)
    return;
  Value made = value(x);
  made.shape[dim] = left / stride + 1;
  std::string kind = random.pick(std::vector<std::string>{"sum", "max", "min"});
  const double length = static_cast<double>(size);
  if (kind == "sum") {
    made.magnitude *= length;
    made.error =
        length * made.error + length * rounding(made.element, made.magnitude);
  }
  std::string attributes = "dim = " + std::to_string(dim) +
                           " size = " + std::to_string(size) +
                           " stride = " + std::to_string(stride) +
                           " dilation = " + std::to_string(dilation);
  if (low != 0 || high != 0)
    attributes += " {low = " + std::to_string(low) +
                  " : i64, high = " + std::to_string(high) + " : i64}";
  const int r = add({.op = "weft.reduce_window " + kind,
                     .operands = {x},
                     .attributes = attributes,
                     .style = TypeStyle::OperandToResult},
                    made);
  // What is added up may be any value with an element for each window. Extrema
  // are compared, which only those that are exact can be.
  if (r < 0 || random.oneIn(2) || isNarrow(value(r).element))
    return;
  const int g = partner(r);
  Value spread = value(x);
  spread.magnitude = length * value(g).magnitude;
  spread.error = length * value(g).error +
                 length * rounding(spread.element, spread.magnitude);
  const bool hasExtrema = kind != "sum" && value(x).isExact();
  add({.op = "weft.spread_windows",
       .operands = hasExtrema ? std::vector<int>{g, x, r} : std::vector<int>{g},
       .attributes = attributes,
       .style = TypeStyle::Functional},
      std::move(spread));
}
