//===- CudaPlan.h - Hand-written plans for GPUs -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns what a PlanBuilder holds into a plan for "cuda": PTX instead of an
// object, and a grid for each kernel.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_CUDAPLAN_H
#define WEFT_RUNTIME_TEST_CUDAPLAN_H

#include "PlanBuilder.h"

#include <memory>
#include <string>

namespace weft::runtime {

/// `ptx` defines the kernels; they are launched as one block of 16 threads.
inline void makeCudaPlan(PlanBuilder &builder, std::string ptx,
                         std::string processor = "sm_80") {
  builder.table.target->kind = "cuda";
  builder.table.target->processor = std::move(processor);
  builder.table.object.clear();
  builder.table.ptx = std::move(ptx);
  for (auto &kernel : builder.table.kernels) {
    kernel->grid = std::make_unique<plan::GridT>();
    kernel->grid->blocks = 1;
    kernel->grid->threads = 16;
  }
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_CUDAPLAN_H
