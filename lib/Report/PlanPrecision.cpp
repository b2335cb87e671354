//===- PlanPrecision.cpp - Number formats of instructions -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Report/PlanPrecision.h"

using namespace weft;

cost::Precision weft::precisionOf(const plan::Entry &entry, uint32_t buffer) {
  switch (entry.buffers()->Get(buffer)->dtype()) {
  case plan::DType::BF16:
    return cost::Precision::BF16;
  case plan::DType::F16:
    return cost::Precision::F16;
  case plan::DType::F64:
    return cost::Precision::F64;
  case plan::DType::I8:
    return cost::Precision::I8;
  default:
    return cost::Precision::F32;
  }
}

cost::Precision weft::precisionOf(const plan::Entry &entry,
                                  const plan::Gemm &gemm) {
  return gemm.precision() == plan::GemmPrecision::TF32
             ? cost::Precision::TF32
             : precisionOf(entry, gemm.lhs());
}
