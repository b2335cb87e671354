//===- GenerateIndexing.cpp - Ops that move data to an index --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pad, gather and scatter_add. Indices are small integers, some of them out of
// range.
//
//===----------------------------------------------------------------------===//

#include "ProgramGenerator.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace weft;
using namespace weft::sharding;
using namespace weft::test;

void ProgramGenerator::addPad(int x) {
  Value result = value(x);
  Shape low, high, interior;
  for (int64_t &size : result.shape) {
    const bool whole = random.oneIn(2);
    low.push_back(whole ? 0 : random.below(3));
    high.push_back(whole ? 0 : random.oneIn(2) ? size : random.below(3));
    interior.push_back(whole || !random.oneIn(4) ? 0 : 1);
    size += low.back() + high.back() + (size - 1) * interior.back();
  }
  const bool zero = random.oneIn(2);
  std::string padding = isFloat(result.element) ? zero ? "0.0" : "0.5"
                        : zero                  ? "0"
                                                : "3";
  if (result.element == Element::I1)
    padding = zero ? "false" : "true";
  else
    padding += std::string(" : ") + name(result.element);
  result.magnitude = std::max(result.magnitude, 3.0);
  add({.op = "weft.pad",
       .operands = {x},
       .attributes = "low = " + list(low) + " high = " + list(high) +
                     " interior = " + list(interior) + " value = " + padding,
       .style = TypeStyle::OperandToResult},
      std::move(result));
}

/// Integers from -1 to a little more than `size`, or -1 if there is no room for
/// another argument.
int ProgramGenerator::addIndices(Shape indexShape, int64_t size) {
  if (program.arguments.size() >= 6)
    return -1;
  const int bits = newArgument(indexShape, Element::I32);
  int64_t mask = 1;
  while (mask <= size)
    mask *= 2;
  const int masks = constant(Element::I32, std::to_string(mask - 1), 1);
  const int ones = constant(Element::I32, "1", 1);
  if (masks < 0 || ones < 0)
    return -1;
  const int low = addBinary("arith.andi", bits, broadcastTo(masks, indexShape));
  const int indices =
      low < 0 ? -1
              : addBinary("arith.subi", low, broadcastTo(ones, indexShape));
  if (indices < 0 || !random.oneIn(4))
    return indices;
  Value wide = value(indices);
  wide.element = Element::I64;
  return add(
      {.op = "arith.extsi", .operands = {indices}, .style = TypeStyle::Cast},
      std::move(wide));
}

/// `dim = 1 batching = [0] x [0]`.
static std::string dimsText(int64_t dim, llvm::ArrayRef<int64_t> table,
                            llvm::ArrayRef<int64_t> indices) {
  std::string text = "dim = " + std::to_string(dim);
  if (!table.empty())
    text += " batching = " + list(table) + " x " + list(indices);
  return text;
}

void ProgramGenerator::addGather(int x) {
  if (shape(x).empty())
    return;
  const int64_t dim = random.below(shape(x).size());
  Value result = value(x);
  Shape tableBatching, indicesBatching, indexShape, taken;
  for (size_t i = 0; i < shape(x).size(); ++i)
    if (static_cast<int64_t>(i) != dim && random.oneIn(4)) {
      tableBatching.push_back(static_cast<int64_t>(i));
      indicesBatching.push_back(static_cast<int64_t>(indexShape.size()));
      indexShape.push_back(shape(x)[i]);
    }
  // The other index dimensions come after, or before, those paired.
  for (int64_t more = random.below(3); more > 0; --more)
    taken.push_back(random.oneIn(3) ? random.between(1, 3) : unit);
  if (random.oneIn(2)) {
    indexShape.insert(indexShape.end(), taken.begin(), taken.end());
  } else {
    indexShape.insert(indexShape.begin(), taken.begin(), taken.end());
    for (int64_t &paired : indicesBatching)
      paired += static_cast<int64_t>(taken.size());
  }
  const int64_t size = shape(x)[dim];
  result.shape.erase(result.shape.begin() + dim);
  result.shape.insert(result.shape.begin() + dim, taken.begin(), taken.end());
  if (result.shape.size() > 4)
    return;
  const int indices = addIndices(indexShape, size);
  if (indices >= 0)
    add({.op = "weft.gather",
         .operands = {x, indices},
         .attributes = dimsText(dim, tableBatching, indicesBatching),
         .style = TypeStyle::Functional},
        std::move(result));
}

void ProgramGenerator::addScatterAdd(int x) {
  if (shape(x).size() > 3 || value(x).element == Element::I1)
    return;
  const int64_t rank = static_cast<int64_t>(shape(x).size());
  const int64_t dim = random.between(0, rank);
  const int64_t count = random.between(0, std::min<int64_t>(2, rank - dim));
  Value result = value(x);
  result.shape.erase(result.shape.begin() + dim,
                     result.shape.begin() + dim + count);
  const int64_t size = random.oneIn(3) ? 3 : unit * random.between(1, 2);
  result.shape.insert(result.shape.begin() + dim, size);
  Shape indexShape(shape(x).begin() + dim, shape(x).begin() + dim + count);
  Shape tableBatching, indicesBatching;
  int64_t length = 1;
  for (int64_t taken : indexShape)
    length *= taken;
  for (int64_t i = 0; i < static_cast<int64_t>(result.shape.size()); ++i)
    if (i != dim && random.oneIn(4)) {
      tableBatching.push_back(i);
      indicesBatching.push_back(static_cast<int64_t>(indexShape.size()));
      indexShape.push_back(result.shape[i]);
    }
  if (isFloat(result.element)) {
    result.magnitude *= length;
    result.error = length * result.error +
                   length * rounding(result.element, result.magnitude);
  }
  const int indices = addIndices(indexShape, size);
  if (indices >= 0)
    add({.op = "weft.scatter_add",
         .operands = {x, indices},
         .attributes = dimsText(dim, tableBatching, indicesBatching),
         .style = TypeStyle::Functional},
        std::move(result));
}
