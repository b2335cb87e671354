//===- GemmLayout.cpp - GEMMs in the terms of cuBLASLt ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/GemmLayout.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::runtime {

using plan::GemmEpilogue;
using plan::GemmPrecision;

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

namespace {

/// What an epilogue of the plan has.
struct EpilogueTraits {
  /// A vector for each n, or for each m.
  bool hasBiasOfN = false, hasBiasOfM = false;
  /// The vector is a sum that is written.
  bool writesBias = false;
  bool hasAux = false;
};

} // namespace

static EpilogueTraits traitsOf(GemmEpilogue epilogue) {
  switch (epilogue) {
  case GemmEpilogue::None:
  case GemmEpilogue::Gelu:
    return {};
  case GemmEpilogue::Bias:
  case GemmEpilogue::BiasGelu:
    return {.hasBiasOfN = true};
  case GemmEpilogue::GeluAux:
  case GemmEpilogue::GeluGrad:
    return {.hasAux = true};
  case GemmEpilogue::BiasGeluAux:
    return {.hasBiasOfN = true, .hasAux = true};
  case GemmEpilogue::GeluGradBiasGrad:
    return {.hasBiasOfN = true, .writesBias = true, .hasAux = true};
  case GemmEpilogue::LhsBiasGrad:
    return {.hasBiasOfM = true, .writesBias = true};
  case GemmEpilogue::RhsBiasGrad:
    return {.hasBiasOfN = true, .writesBias = true};
  }
  return {};
}

/// The sums over k are of a or of b; all others have no sides.
static cublasLtEpilogue_t ltEpilogueOf(GemmEpilogue epilogue, bool aIsRhs) {
  switch (epilogue) {
  case GemmEpilogue::None:
    return CUBLASLT_EPILOGUE_DEFAULT;
  case GemmEpilogue::Bias:
    return CUBLASLT_EPILOGUE_BIAS;
  case GemmEpilogue::Gelu:
    return CUBLASLT_EPILOGUE_GELU;
  case GemmEpilogue::BiasGelu:
    return CUBLASLT_EPILOGUE_GELU_BIAS;
  case GemmEpilogue::GeluAux:
    return CUBLASLT_EPILOGUE_GELU_AUX;
  case GemmEpilogue::BiasGeluAux:
    return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  case GemmEpilogue::GeluGrad:
    return CUBLASLT_EPILOGUE_DGELU;
  case GemmEpilogue::GeluGradBiasGrad:
    return CUBLASLT_EPILOGUE_DGELU_BGRAD;
  case GemmEpilogue::LhsBiasGrad:
    return aIsRhs ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA;
  case GemmEpilogue::RhsBiasGrad:
    return aIsRhs ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

cudaDataType_t cudaTypeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return CUDA_R_32F;
  case DType::F64:
    return CUDA_R_64F;
  case DType::BF16:
    return CUDA_R_16BF;
  case DType::F16:
    return CUDA_R_16F;
  case DType::I32:
    return CUDA_R_32I;
  case DType::I64:
    return CUDA_R_64I;
  case DType::Pred:
  case DType::I8:
    return CUDA_R_8I;
  case DType::I16:
    return CUDA_R_16I;
  }
  return CUDA_R_32F;
}

static Status chooseTypes(const CudaGemmProblem &problem, LtProblem &lt) {
  const DType in = problem.gemm.in;
  if (!isFloat(in))
    return unimplemented(fmt::format(
        "no GEMM of {} on a GPU; it has f32, f64, bf16 and f16", name(in)));
  if (problem.precision == GemmPrecision::TF32 && in != DType::F32)
    return invalidArgument(
        fmt::format("precision tf32 is for GEMMs of f32, not {}", name(in)));
  lt.scale = in == DType::F64 ? DType::F64 : DType::F32;
  lt.compute = in == DType::F64 ? CUBLAS_COMPUTE_64F
               : problem.precision == GemmPrecision::TF32
                   ? CUBLAS_COMPUTE_32F_FAST_TF32
                   : CUBLAS_COMPUTE_32F;
  lt.a.dtype = lt.b.dtype = in;
  lt.d.dtype = problem.gemm.out;
  lt.bias = problem.bias;
  lt.processors = problem.processors;
  return {};
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

namespace {

/// A matrix with both of its strides.
struct StridedMatrix {
  int64_t rows, columns;
  int64_t rowStride, columnStride;
  int64_t batchStride;
};

} // namespace

static StridedMatrix transposed(const StridedMatrix &m) {
  return {m.columns, m.rows, m.columnStride, m.rowStride, m.batchStride};
}

/// Whether the columns of the matrix are dense. A dimension of size 1 has no
/// stride, whatever the plan says.
static bool hasDenseColumns(const StridedMatrix &m) {
  return m.rows == 1 || m.rowStride == 1;
}

static Status storeAs(const StridedMatrix &m, int64_t batch, LtMatrix &stored) {
  if (!hasDenseColumns(m))
    return unimplemented(
        fmt::format("neither rows nor columns are dense, the strides are {} "
                    "and {}; cuBLASLt reads no such matrix",
                    m.rowStride, m.columnStride));
  stored.rows = m.rows;
  stored.columns = m.columns;
  stored.leading = m.columns == 1 ? m.rows : m.columnStride;
  stored.batchStride = batch == 1 ? 0 : m.batchStride;
  if (stored.leading < stored.rows)
    return unimplemented(fmt::format(
        "a matrix of {} x {} with strides {} and {} overlaps itself; cuBLASLt "
        "reads none",
        m.rows, m.columns, m.rowStride, m.columnStride));
  return {};
}

/// The way to store an operand; with a choice the one whose columns are long.
static Status storeFactor(const StridedMatrix &m, int64_t batch,
                          LtMatrix &stored) {
  const StridedMatrix other = transposed(m);
  stored.isTransposed =
      hasDenseColumns(other) && !(hasDenseColumns(m) && m.rows >= other.rows);
  return storeAs(stored.isTransposed ? other : m, batch, stored);
}

/// The one way to store an operand that an epilogue adds up over k: a as it is,
/// b transposed. For the other cuBLASLt is said to propose algorithms, too, and
/// to launch none of them; its documentation is silent.
static Status storeSummed(const StridedMatrix &m, bool isTransposed,
                          LtMatrix &stored) {
  const StridedMatrix columns = isTransposed ? transposed(m) : m;
  if (!hasDenseColumns(columns))
    return unimplemented(fmt::format("the gradient of a bias is the sum of an "
                                     "operand whose elements for one "
                                     "k are dense, and these are {} apart",
                                     columns.rowStride));
  stored.isTransposed = isTransposed;
  return storeAs(columns, /*batch=*/1, stored);
}

static Status storeFactors(const StridedMatrix &a, const StridedMatrix &b,
                           LtProblem &lt) {
  WEFT_RETURN_IF_ERROR((lt.epilogue == CUBLASLT_EPILOGUE_BGRADA
                            ? storeSummed(a, /*isTransposed=*/false, lt.a)
                            : storeFactor(a, lt.batch, lt.a))
                           .withContext(lt.aIsRhs ? "rhs" : "lhs"));
  return (lt.epilogue == CUBLASLT_EPILOGUE_BGRADB
              ? storeSummed(b, /*isTransposed=*/true, lt.b)
              : storeFactor(b, lt.batch, lt.b))
      .withContext(lt.aIsRhs ? "lhs" : "rhs");
}

static bool hasDenseLines(const MatrixStrides &strides) {
  return strides.row == 1 || strides.column == 1;
}

/// One GEMM of many rows or columns in place of a stack that shares an operand,
/// where cuBLASLt reads its matrices.
static GemmProblem withMergedBatch(const GemmProblem &p, bool hasBiasOfN) {
  const GemmProblem rows = withMergedRows(p);
  if (rows.batch < p.batch && hasDenseLines(rows.lhs) &&
      hasDenseLines(rows.result))
    return rows;
  const GemmProblem columns = transposed(withMergedRows(transposed(p)));
  if (!hasBiasOfN && columns.batch < p.batch && hasDenseLines(columns.rhs) &&
      hasDenseLines(columns.result))
    return columns;
  return p;
}

/// The matrix of what an epilogue reads or writes beside out has the strides of
/// out, which it wants in whole 16 bytes of 16-bit numbers.
static Status checkAux(LtProblem &lt) {
  if (lt.d.columns == 1)
    lt.d.leading = (lt.d.leading + 7) / 8 * 8;
  if (lt.d.leading % 8 != 0 || lt.d.batchStride % 8 != 0)
    return unimplemented(fmt::format(
        "an epilogue with a second matrix wants strides that are multiples of "
        "8, and out has {}{}",
        lt.d.leading,
        lt.batch > 1 ? fmt::format(" and {}", lt.d.batchStride) : ""));
  return {};
}

Result<LtProblem> ltProblemOf(const CudaGemmProblem &problem) {
  const EpilogueTraits traits = traitsOf(problem.epilogue);
  if (traits.writesBias && problem.gemm.batch > 1)
    return unimplemented(
        fmt::format("the gradient of a bias is a sum over one GEMM, not over "
                    "a batch of {}",
                    problem.gemm.batch));
  LtProblem lt;
  WEFT_RETURN_IF_ERROR(chooseTypes(problem, lt));
  const GemmProblem p = withMergedBatch(problem.gemm, traits.hasBiasOfN);
  const StridedMatrix lhs{p.m, p.k, p.lhs.row, p.lhs.column, p.lhs.batch};
  const StridedMatrix rhs{p.k, p.n, p.rhs.row, p.rhs.column, p.rhs.batch};
  const StridedMatrix out{p.m, p.n, p.result.row, p.result.column,
                          p.result.batch};
  lt.batch = p.batch;
  lt.accumulate = p.accumulate;
  lt.aIsRhs = hasDenseColumns(transposed(out));
  if (!lt.aIsRhs && traits.hasBiasOfN &&
      problem.epilogue != GemmEpilogue::RhsBiasGrad)
    return unimplemented(fmt::format(
        "a bias for each column of out wants rows that are dense, and out has "
        "the strides {} and {}",
        p.result.row, p.result.column));
  const StridedMatrix &d = lt.aIsRhs ? transposed(out) : out;
  lt.epilogue = ltEpilogueOf(problem.epilogue, lt.aIsRhs);
  WEFT_RETURN_IF_ERROR(storeFactors(lt.aIsRhs ? transposed(rhs) : lhs,
                                    lt.aIsRhs ? transposed(lhs) : rhs, lt));
  WEFT_RETURN_IF_ERROR(storeAs(d, lt.batch, lt.d).withContext("out"));
  lt.hasBias = traits.hasBiasOfN || traits.hasBiasOfM;
  lt.hasAux = traits.hasAux;
  if (lt.hasAux)
    WEFT_RETURN_IF_ERROR(checkAux(lt));
  return lt;
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

std::string toString(const CudaGemmProblem &problem) {
  const GemmProblem &p = problem.gemm;
  return fmt::format(
      "{} GEMM of {}{} x {} and {} x {} into {}{}{}{}", name(p.in),
      p.batch > 1 ? fmt::format("{} x ", p.batch) : "", p.m, p.k, p.k, p.n,
      name(p.out), problem.precision == GemmPrecision::TF32 ? ", in tf32" : "",
      p.accumulate ? ", accumulated" : "",
      problem.epilogue == GemmEpilogue::None
          ? ""
          : fmt::format(", with {}",
                        plan::EnumNameGemmEpilogue(problem.epilogue)));
}

static std::string toString(const LtMatrix &m) {
  return fmt::format("{}{} {}x{} ld {} batch {}", name(m.dtype),
                     m.isTransposed ? "^T" : "", m.rows, m.columns, m.leading,
                     m.batchStride);
}

std::string toString(const LtProblem &p) {
  return fmt::format(
      "{} x (a {}; b {}; d {}) compute {} scale {} epilogue {}{}{}{}", p.batch,
      toString(p.a), toString(p.b), toString(p.d), static_cast<int>(p.compute),
      name(p.scale), static_cast<int>(p.epilogue),
      p.hasBias ? fmt::format(" bias {}", name(p.bias)) : "",
      p.accumulate ? " accumulate" : "",
      p.processors ? fmt::format(" processors {}", p.processors) : "");
}

} // namespace weft::runtime
