//===- VjpBuilder.cpp - What a derivative is written with -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/VjpBuilder.h"

#include "weft/IR/WeftOps.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

bool weft::carriesCotangent(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

void VjpBuilder::addCotangent(unsigned operand, Value cotangent) {
  Value &sum = operands[operand];
  sum = sum ? add(sum, cotangent) : cotangent;
}

Value VjpBuilder::recomputeFrom(Value x) {
  auto given = llvm::filter_to_vector(
      results, [](Value cotangent) { return bool(cotangent); });
  return BarrierOp::create(*this, x, given);
}
