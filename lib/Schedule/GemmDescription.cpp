//===- GemmDescription.cpp - A GEMM to be made again ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmDescription.h"

using namespace mlir;

namespace weft {

GemmDescription::GemmDescription(GemmOp gemm)
    : lhs(gemm.getLhs()), rhs(gemm.getRhs()), batch(gemm.getBatch()),
      m(gemm.getM()), n(gemm.getN()), k(gemm.getK()),
      lhsStrides(gemm.getLhsStrides()), rhsStrides(gemm.getRhsStrides()),
      outStrides(gemm.getOutStrides()), type(gemm.getResult().getType()),
      precision(gemm.getPrecision()) {}

GemmDescription GemmDescription::transposed() const {
  GemmDescription result = *this;
  std::swap(result.lhs, result.rhs);
  std::swap(result.lhsStrides, result.rhsStrides);
  std::swap(result.m, result.n);
  for (auto *strides :
       {&result.lhsStrides, &result.rhsStrides, &result.outStrides})
    std::swap((*strides)[1], (*strides)[2]);
  return result;
}

GemmOp GemmDescription::create(OpBuilder &builder, Location loc,
                               GemmEpilogue epilogue, Value operand,
                               Type beside) const {
  return GemmOp::create(builder, loc, type, beside, lhs, rhs, batch, m, n, k,
                        lhsStrides, rhsStrides, outStrides, operand, epilogue,
                        precision);
}

} // namespace weft
