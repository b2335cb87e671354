//===- Gemm.cpp - GEMMs on a CPU --------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/Gemm.h"

namespace weft::runtime {

/// Whether an operand is used often enough to be worth copying.
static bool isWorthPacking(const GemmProblem &problem) {
  constexpr int64_t few = 8;
  return problem.m >= few && problem.n >= few;
}

Result<std::unique_ptr<BoundGemm>> bindGemm(const GemmProblem &problem,
                                            const GemmOperands &operands,
                                            ThreadTeam &team) {
  if (isWorthPacking(problem))
    if (auto gemm = bindPackedGemm(problem, operands, team))
      return gemm;
  if (std::unique_ptr<BoundGemm> gemm = bindOneDnnGemm(problem, operands))
    return gemm;
  return bindReferenceGemm(problem, operands);
}

#if !WEFT_HAS_ONEDNN
std::unique_ptr<BoundGemm> bindOneDnnGemm(const GemmProblem &,
                                          const GemmOperands &) {
  return nullptr;
}

OneDnnThreads::OneDnnThreads(int) {}
OneDnnThreads::~OneDnnThreads() = default;
#endif

} // namespace weft::runtime
