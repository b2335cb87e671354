//===- ReferenceGemm.cpp - GEMMs in plain C++ -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/Gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace weft::runtime {
namespace {

/// The type in which sums of `T` are taken: fp32 for 16-bit floats, unsigned
/// for integers, whose sums wrap around.
template <typename T> struct Sum {
  using Type = T;
  static Type load(T value) { return value; }
  static T store(Type value) { return value; }
};
template <> struct Sum<BFloat16> {
  using Type = float;
  static float load(BFloat16 value) { return toFloat(value); }
  static BFloat16 store(float value) { return toBFloat16(value); }
};
template <> struct Sum<Float16> {
  using Type = float;
  static float load(Float16 value) { return toFloat(value); }
  static Float16 store(float value) { return toFloat16(value); }
};
template <> struct Sum<int32_t> {
  using Type = uint32_t;
  static Type load(int32_t value) { return static_cast<Type>(value); }
  static int32_t store(Type value) { return static_cast<int32_t>(value); }
};
template <> struct Sum<int64_t> {
  using Type = uint64_t;
  static Type load(int64_t value) { return static_cast<Type>(value); }
  static int64_t store(Type value) { return static_cast<int64_t>(value); }
};

/// Tiles of the result stay in registers and the first-level cache while all of
/// k passes by, so that a sum is rounded once.
template <typename In, typename Out>
class ReferenceGemm final : public BoundGemm {
  using Acc = typename Sum<In>::Type;
  static_assert(std::is_same_v<Acc, typename Sum<Out>::Type>);
  static constexpr int64_t tileRows = 4;
  static constexpr int64_t tileColumns = 64;

public:
  ReferenceGemm(const GemmProblem &problem, const GemmOperands &operands)
      : p(problem), operands(operands) {}

  Status run() override {
    for (int64_t b = 0; b < p.batch; ++b)
      for (int64_t row = 0; row < p.m; row += tileRows)
        for (int64_t column = 0; column < p.n; column += tileColumns)
          runTile(b, row, column);
    return {};
  }

private:
  void runTile(int64_t b, int64_t row, int64_t column) {
    const auto *lhs = static_cast<const In *>(operands.lhs) + b * p.lhs.batch +
                      row * p.lhs.row;
    const auto *rhs = static_cast<const In *>(operands.rhs) + b * p.rhs.batch +
                      column * p.rhs.column;
    const int64_t rows = std::min(tileRows, p.m - row);
    const int64_t columns = std::min(tileColumns, p.n - column);
    Acc sums[tileRows][tileColumns] = {};
    for (int64_t k = 0; k < p.k; ++k)
      for (int64_t i = 0; i < rows; ++i) {
        const Acc factor = Sum<In>::load(lhs[i * p.lhs.row + k * p.lhs.column]);
        for (int64_t j = 0; j < columns; ++j)
          sums[i][j] +=
              factor * Sum<In>::load(rhs[k * p.rhs.row + j * p.rhs.column]);
      }
    auto *out = static_cast<Out *>(operands.out) + b * p.result.batch +
                row * p.result.row + column * p.result.column;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        Out &element = out[i * p.result.row + j * p.result.column];
        const Acc old = p.accumulate ? Sum<Out>::load(element) : Acc(0);
        element = Sum<Out>::store(sums[i][j] + old);
      }
  }

  GemmProblem p;
  GemmOperands operands;
};

} // namespace

Result<std::unique_ptr<BoundGemm>>
bindReferenceGemm(const GemmProblem &problem, const GemmOperands &operands) {
  const auto make = [&]<typename In, typename Out>(In, Out) {
    return std::make_unique<ReferenceGemm<In, Out>>(problem, operands);
  };
  const bool same = problem.in == problem.out;
  if (problem.in == DType::F32 && same)
    return make(float(), float());
  if (problem.in == DType::F64 && same)
    return make(double(), double());
  if (problem.in == DType::I32 && same)
    return make(int32_t(), int32_t());
  if (problem.in == DType::I64 && same)
    return make(int64_t(), int64_t());
  if (problem.in == DType::BF16 && same)
    return make(BFloat16(), BFloat16());
  if (problem.in == DType::BF16 && problem.out == DType::F32)
    return make(BFloat16(), float());
  if (problem.in == DType::F16 && same)
    return make(Float16(), Float16());
  if (problem.in == DType::F16 && problem.out == DType::F32)
    return make(Float16(), float());
  return unimplemented(fmt::format("no GEMM of {} into {}", name(problem.in),
                                   name(problem.out)));
}

} // namespace weft::runtime
