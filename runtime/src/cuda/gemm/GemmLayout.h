//===- GemmLayout.h - GEMMs in the terms of cuBLASLt ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan says out[m,n] = lhs[m,k] rhs[k,n] with strides; cuBLASLt computes
// d = op(a) op(b) of matrices whose columns are dense and `leading` apart. No
// matrix is copied:
//
//   out has rows that are dense   d = out^T = rhs^T lhs^T, so a is rhs
//   out has dense columns         d = out, so a is lhs
//
// Example: lhs 4096 x 768, rhs 768 x 3072, all row by row. The memory of out
// read by columns is 3072 x 4096, that of rhs is 3072 x 768, and that of lhs is
// 768 x 4096: d = a b, without transposition, of sizes 3072, 4096 and 768.
//
// Epilogues are defined on d: a bias is added along its rows (row i gets bias
// i), and its gradient is a sum over its columns. A bias for each n therefore
// wants d = out^T. The gradient of a bias may also be the sum of an operand
// over k, which wants that operand's elements for one k dense: a not
// transposed, or b transposed.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMLAYOUT_H
#define WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMLAYOUT_H

#include "cpu/Gemm.h"
#include "weft/runtime/plan_generated.h"

#include <cublasLt.h>

#include <string>

namespace weft::runtime {

/// A GEMM as the plan says it. `bias` is the type of the epilogue's vector.
struct CudaGemmProblem {
  GemmProblem gemm;
  plan::GemmPrecision precision = plan::GemmPrecision::Full;
  plan::GemmEpilogue epilogue = plan::GemmEpilogue::None;
  DType bias = DType::F32;
  /// How many multiprocessors it may count on; 0 = all.
  int processors = 0;
};

/// For messages: "bf16 GEMM of 4096 x 768 and 768 x 3072 into f32".
std::string toString(const CudaGemmProblem &problem);

/// A stack of matrices as they are stored.
struct LtMatrix {
  DType dtype = DType::F32;
  int64_t rows = 1;
  int64_t columns = 1;
  /// Elements between columns, at least `rows`.
  int64_t leading = 1;
  int64_t batchStride = 0;
  /// Whether op(matrix) is its transpose. Never that of d.
  bool isTransposed = false;

  friend bool operator==(const LtMatrix &, const LtMatrix &) = default;
};

/// d = epilogue(op(a) op(b) + (accumulate ? d : 0)). What the epilogue stores
/// beside d has the type and the strides of d.
struct LtProblem {
  int64_t batch = 1;
  LtMatrix a, b, d;
  /// Whether a is the plan's rhs, and b its lhs.
  bool aIsRhs = true;
  bool accumulate = false;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  /// Type of the operands of the GEMM and of the old d.
  DType scale = DType::F32;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  bool hasBias = false, hasAux = false;
  DType bias = DType::F32;
  int processors = 0;
};

/// Complete, and the same text for the same problem only: the key of caches.
std::string toString(const LtProblem &problem);

/// Fails where cuBLASLt has no way to say it.
Result<LtProblem> ltProblemOf(const CudaGemmProblem &problem);

cudaDataType_t cudaTypeOf(DType dtype);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMLAYOUT_H
