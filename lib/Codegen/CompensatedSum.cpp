//===- CompensatedSum.cpp - Sums of f64 without their rounding ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompensatedSum.h"
#include "KernelPlan.h"
#include "MathLanes.h"

using namespace mlir;
using namespace weft;

bool weft::isCompensated(linalg::GenericOp reduction) {
  auto add = dyn_cast_or_null<arith::AddFOp>(getCombiner(reduction));
  if (!add || !add.getType().isF64())
    return false;
  return llvm::none_of(add->getOperands(), [](Value term) {
    return isa_and_present<arith::ExtFOp>(term.getDefiningOp());
  });
}

static Lanes lanesOf(OpBuilder &b, Value x) {
  return Lanes(b, x.getLoc(), x.getType());
}

CompensatedSum weft::addTerm(OpBuilder &b, CompensatedSum before, Value next) {
  auto add = next.getDefiningOp<arith::AddFOp>();
  assert(add && "the combiner of a sum");
  Lanes l = lanesOf(b, next);
  Value term = add.getLhs() == before.sum ? add.getRhs() : add.getLhs();
  Value taken = l.sub(next, before.sum);
  Value lost = l.add(l.sub(before.sum, l.sub(next, taken)), l.sub(term, taken));
  return {next, l.add(before.error, lost)};
}

CompensatedSum weft::addLanes(OpBuilder &b, CompensatedSum lanes) {
  auto type = cast<VectorType>(lanes.sum.getType());
  Location loc = lanes.sum.getLoc();
  for (int64_t half = type.getNumElements() / 2; half >= 1; half /= 2) {
    auto part = [&](Value x, int64_t first) -> Value {
      auto order = llvm::to_vector(llvm::seq<int64_t>(first, first + half));
      return vector::ShuffleOp::create(b, loc, x, x, order);
    };
    Value x = part(lanes.sum, 0), y = part(lanes.sum, half);
    Lanes l = lanesOf(b, x);
    Value error = l.add(part(lanes.error, 0), part(lanes.error, half));
    lanes = addTerm(b, {x, error}, l.add(x, y));
  }
  auto single = [&](Value x) -> Value {
    return vector::ExtractOp::create(b, loc, x, 0);
  };
  return {single(lanes.sum), single(lanes.error)};
}

/// Of an infinite sum or of one with a NaN the error is a NaN.
Value weft::totalOf(OpBuilder &b, CompensatedSum sum) {
  Lanes l = lanesOf(b, sum.sum);
  Value total = l.add(sum.sum, sum.error);
  return l.select(l.isFinite(sum.error), total, sum.sum);
}
