//===- GenerateDataMovement.cpp - Ops that move data ----------------------===//
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

void ProgramGenerator::addTranspose(int x) {
  Shape dims(shape(x).size());
  for (size_t i = 0; i < dims.size(); ++i)
    dims[i] = static_cast<int64_t>(i);
  random.shuffle(dims);
  Value result = value(x);
  for (size_t i = 0; i < dims.size(); ++i)
    result.shape[i] = shape(x)[dims[i]];
  add({.op = "weft.transpose",
       .operands = {x},
       .attributes = "dims = " + list(dims),
       .style = TypeStyle::OperandToResult},
      std::move(result));
}

void ProgramGenerator::addReshape(int x) {
  Value result = value(x);
  for (int64_t moves = random.between(1, 2); moves > 0; --moves) {
    const size_t at = random.below(result.shape.size() + 1);
    if (at + 1 < result.shape.size() && random.oneIn(2)) {
      result.shape[at] *= result.shape[at + 1];
      result.shape.erase(result.shape.begin() + at + 1);
    } else if (at < result.shape.size() && result.shape.size() < 4) {
      const int64_t size = result.shape[at];
      const int64_t part = random.pick(divisors(size));
      result.shape[at] = part;
      result.shape.insert(result.shape.begin() + at + 1, size / part);
    }
  }
  add({.op = "weft.reshape",
       .operands = {x},
       .style = TypeStyle::OperandToResult},
      std::move(result));
}

std::vector<int64_t> ProgramGenerator::divisors(int64_t size) {
  std::vector<int64_t> result;
  for (int64_t i = 1; i <= size; ++i)
    if (size % i == 0)
      result.push_back(i);
  return result;
}

void ProgramGenerator::addBroadcast(int x) {
  Value result = value(x);
  if (result.shape.size() >= 4)
    return;
  const size_t at = random.below(result.shape.size() + 1);
  result.shape.insert(result.shape.begin() + at,
                      random.oneIn(3) ? 2 : unit * random.between(1, 2));
  Shape dims;
  for (size_t i = 0; i < shape(x).size(); ++i) {
    dims.push_back(static_cast<int64_t>(i < at ? i : i + 1));
    if (shape(x)[i] == 1 && random.oneIn(2))
      result.shape[dims.back()] = unit;
  }
  add({.op = "weft.broadcast",
       .operands = {x},
       .attributes = "dims = " + list(dims),
       .style = TypeStyle::OperandToResult},
      std::move(result));
}

void ProgramGenerator::addSlice(int x) {
  Value result = value(x);
  Shape starts, limits, strides;
  for (int64_t &size : result.shape) {
    const bool whole = random.oneIn(2);
    starts.push_back(whole ? 0 : random.below(size));
    limits.push_back(whole ? size : random.between(starts.back() + 1, size));
    strides.push_back(whole || random.oneIn(2) ? 1 : 2);
    size =
        (limits.back() - starts.back() + strides.back() - 1) / strides.back();
  }
  add({.op = "weft.slice",
       .operands = {x},
       .attributes = "starts = " + list(starts) + " limits = " + list(limits) +
                     " strides = " + list(strides),
       .style = TypeStyle::OperandToResult},
      std::move(result));
}

void ProgramGenerator::addConcat(int x) {
  if (shape(x).empty())
    return;
  const int64_t dim = random.below(shape(x).size());
  std::vector<int> fitting;
  for (size_t i = 0; i < program.values.size(); ++i) {
    Shape other = value(i).shape;
    if (other.size() != shape(x).size() || value(i).element != value(x).element)
      continue;
    other[dim] = shape(x)[dim];
    if (llvm::ArrayRef<int64_t>(other) == shape(x))
      fitting.push_back(static_cast<int>(i));
  }
  std::vector<int> operands = {x};
  for (int64_t more = random.between(0, 2); more > 0; --more)
    operands.push_back(random.pick(fitting));
  Value result = value(x);
  result.shape[dim] = 0;
  for (int operand : operands) {
    result.shape[dim] += shape(operand)[dim];
    result.magnitude = std::max(result.magnitude, value(operand).magnitude);
    result.error = std::max(result.error, value(operand).error);
  }
  add({.op = "weft.concat",
       .operands = std::move(operands),
       .attributes = "dim = " + std::to_string(dim),
       .style = TypeStyle::Functional},
      std::move(result));
}

void ProgramGenerator::addIota() {
  const Shape shape = randomShape();
  add({.op = "weft.iota",
       .attributes = "dim = " + std::to_string(random.below(shape.size()))},
      {shape, Element::I32, 1, 0});
}

void ProgramGenerator::addConstraint(int x) {
  add({.op = "weft.constraint",
       .operands = {x},
       .constraint = shardingOf(value(x))},
      value(x));
}
