//===- GemmLayoutTest.cpp - GEMMs in cuBLASLt's terms -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two evaluators, each as plain as its text: the plan's definition (plan.fbs)
// and what NVIDIA's documentation says of cublasLtMatmul. A GEMM that is
// translated from the one to the other gives the same numbers.
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/GemmLayout.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <set>

namespace weft::runtime {
namespace {

using plan::GemmEpilogue;
using testing::HasSubstr;
using Numbers = std::vector<double>;

double gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double geluGrad(double x) {
  const double step = 1e-6;
  return (gelu(x + step) - gelu(x - step)) / (2 * step);
}

struct Memory {
  Numbers lhs, rhs, out, bias, aux;
};

//===----------------------------------------------------------------------===//
// The plan's definition
//===----------------------------------------------------------------------===//

void evaluatePlan(const CudaGemmProblem &problem, Memory &memory) {
  const GemmProblem &p = problem.gemm;
  const GemmEpilogue e = problem.epilogue;
  const auto at = [](const MatrixStrides &s, int64_t b, int64_t i, int64_t j) {
    return b * s.batch + i * s.row + j * s.column;
  };
  const bool adds = e == GemmEpilogue::Bias || e == GemmEpilogue::BiasGelu ||
                    e == GemmEpilogue::BiasGeluAux;
  const bool isGrad =
      e == GemmEpilogue::GeluGrad || e == GemmEpilogue::GeluGradBiasGrad;
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t m = 0; m < p.m; ++m)
      for (int64_t n = 0; n < p.n; ++n) {
        double &out = memory.out[at(p.result, b, m, n)];
        double sum = p.accumulate ? out : 0;
        for (int64_t k = 0; k < p.k; ++k)
          sum +=
              memory.lhs[at(p.lhs, b, m, k)] * memory.rhs[at(p.rhs, b, k, n)];
        if (adds)
          sum += memory.bias[n];
        if (e == GemmEpilogue::GeluAux || e == GemmEpilogue::BiasGeluAux)
          memory.aux[at(p.result, b, m, n)] = sum;
        if (isGrad)
          sum *= geluGrad(memory.aux[at(p.result, b, m, n)]);
        else if (e != GemmEpilogue::None && e != GemmEpilogue::Bias &&
                 e != GemmEpilogue::LhsBiasGrad &&
                 e != GemmEpilogue::RhsBiasGrad)
          sum = gelu(sum);
        out = sum;
      }
  if (e == GemmEpilogue::GeluGradBiasGrad)
    for (int64_t n = 0; n < p.n; ++n) {
      memory.bias[n] = 0;
      for (int64_t m = 0; m < p.m; ++m)
        memory.bias[n] += memory.out[at(p.result, 0, m, n)];
    }
  if (e == GemmEpilogue::LhsBiasGrad)
    for (int64_t m = 0; m < p.m; ++m) {
      memory.bias[m] = 0;
      for (int64_t k = 0; k < p.k; ++k)
        memory.bias[m] += memory.lhs[at(p.lhs, 0, m, k)];
    }
  if (e == GemmEpilogue::RhsBiasGrad)
    for (int64_t n = 0; n < p.n; ++n) {
      memory.bias[n] = 0;
      for (int64_t k = 0; k < p.k; ++k)
        memory.bias[n] += memory.rhs[at(p.rhs, 0, k, n)];
    }
}

//===----------------------------------------------------------------------===//
// cuBLASLt's definition
//===----------------------------------------------------------------------===//

/// Element (i, j) of op(matrix).
double &elementOf(Numbers &numbers, const LtMatrix &matrix, int64_t b,
                  int64_t i, int64_t j) {
  if (matrix.isTransposed)
    std::swap(i, j);
  EXPECT_LT(i, matrix.rows);
  EXPECT_LT(j, matrix.columns);
  return numbers[b * matrix.batchStride + j * matrix.leading + i];
}

void evaluateLt(const LtProblem &p, Memory &memory) {
  Numbers &a = p.aIsRhs ? memory.rhs : memory.lhs;
  Numbers &b = p.aIsRhs ? memory.lhs : memory.rhs;
  const auto rowsOf = [](const LtMatrix &m) {
    return m.isTransposed ? m.columns : m.rows;
  };
  const auto columnsOf = [](const LtMatrix &m) {
    return m.isTransposed ? m.rows : m.columns;
  };
  ASSERT_EQ(rowsOf(p.a), p.d.rows);
  ASSERT_EQ(columnsOf(p.b), p.d.columns);
  ASSERT_EQ(columnsOf(p.a), rowsOf(p.b));
  ASSERT_FALSE(p.d.isTransposed);
  for (const LtMatrix *matrix : {&p.a, &p.b, &p.d})
    ASSERT_GE(matrix->leading, matrix->rows);
  const int64_t inner = columnsOf(p.a);
  const bool adds = p.epilogue & CUBLASLT_EPILOGUE_BIAS;
  const bool isGelu = p.epilogue & CUBLASLT_EPILOGUE_GELU;
  const bool isGrad = (p.epilogue & CUBLASLT_EPILOGUE_DGELU & ~128) != 0;
  const bool writesAux = isGelu && p.epilogue & 128;
  EXPECT_EQ(p.hasAux, writesAux || isGrad);
  for (int64_t batch = 0; batch < p.batch; ++batch)
    for (int64_t i = 0; i < p.d.rows; ++i)
      for (int64_t j = 0; j < p.d.columns; ++j) {
        double &d = elementOf(memory.out, p.d, batch, i, j);
        double sum = p.accumulate ? d : 0;
        for (int64_t k = 0; k < inner; ++k)
          sum +=
              elementOf(a, p.a, batch, i, k) * elementOf(b, p.b, batch, k, j);
        if (adds) // "vector length must match matrix D rows"
          sum += memory.bias[i];
        double &aux = elementOf(memory.aux, p.d, batch, i, j);
        if (writesAux)
          aux = sum;
        d = isGelu ? gelu(sum) : isGrad ? sum * geluGrad(aux) : sum;
      }
  if (p.epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD)
    for (int64_t i = 0; i < p.d.rows; ++i) {
      memory.bias[i] = 0;
      for (int64_t j = 0; j < p.d.columns; ++j)
        memory.bias[i] += elementOf(memory.out, p.d, 0, i, j);
    }
  // "The bias size corresponds to the number of rows of the matrix D. The
  // reduction happens over the GEMM's k dimension." Of columns, for B.
  if (p.epilogue == CUBLASLT_EPILOGUE_BGRADA) {
    EXPECT_FALSE(p.a.isTransposed) << "it would not be launched";
    for (int64_t i = 0; i < p.d.rows; ++i) {
      memory.bias[i] = 0;
      for (int64_t k = 0; k < inner; ++k)
        memory.bias[i] += elementOf(a, p.a, 0, i, k);
    }
  }
  if (p.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
    EXPECT_TRUE(p.b.isTransposed) << "it would not be launched";
    for (int64_t j = 0; j < p.d.columns; ++j) {
      memory.bias[j] = 0;
      for (int64_t k = 0; k < inner; ++k)
        memory.bias[j] += elementOf(b, p.b, 0, k, j);
    }
  }
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

/// Strides of a stack of matrices, dense but for `padding`.
MatrixStrides stridesOf(int64_t rows, int64_t columns, bool byColumns,
                        int64_t padding = 0) {
  const int64_t leading = (byColumns ? rows : columns) + padding;
  return {leading * (byColumns ? columns : rows), byColumns ? 1 : leading,
          byColumns ? leading : 1};
}

Memory memoryFor(const CudaGemmProblem &problem, int seed) {
  const GemmProblem &p = problem.gemm;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto numbers = [&](const MatrixStrides &s, int64_t rows,
                           int64_t columns) {
    Numbers values(
        (p.batch - 1) * s.batch + rows * std::max<int64_t>(1, s.row) +
        columns * std::max<int64_t>(1, s.column) + rows * columns + 64);
    for (double &value : values)
      value = uniform(random);
    return values;
  };
  Memory memory{numbers(p.lhs, p.m, p.k),
                numbers(p.rhs, p.k, p.n),
                numbers(p.result, p.m, p.n),
                {},
                {}};
  memory.bias.assign(memory.out.size(), 0.5);
  for (double &value : memory.bias)
    value = uniform(random);
  memory.aux = memory.out;
  return memory;
}

void expectSameNumbers(const CudaGemmProblem &problem) {
  SCOPED_TRACE(toString(problem));
  const Result<LtProblem> lt = ltProblemOf(problem);
  ASSERT_TRUE(lt.ok()) << lt.status().message();
  SCOPED_TRACE(toString(*lt));
  Memory expected = memoryFor(problem, 1), found = expected;
  evaluatePlan(problem, expected);
  evaluateLt(*lt, found);
  for (size_t i = 0; i < expected.out.size(); ++i) {
    ASSERT_NEAR(found.out[i], expected.out[i], 1e-9) << i;
    ASSERT_NEAR(found.aux[i], expected.aux[i], 1e-9) << i;
    ASSERT_NEAR(found.bias[i], expected.bias[i], 1e-9) << i;
  }
}

template <typename Check> void forLayouts(Check check) {
  for (int layouts = 0; layouts < 8; ++layouts)
    check(bool(layouts & 1), bool(layouts & 2), bool(layouts & 4));
}

CudaGemmProblem problemOf(int64_t batch, int64_t m, int64_t n, int64_t k,
                          bool lhsByColumns, bool rhsByColumns,
                          bool outByColumns, int64_t padding = 0) {
  CudaGemmProblem problem;
  GemmProblem &p = problem.gemm;
  p.batch = batch, p.m = m, p.n = n, p.k = k;
  p.lhs = stridesOf(m, k, lhsByColumns, padding);
  p.rhs = stridesOf(k, n, rhsByColumns, padding);
  p.result = stridesOf(m, n, outByColumns, padding);
  return problem;
}

TEST(GemmLayout, EveryLayoutAndSize) {
  for (const int64_t m : {1, 3, 8})
    for (const int64_t n : {1, 4, 5})
      for (const int64_t k : {1, 2, 7})
        for (const int64_t batch : {1, 2})
          for (const int64_t padding : {0, 3})
            forLayouts([&](bool lhs, bool rhs, bool out) {
              CudaGemmProblem problem =
                  problemOf(batch, m, n, k, lhs, rhs, out, padding);
              for (const bool accumulate : {false, true}) {
                problem.gemm.accumulate = accumulate;
                expectSameNumbers(problem);
              }
            });
}

TEST(GemmLayout, StridesOfSizeOneMeanNothing) {
  for (const int64_t stride : {0, 1, 2, 77}) {
    CudaGemmProblem problem = problemOf(1, 1, 4, 3, false, false, false);
    problem.gemm.lhs.row = problem.gemm.result.row = stride;
    expectSameNumbers(problem);
    problem = problemOf(1, 4, 1, 3, false, true, true);
    problem.gemm.rhs.column = problem.gemm.result.column = stride;
    expectSameNumbers(problem);
    problem = problemOf(1, 4, 5, 1, false, true, false);
    problem.gemm.lhs = {0, 1, stride};
    problem.gemm.rhs = {0, stride, 1};
    expectSameNumbers(problem);
  }
}

TEST(GemmLayout, SharedOperands) {
  for (const int64_t m : {1, 3})
    for (const int64_t n : {1, 5})
      forLayouts([&](bool lhs, bool rhs, bool out) {
        CudaGemmProblem problem = problemOf(4, m, n, 3, lhs, rhs, out);
        problem.gemm.rhs.batch = 0;
        expectSameNumbers(problem);
        problem = problemOf(4, m, n, 3, lhs, rhs, out);
        problem.gemm.lhs.batch = 0;
        expectSameNumbers(problem);
      });
}

TEST(GemmLayout, StacksWithOneWeightAreOneProduct) {
  CudaGemmProblem problem = problemOf(4, 3, 5, 2, false, true, false);
  problem.gemm.rhs.batch = 0;
  for (const GemmEpilogue epilogue : {GemmEpilogue::None, GemmEpilogue::Bias}) {
    problem.epilogue = epilogue;
    const LtProblem lt = *ltProblemOf(problem);
    EXPECT_EQ(lt.batch, 1);
    EXPECT_EQ(lt.d.rows, 5);
    EXPECT_EQ(lt.d.columns, 12);
    expectSameNumbers(problem);
  }
  // Columns that go on from one GEMM to the next; a bias would not.
  problem = problemOf(4, 3, 5, 2, false, true, true);
  problem.gemm.lhs.batch = 0;
  EXPECT_EQ(ltProblemOf(problem)->batch, 1);
  expectSameNumbers(problem);
}

TEST(GemmLayout, EpiloguesOfAMatrix) {
  for (const GemmEpilogue epilogue :
       {GemmEpilogue::Gelu, GemmEpilogue::GeluAux, GemmEpilogue::GeluGrad})
    for (const int64_t batch : {1, 3})
      forLayouts([&](bool lhs, bool rhs, bool out) {
        CudaGemmProblem problem = problemOf(batch, 8, 16, 5, lhs, rhs, out);
        problem.epilogue = epilogue;
        expectSameNumbers(problem);
        problem.gemm.accumulate = true;
        expectSameNumbers(problem);
      });
}

TEST(GemmLayout, EpiloguesWithABiasOfN) {
  for (const GemmEpilogue epilogue :
       {GemmEpilogue::Bias, GemmEpilogue::BiasGelu, GemmEpilogue::BiasGeluAux,
        GemmEpilogue::GeluGradBiasGrad})
    for (const bool lhs : {false, true})
      for (const bool rhs : {false, true}) {
        CudaGemmProblem problem = problemOf(1, 6, 16, 5, lhs, rhs, false);
        problem.epilogue = epilogue;
        expectSameNumbers(problem);
        if (epilogue == GemmEpilogue::GeluGradBiasGrad)
          continue;
        problem = problemOf(3, 6, 16, 5, lhs, rhs, false);
        problem.epilogue = epilogue;
        expectSameNumbers(problem);
      }
}

/// Checks a gradient of a bias for every size and layout that has one.
template <typename Check>
void forSumsOfFactors(GemmEpilogue epilogue, bool areDense, Check check) {
  const bool isLhs = epilogue == GemmEpilogue::LhsBiasGrad;
  for (const int64_t m : {1, 6})
    for (const int64_t n : {1, 7})
      for (const int64_t k : {1, 5})
        for (const int64_t padding : {0, 3})
          forLayouts([&](bool lhs, bool rhs, bool out) {
            CudaGemmProblem problem =
                problemOf(1, m, n, k, lhs, rhs, out, padding);
            problem.epilogue = epilogue;
            const GemmProblem &p = problem.gemm;
            if (((isLhs ? m : n) == 1 ||
                 (isLhs ? p.lhs.row : p.rhs.column) == 1) == areDense)
              check(problem);
          });
}

TEST(GemmLayout, GradientsOfABiasFromTheFactors) {
  for (const GemmEpilogue epilogue :
       {GemmEpilogue::LhsBiasGrad, GemmEpilogue::RhsBiasGrad})
    forSumsOfFactors(epilogue, /*areDense=*/true, [](CudaGemmProblem problem) {
      expectSameNumbers(problem);
      problem.gemm.accumulate = true;
      expectSameNumbers(problem);
    });
}

/// A head of one number: both ways to store its cotangent look dense.
TEST(GemmLayout, GradientOfABiasOfLengthOne) {
  for (const int64_t stride : {0, 1, 5, 77}) {
    CudaGemmProblem problem = problemOf(1, 6, 1, 5, true, true, false);
    problem.epilogue = GemmEpilogue::RhsBiasGrad;
    problem.gemm.rhs.column = stride;
    expectSameNumbers(problem);
    problem = problemOf(1, 1, 7, 5, false, false, false);
    problem.epilogue = GemmEpilogue::LhsBiasGrad;
    problem.gemm.lhs.row = stride;
    expectSameNumbers(problem);
  }
}

TEST(GemmLayout, AuxOfOneColumnHasAnyLength) {
  CudaGemmProblem problem = problemOf(1, 1, 5, 2, false, false, false);
  problem.epilogue = GemmEpilogue::GeluAux;
  EXPECT_EQ(ltProblemOf(problem)->d.leading, 8);
  expectSameNumbers(problem);
}

TEST(GemmLayout, Types) {
  CudaGemmProblem problem = problemOf(1, 2, 2, 2, false, false, false);
  EXPECT_EQ(ltProblemOf(problem)->compute, CUBLAS_COMPUTE_32F);
  problem.precision = plan::GemmPrecision::TF32;
  EXPECT_EQ(ltProblemOf(problem)->compute, CUBLAS_COMPUTE_32F_FAST_TF32);
  problem.precision = plan::GemmPrecision::Full;
  problem.gemm.in = problem.gemm.out = DType::F64;
  EXPECT_EQ(ltProblemOf(problem)->compute, CUBLAS_COMPUTE_64F);
  EXPECT_EQ(ltProblemOf(problem)->scale, DType::F64);
  for (const DType in : {DType::BF16, DType::F16})
    for (const DType out : {in, DType::F32}) {
      problem.gemm.in = in, problem.gemm.out = out;
      const LtProblem lt = *ltProblemOf(problem);
      EXPECT_EQ(lt.compute, CUBLAS_COMPUTE_32F);
      EXPECT_EQ(lt.scale, DType::F32);
      EXPECT_EQ(lt.a.dtype, in);
      EXPECT_EQ(lt.d.dtype, out);
    }
}

/// Keys of caches: everything that changes the GEMM changes the text.
TEST(GemmLayout, TextsOfDifferentProblemsDiffer) {
  std::vector<CudaGemmProblem> problems;
  forLayouts([&](bool lhs, bool rhs, bool out) {
    problems.push_back(problemOf(2, 16, 24, 8, lhs, rhs, out));
  });
  CudaGemmProblem problem = problemOf(1, 16, 24, 8, false, false, false);
  problems.push_back(problem);
  problem.gemm.accumulate = true;
  problems.push_back(problem);
  problem.precision = plan::GemmPrecision::TF32;
  problems.push_back(problem);
  problem.epilogue = GemmEpilogue::Bias;
  problems.push_back(problem);
  problem.epilogue = GemmEpilogue::GeluAux;
  problems.push_back(problem);
  problem.precision = plan::GemmPrecision::Full;
  problem.gemm.in = DType::BF16;
  problems.push_back(problem);
  problem.gemm.out = DType::BF16;
  problems.push_back(problem);
  problem.epilogue = GemmEpilogue::Bias;
  problems.push_back(problem);
  problem.bias = DType::BF16;
  problems.push_back(problem);
  std::set<std::string> texts;
  for (const CudaGemmProblem &each : problems)
    texts.insert(toString(*ltProblemOf(each)));
  EXPECT_EQ(texts.size(), problems.size());
}

//===----------------------------------------------------------------------===//
// What cuBLASLt cannot say
//===----------------------------------------------------------------------===//

void expectError(const CudaGemmProblem &problem, std::string_view text) {
  const Result<LtProblem> lt = ltProblemOf(problem);
  ASSERT_FALSE(lt.ok());
  EXPECT_THAT(lt.status().message(), HasSubstr(std::string(text)));
}

TEST(GemmLayoutErrors, NameTheValues) {
  CudaGemmProblem problem = problemOf(1, 2, 3, 4, false, false, false);
  problem.gemm.in = problem.gemm.out = DType::I32;
  expectError(problem,
              "no GEMM of i32 on a GPU; it has f32, f64, bf16 and f16");
  problem = problemOf(1, 2, 3, 4, false, false, false);
  problem.gemm.in = DType::BF16;
  problem.precision = plan::GemmPrecision::TF32;
  expectError(problem, "precision tf32 is for GEMMs of f32, not bf16");
  problem = problemOf(1, 2, 3, 4, false, false, true);
  problem.epilogue = GemmEpilogue::Bias;
  expectError(problem, "a bias for each column of out wants rows that are "
                       "dense, and out has the strides 1 and 2");
  problem = problemOf(2, 8, 8, 4, false, false, false);
  for (const GemmEpilogue epilogue :
       {GemmEpilogue::GeluGradBiasGrad, GemmEpilogue::LhsBiasGrad,
        GemmEpilogue::RhsBiasGrad}) {
    problem.epilogue = epilogue;
    expectError(problem, "the gradient of a bias is a sum over one GEMM, "
                         "not over a batch of 2");
  }
  problem = problemOf(1, 8, 12, 4, false, false, false);
  problem.epilogue = GemmEpilogue::GeluAux;
  expectError(problem, "an epilogue with a second matrix wants strides that "
                       "are multiples of 8, and out has 12");
  problem = problemOf(2, 8, 16, 4, false, false, false);
  problem.epilogue = GemmEpilogue::GeluAux;
  problem.gemm.result.batch = 132;
  expectError(problem, "and out has 16 and 132");
  problem = problemOf(1, 2, 3, 4, false, false, false);
  problem.gemm.rhs.row = 2;
  expectError(problem, "rhs: a matrix of 3 x 4 with strides 1 and 2 overlaps "
                       "itself; cuBLASLt reads none");
  problem = problemOf(1, 2, 3, 4, false, false, false);
  problem.gemm.lhs.column = 2;
  expectError(problem, "lhs: neither rows nor columns are dense");
}

TEST(GemmLayoutErrors, SumsOfOperandsThatAreNotDense) {
  const auto expect = [](GemmEpilogue epilogue, const char *factor) {
    int count = 0;
    forSumsOfFactors(
        epilogue, /*areDense=*/false, [&](const CudaGemmProblem &problem) {
          SCOPED_TRACE(toString(problem));
          const GemmProblem &p = problem.gemm;
          const bool isLhs = problem.epilogue == GemmEpilogue::LhsBiasGrad;
          expectError(problem,
                      std::string(factor) +
                          ": the gradient of a bias is the sum of an "
                          "operand whose elements for one k are dense, "
                          "and these are " +
                          std::to_string(isLhs ? p.lhs.row : p.rhs.column) +
                          " apart");
          EXPECT_EQ(ltProblemOf(problem).status().code(),
                    StatusCode::Unimplemented);
          ++count;
        });
    EXPECT_GT(count, 0);
  };
  expect(GemmEpilogue::LhsBiasGrad, "lhs");
  expect(GemmEpilogue::RhsBiasGrad, "rhs");
}

TEST(GemmLayout, ProductsInMessages) {
  CudaGemmProblem problem = problemOf(2, 3, 4, 5, false, false, false);
  problem.gemm.accumulate = true;
  problem.precision = plan::GemmPrecision::TF32;
  problem.epilogue = GemmEpilogue::BiasGelu;
  EXPECT_EQ(toString(problem), "f32 GEMM of 2 x 3 x 5 and 5 x 4 into f32, "
                               "in tf32, accumulated, with BiasGelu");
}

} // namespace
} // namespace weft::runtime
