//===- Gemm.cpp - GEMMs on a CPU --------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/Gemm.h"

#include <utility>

namespace weft::runtime {

static MatrixStrides transposed(const MatrixStrides &strides) {
  return {strides.batch, strides.column, strides.row};
}

GemmProblem transposed(const GemmProblem &problem) {
  GemmProblem other = problem;
  std::swap(other.m, other.n);
  other.lhs = transposed(problem.rhs);
  other.rhs = transposed(problem.lhs);
  other.result = transposed(problem.result);
  return other;
}

GemmProblem withMergedRows(GemmProblem problem) {
  // A single row takes the stride of the stack.
  const bool isRow = problem.m == 1;
  const int64_t lhsRow = isRow ? problem.lhs.batch : problem.lhs.row;
  const int64_t resultRow = isRow ? problem.result.batch : problem.result.row;
  if (problem.batch == 1 || problem.rhs.batch != 0 ||
      problem.lhs.batch != problem.m * lhsRow ||
      problem.result.batch != problem.m * resultRow)
    return problem;
  problem.lhs.row = lhsRow;
  problem.result.row = resultRow;
  problem.m *= problem.batch;
  problem.batch = 1;
  return problem;
}

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
