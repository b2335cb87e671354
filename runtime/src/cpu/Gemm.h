//===- Gemm.h - GEMMs on a CPU ----------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One GEMM of a plan, bound to the memory it works on. Three
// implementations: packed tiles (f32 on x86-64 with AVX2), oneDNN (when built
// with it, for the types it has on this machine) and plain C++ (everything
// else, and what tests compare with).
//
// oneDNN gets the scratchpad of the rank: its default scratchpad is silently
// wrong when ranks are threads.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_GEMM_H
#define WEFT_RUNTIME_SRC_CPU_GEMM_H

#include "cpu/BoundOperation.h"
#include "weft/runtime/DType.h"
#include "weft/runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::runtime {

/// A stack of matrices in memory, in elements.
struct MatrixStrides {
  int64_t batch = 0;
  int64_t row = 0;
  int64_t column = 0;
};

/// out[b,m,n] = sum over k of lhs[b,m,k] * rhs[b,k,n], plus the old out if
/// `accumulate`. 16-bit inputs are summed in fp32 and rounded once.
struct GemmProblem {
  DType in = DType::F32;
  DType out = DType::F32;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  MatrixStrides lhs;
  MatrixStrides rhs;
  MatrixStrides result;
  bool accumulate = false;
};

/// The same problem the other way round: out^T = rhs^T * lhs^T. Its operands
/// are swapped.
GemmProblem transposed(const GemmProblem &problem);

/// One GEMM of many rows in place of a stack that shares its rhs, where the
/// rows of a matrix go on with those of the next; other problems as they are.
GemmProblem withMergedRows(GemmProblem problem);

struct GemmOperands {
  const void *lhs = nullptr;
  const void *rhs = nullptr;
  void *out = nullptr;
};

using BoundGemm = BoundOperation;

class ThreadTeam;

/// The best implementation for the problem in this build, on this machine. The
/// team computes it, and outlives it.
Result<std::unique_ptr<BoundGemm>> bindGemm(const GemmProblem &problem,
                                            const GemmOperands &operands,
                                            ThreadTeam &team);

/// Packed tiles, or null for other types and processors.
std::unique_ptr<BoundGemm>
bindPackedGemm(GemmProblem problem, GemmOperands operands, ThreadTeam &team);

/// Plain C++ for every type a verified plan may have.
Result<std::unique_ptr<BoundGemm>>
bindReferenceGemm(const GemmProblem &problem, const GemmOperands &operands);

/// oneDNN, or null when it has no fast implementation of the problem here or
/// this build is without it.
std::unique_ptr<BoundGemm> bindOneDnnGemm(const GemmProblem &problem,
                                          const GemmOperands &operands);

/// While it lives, oneDNN uses so many threads in products of the calling
/// thread, which may be one that uses OpenMP itself.
class OneDnnThreads {
public:
  explicit OneDnnThreads(int threads);
  ~OneDnnThreads();
  OneDnnThreads(const OneDnnThreads &) = delete;
  OneDnnThreads &operator=(const OneDnnThreads &) = delete;

private:
  int before = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_GEMM_H
