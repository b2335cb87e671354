//===- GroupedGemm.h - GEMMs of groups of rows ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One GEMM for each group, whose rows are known when it runs. Those of f32 are
// computed by packed tiles where the processor has them, others in plain C++.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_GROUPEDGEMM_H
#define WEFT_RUNTIME_SRC_CPU_GROUPEDGEMM_H

#include "cpu/Gemm.h"

namespace weft::runtime {

/// As plan::GemmGroups says: by rows, or the sums over them.
struct GroupedGemmProblem {
  GemmProblem gemm;
  bool isByRows = true;
  int64_t groups = 1;
};

/// `sizes` is [batch, groups].
std::unique_ptr<BoundOperation>
bindGroupedGemm(const GroupedGemmProblem &problem, const GemmOperands &operands,
                const int32_t *sizes, ThreadTeam &team);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_GROUPEDGEMM_H
