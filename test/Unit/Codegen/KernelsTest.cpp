//===- KernelsTest.cpp - Kernels against scalar references ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelText.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace weft::test;

namespace {

/// Rows and columns around the number of lanes.
const std::vector<std::pair<int, int>> sizes = {{1, 1},  {1, 7},   {3, 15},
                                                {7, 16}, {5, 17},  {33, 1},
                                                {2, 33}, {17, 64}, {4, 100}};

class Sizes : public ::testing::TestWithParam<std::pair<int, int>> {
protected:
  int rows = GetParam().first, columns = GetParam().second;
  int64_t elements = int64_t(rows) * columns;
  std::string matrix = tensor({rows, columns}, "f32");
  std::string row = tensor({columns}, "f32");
  std::string column = tensor({rows}, "f32");
};
INSTANTIATE_TEST_SUITE_P(Kernels, Sizes, ::testing::ValuesIn(sizes));

/// sum += (x - y)^2 and the like stay exact in this many bits.
void expectNear(const std::vector<float> &got, const std::vector<double> &want,
                double relative) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], relative * (std::abs(want[i]) + 1))
        << "element " << i;
}

TEST_P(Sizes, BroadcastBiasThenTanh) {
  auto x = randomFloats(elements), bias = randomFloats(columns, 2);
  std::vector<float> y(elements);
  std::string text = function(
      "f", {matrix, row}, {matrix},
      broadcast("%b", "%1", row, matrix, "(i, j) -> (j)") +
          elementwise("%s", {"%0", "%b"}, matrix, "arith.addf %a0, %a1") +
          elementwise("%y", {"%s"}, matrix, "math.tanh %a0"),
      {"%y"});
  KernelRunner(text).run("f", {x.data(), bias.data(), y.data()});
  std::vector<double> want;
  for (int64_t i = 0; i < elements; ++i)
    want.push_back(std::tanh(double(x[i] + bias[i % columns])));
  expectNear(y, want, 3e-7);
}

std::string softmax(const std::string &matrix, const std::string &column) {
  return function(
      "softmax", {matrix}, {matrix},
      reduce("%max", "%0", matrix, column, "(i, j) -> (i)",
             {"parallel", "reduction"}, "arith.maximumf", "0xFF800000") +
          broadcast("%maxes", "%max", column, matrix, "(i, j) -> (i)") +
          elementwise("%d", {"%0", "%maxes"}, matrix, "arith.subf %a0, %a1") +
          elementwise("%e", {"%d"}, matrix, "math.exp %a0") +
          reduce("%sum", "%e", matrix, column, "(i, j) -> (i)",
                 {"parallel", "reduction"}, "arith.addf", "0.0") +
          broadcast("%sums", "%sum", column, matrix, "(i, j) -> (i)") +
          elementwise("%y", {"%e", "%sums"}, matrix, "arith.divf %a0, %a1"),
      {"%y"});
}

std::vector<double> softmaxOf(const std::vector<float> &x, int columns) {
  std::vector<double> y(x.size());
  for (size_t first = 0; first < x.size(); first += columns) {
    double largest =
        *std::max_element(x.begin() + first, x.begin() + first + columns);
    double sum = 0;
    for (int j = 0; j < columns; ++j)
      sum += y[first + j] = std::exp(x[first + j] - largest);
    for (int j = 0; j < columns; ++j)
      y[first + j] /= sum;
  }
  return y;
}

TEST_P(Sizes, Softmax) {
  auto x = randomFloats(elements);
  std::vector<float> y(elements);
  KernelRunner kernels(softmax(matrix, column));
  kernels.run("softmax", {x.data(), y.data()});
  expectNear(y, softmaxOf(x, columns), 1e-6);
}

TEST_P(Sizes, SoftmaxInPlace) {
  auto x = randomFloats(elements);
  auto want = softmaxOf(x, columns);
  KernelRunner kernels(softmax(matrix, column), "host", {{"softmax", {0}}});
  kernels.run("softmax", {x.data()});
  expectNear(x, want, 1e-6);
}

TEST_P(Sizes, SumOverLeadingDimension) {
  auto g = randomFloats(elements);
  std::vector<float> sum(columns, 99);
  KernelRunner kernels(
      function("f", {matrix}, {row},
               reduce("%s", "%0", matrix, row, "(i, j) -> (j)",
                      {"reduction", "parallel"}, "arith.addf", "0.0"),
               {"%s"}));
  kernels.run("f", {g.data(), sum.data()});
  for (int j = 0; j < columns; ++j) {
    float want = 0;
    for (int i = 0; i < rows; ++i)
      want += g[i * columns + j];
    // Rows are added in order; a single column is contiguous, as a row is.
    EXPECT_NEAR(sum[j], want, columns == 1 ? 1e-5 : 0) << "column " << j;
  }
}

/// The gradient of a bias, rounded and added to that of other micro-batches,
/// beside what the rows are made of.
TEST_P(Sizes, SumOverLeadingDimensionIsAddedInPlace) {
  auto x = randomFloats(elements), total = randomFloats(columns, 3);
  std::vector<float> before = total, y(elements);
  std::string text =
      function("f", {matrix, row}, {matrix, row},
               elementwise("%y", {"%0"}, matrix, "arith.mulf %a0, %a0") +
                   reduce("%s", "%y", matrix, row, "(i, j) -> (j)",
                          {"reduction", "parallel"}, "arith.addf", "0.0") +
                   elementwise("%n", {"%s"}, row, "arith.negf %a0") +
                   elementwise("%t", {"%1", "%n"}, row, "arith.addf %a0, %a1"),
               {"%y", "%t"});
  KernelRunner(text, "host", {{"f", {-1, 1}}})
      .run("f", {x.data(), total.data(), y.data()});
  for (int j = 0; j < columns; ++j) {
    float sum = 0;
    for (int i = 0; i < rows; ++i)
      sum += x[i * columns + j] * x[i * columns + j];
    EXPECT_NEAR(total[j], before[j] - sum, columns == 1 ? 1e-6 * sum : 0)
        << "column " << j;
  }
}

/// A loss over rows: sum_i log sum_j exp x_ij, and the softmax beside it.
TEST_P(Sizes, RowReductionsThenSumOverRows) {
  auto x = randomFloats(elements);
  std::vector<float> y(elements), loss(1);
  std::string scalar = "tensor<f32>";
  std::string text = function(
      "f", {matrix}, {matrix, scalar},
      elementwise("%e", {"%0"}, matrix, "math.exp %a0") +
          reduce("%sum", "%e", matrix, column, "(i, j) -> (i)",
                 {"parallel", "reduction"}, "arith.addf", "0.0") +
          broadcast("%sums", "%sum", column, matrix, "(i, j) -> (i)") +
          elementwise("%y", {"%e", "%sums"}, matrix, "arith.divf %a0, %a1") +
          elementwise("%log", {"%sum"}, column, "math.log %a0") +
          reduce("%loss", "%log", column, scalar, "(i) -> ()", {"reduction"},
                 "arith.addf", "0.0"),
      {"%y", "%loss"});
  KernelRunner(text).run("f", {x.data(), y.data(), loss.data()});
  double want = 0;
  for (int i = 0; i < rows; ++i) {
    double sum = 0;
    for (int j = 0; j < columns; ++j)
      sum += std::exp(double(x[i * columns + j]));
    want += std::log(sum);
  }
  expectNear(loss, {want}, 1e-5);
  expectNear(y, softmaxOf(x, columns), 1e-6);
}

TEST_P(Sizes, SumOfEverything) {
  auto x = randomFloats(elements);
  std::vector<float> sum(1);
  std::string text =
      function("f", {matrix}, {"tensor<f32>"},
               reduce("%s", "%0", matrix, "tensor<f32>", "(i, j) -> ()",
                      {"reduction", "reduction"}, "arith.addf", "0.0"),
               {"%s"});
  KernelRunner(text).run("f", {x.data(), sum.data()});
  expectNear(sum, {std::accumulate(x.begin(), x.end(), 0.0)}, 1e-5);
}

TEST_P(Sizes, TransposePlusMatrix) {
  auto x = randomFloats(elements), z = randomFloats(elements, 2);
  std::vector<float> y(elements);
  std::string flipped = tensor({columns, rows}, "f32");
  std::string text = function(
      "f", {matrix, flipped}, {flipped},
      broadcast("%t", "%0", matrix, flipped, "(i, j) -> (j, i)") +
          elementwise("%y", {"%t", "%1"}, flipped, "arith.addf %a0, %a1"),
      {"%y"});
  KernelRunner(text).run("f", {x.data(), z.data(), y.data()});
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      EXPECT_EQ(y[j * rows + i], x[i * columns + j] + z[j * rows + i]);
}

TEST_P(Sizes, MomentumUpdateInPlace) {
  auto p = randomFloats(elements), m = randomFloats(elements, 2),
       g = randomFloats(elements, 3);
  auto oldP = p, oldM = m;
  std::string text = function(
      "sgd", {matrix, matrix, matrix}, {matrix, matrix},
      splat("%mu", "0.9", matrix) + splat("%lr", "0.01", matrix) +
          elementwise("%d", {"%1", "%mu"}, matrix, "arith.mulf %a0, %a1") +
          elementwise("%m", {"%d", "%2"}, matrix, "arith.addf %a0, %a1") +
          elementwise("%u", {"%m", "%lr"}, matrix, "arith.mulf %a0, %a1") +
          elementwise("%p", {"%0", "%u"}, matrix, "arith.subf %a0, %a1"),
      {"%p", "%m"});
  KernelRunner kernels(text, "host", {{"sgd", {0, 1}}});
  kernels.run("sgd", {p.data(), m.data(), g.data()});
  for (int64_t i = 0; i < elements; ++i) {
    float wantM = oldM[i] * 0.9f;
    wantM = wantM + g[i];
    float step = wantM * 0.01f;
    EXPECT_EQ(m[i], wantM);
    EXPECT_EQ(p[i], oldP[i] - step) << "two roundings, not one";
  }
}

TEST_P(Sizes, IotaHash) {
  std::string ints = tensor({rows, columns}, "i32");
  std::vector<int32_t> y(elements);
  std::string text = function(
      "f", {}, {ints},
      generate("%row", ints, "linalg.index 0") +
          generate("%col", ints, "linalg.index 1") +
          elementwise("%y", {"%row", "%col"}, ints, R"(arith.constant 16 : i32
      %n = arith.constant 2654435 : i32
      %p = arith.muli %a0, %n : i32
      %q = arith.addi %p, %a1 : i32
      %h = arith.shrui %q, %r : i32
      %z = arith.xori %q, %h)"),
      {"%y"});
  KernelRunner(text).run("f", {y.data()});
  for (int64_t i = 0; i < elements; ++i) {
    uint32_t n = uint32_t(i / columns) * 2654435u + uint32_t(i % columns);
    EXPECT_EQ(uint32_t(y[i]), n ^ (n >> 16)) << "element " << i;
  }
}

TEST_P(Sizes, SixteenBitsAreRoundedAtEachOperation) {
  struct Format {
    const char *element;
    float (*value)(uint16_t);
    uint16_t (*bits)(float);
    int one;
  };
  for (const Format &f : {Format{"bf16", fromBf16, toBf16, 0x3f80},
                          Format{"f16", fromHalf, toHalf, 0x3c00}}) {
    std::string halves = tensor({rows, columns}, f.element);
    std::vector<uint16_t> x(elements), y(elements), z(elements);
    for (int64_t i = 0; i < elements; ++i) {
      x[i] = f.one + i * 37 % 512;
      y[i] = (0x7f80 + f.one) + i * 91 % 256;
    }
    std::string text = function(
        "f", {halves, halves}, {halves},
        elementwise("%z", {"%0", "%1"}, halves, "arith.addf %a0, %a1"), {"%z"});
    KernelRunner(text).run("f", {x.data(), y.data(), z.data()});
    for (int64_t i = 0; i < elements; ++i)
      EXPECT_EQ(z[i], f.bits(f.value(x[i]) + f.value(y[i]))) << f.element;
  }
}

TEST_P(Sizes, PredicatesAreBytes) {
  std::string flags = tensor({rows, columns}, "i1");
  auto x = randomFloats(elements);
  std::vector<uint8_t> given(elements), isBoth(elements, 7);
  std::vector<float> y(elements);
  for (int64_t i = 0; i < elements; ++i)
    given[i] = i % 3 == 0;
  std::string text = function(
      "f", {matrix, flags}, {flags, matrix},
      splat("%zero", "0.0", matrix) +
          mixed("%less", {"%0", "%zero"}, {matrix, matrix}, flags,
                "arith.cmpf olt, %a0, %a1 : f32") +
          elementwise("%both", {"%less", "%1"}, flags, "arith.andi %a0, %a1") +
          mixed("%y", {"%both", "%0", "%zero"}, {flags, matrix, matrix}, matrix,
                "arith.select %a0, %a1, %a2 : f32"),
      {"%both", "%y"});
  KernelRunner(text).run("f",
                         {x.data(), given.data(), isBoth.data(), y.data()});
  for (int64_t i = 0; i < elements; ++i) {
    EXPECT_EQ(isBoth[i], x[i] < 0 && given[i] ? 1 : 0);
    EXPECT_EQ(y[i], isBoth[i] ? x[i] : 0);
  }
}

TEST_P(Sizes, WideTypes) {
  std::string doubles = tensor({rows, columns}, "f64"),
              longs = tensor({rows, columns}, "i64");
  std::vector<int64_t> x(elements);
  std::iota(x.begin(), x.end(), int64_t(1) << 40);
  std::vector<double> y(elements), sums(rows);
  std::string perRow = tensor({rows}, "f64");
  std::string text = function(
      "f", {longs}, {doubles, perRow},
      mixed("%y", {"%0"}, {longs}, doubles, "arith.sitofp %a0 : i64 to f64") +
          reduce("%s", "%y", doubles, perRow, "(i, j) -> (i)",
                 {"parallel", "reduction"}, "arith.addf", "0.0"),
      {"%y", "%s"});
  KernelRunner(text).run("f", {x.data(), y.data(), sums.data()});
  for (int64_t i = 0; i < elements; ++i)
    EXPECT_EQ(y[i], double(x[i]));
  for (int i = 0; i < rows; ++i)
    EXPECT_EQ(sums[i], std::accumulate(y.begin() + i * columns,
                                       y.begin() + (i + 1) * columns, 0.0))
        << "integers below 2^53 add up exactly in any order";
}

/// Rows of a reshaped tensor are the rows of the tensor.
TEST_P(Sizes, ReshapeBetweenOperations) {
  std::string split = tensor({2, rows, columns}, "f32"),
              joined = tensor({2 * rows, columns}, "f32"),
              perRow = tensor({2 * rows}, "f32");
  auto x = randomFloats(2 * elements), b = randomFloats(2 * rows, 2);
  std::vector<float> y(2 * elements);
  std::string text = function(
      "f", {split, perRow}, {split},
      elementwise("%a", {"%0"}, split, "arith.addf %a0, %a0") +
          "%c = tensor.collapse_shape %a [[0, 1], [2]] : " + split + " into " +
          joined + "\n" +
          reduce("%s", "%c", joined, perRow, "(i, j) -> (i)",
                 {"parallel", "reduction"}, "arith.maximumf", "0xFF800000") +
          elementwise("%t", {"%s", "%1"}, perRow, "arith.addf %a0, %a1") +
          broadcast("%u", "%t", perRow, joined, "(i, j) -> (i)") +
          elementwise("%v", {"%c", "%u"}, joined, "arith.subf %a0, %a1") +
          "%y = tensor.expand_shape %v [[0, 1], [2]] output_shape [2, " +
          std::to_string(rows) + ", " + std::to_string(columns) +
          "] : " + joined + " into " + split + "\n",
      {"%y"});
  KernelRunner(text).run("f", {x.data(), b.data(), y.data()});
  for (int i = 0; i < 2 * rows; ++i) {
    const float *first = &x[i * columns];
    float largest = 2 * *std::max_element(first, first + columns);
    for (int j = 0; j < columns; ++j)
      EXPECT_EQ(y[i * columns + j], 2 * first[j] - (largest + b[i]));
  }
}

TEST_P(Sizes, ReduceMiddleDimension) {
  std::string cube = tensor({rows, 3, columns}, "f32");
  auto x = randomFloats(3 * elements);
  std::vector<float> y(elements);
  std::string text = function(
      "f", {cube}, {matrix},
      reduce("%s", "%0", cube, matrix, "(i, j, k) -> (i, k)",
             {"parallel", "reduction", "parallel"}, "arith.addf", "0.0"),
      {"%s"});
  KernelRunner(text).run("f", {x.data(), y.data()});
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < columns; ++k)
      EXPECT_NEAR(y[i * columns + k],
                  0.0f + x[i * 3 * columns + k] + x[(i * 3 + 1) * columns + k] +
                      x[(i * 3 + 2) * columns + k],
                  columns == 1 ? 1e-6 : 0);
}

TEST_P(Sizes, ConcatenateColumnsAndRows) {
  std::string wide = tensor({rows, 2 * columns + 1}, "f32");
  std::string tall = tensor({2 * rows, columns}, "f32");
  auto a = randomFloats(elements), b = randomFloats(elements + rows, 2);
  std::vector<float> y(a.size() + b.size()), z(2 * elements);
  std::string more = tensor({rows, columns + 1}, "f32");
  std::string text = function(
      "f", {matrix, more}, {wide, tall},
      "%c = tensor.concat dim(1) %0, %1 : (" + matrix + ", " + more + ") -> " +
          wide + "\n" + elementwise("%y", {"%c"}, wide, "arith.negf %a0") +
          elementwise("%n", {"%0"}, matrix, "arith.negf %a0") +
          "%z = tensor.concat dim(0) %0, %n : (" + matrix + ", " + matrix +
          ") -> " + tall + "\n",
      {"%y", "%z"});
  KernelRunner(text).run("f", {a.data(), b.data(), y.data(), z.data()});
  int width = 2 * columns + 1;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < width; ++j)
      EXPECT_EQ(y[i * width + j],
                -(j < columns ? a[i * columns + j]
                              : b[i * (columns + 1) + j - columns]));
    for (int j = 0; j < columns; ++j) {
      EXPECT_EQ(z[i * columns + j], a[i * columns + j]);
      EXPECT_EQ(z[(rows + i) * columns + j], -a[i * columns + j]);
    }
  }
}

/// Lanes of both pieces meet in one vector; bf16 is chosen without arithmetic.
TEST_P(Sizes, ConcatenateComputedBf16) {
  std::string halves = tensor({rows, columns}, "bf16"),
              wide = tensor({rows, columns + 3}, "bf16"),
              three = tensor({rows, 3}, "bf16");
  auto x = randomFloats(elements);
  std::vector<uint16_t> y(rows * (columns + 3));
  std::string text = function(
      "f", {matrix}, {wide},
      mixed("%h", {"%0"}, {matrix}, halves, "arith.truncf %a0 : f32 to bf16") +
          splat("%c", "0.5", three) + "%y = tensor.concat dim(1) %c, %h : (" +
          three + ", " + halves + ") -> " + wide + "\n",
      {"%y"});
  KernelRunner(text).run("f", {x.data(), y.data()});
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns + 3; ++j)
      EXPECT_EQ(y[i * (columns + 3) + j],
                j < 3 ? toBf16(0.5f) : toBf16(x[i * columns + j - 3]))
          << i << ", " << j;
}

TEST_P(Sizes, StridedSlice) {
  std::string half = tensor({rows, (columns + 1) / 2}, "f32");
  auto x = randomFloats(elements);
  int width = (columns + 1) / 2;
  std::vector<float> y(rows * width);
  std::string text = function(
      "f", {matrix}, {half},
      "%s = tensor.extract_slice %0[0, 0] [" + std::to_string(rows) + ", " +
          std::to_string(width) + "] [1, 2] : " + matrix + " to " + half +
          "\n" + elementwise("%y", {"%s"}, half, "arith.negf %a0"),
      {"%y"});
  KernelRunner(text).run("f", {x.data(), y.data()});
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < width; ++j)
      EXPECT_EQ(y[i * width + j], -x[i * columns + 2 * j]);
}

/// Each device takes its own part: the second argument is its position.
TEST_P(Sizes, SliceAtPosition) {
  std::string whole = tensor({3 * rows, columns}, "f32");
  auto x = randomFloats(3 * elements);
  std::string text = "func.func private @f(%0: " + whole +
                     ", %1: tensor<i32> {weft.position}) -> " + matrix + R"( {
    %n = tensor.extract %1[] : tensor<i32>
    %i = arith.index_cast %n : i32 to index
    %r = arith.constant )" +
                     std::to_string(rows) + R"( : index
    %o = arith.muli %i, %r : index
    %y = tensor.extract_slice %0[%o, 0] [)" +
                     std::to_string(rows) + ", " + std::to_string(columns) +
                     "] [1, 1] : " + whole + " to " + matrix +
                     "\n return %y : " + matrix + "\n}";
  KernelRunner kernels(text);
  for (int position = 0; position < 3; ++position) {
    std::vector<float> y(elements);
    kernels.run("f", {x.data(), y.data()}, {position});
    for (int64_t i = 0; i < elements; ++i)
      EXPECT_EQ(y[i], x[position * elements + i]);
  }
}

/// A slice, and what is added to it, each over an operand; from 64 columns on
/// both are written in one loop.
TEST_P(Sizes, SliceBesideAnotherResultInPlace) {
  if (rows == 1)
    return;
  std::string whole = tensor({2 * rows, columns}, "f32");
  auto x = randomFloats(2 * elements), a = randomFloats(elements, 3),
       b = randomFloats(elements, 5);
  const std::vector<float> before = a, beside = b;
  std::string text = function(
      "f", {whole, matrix, matrix}, {matrix, matrix},
      elementwise("%m", {"%1", "%2"}, matrix, "arith.addf %a0, %a1") +
          "%s = tensor.extract_slice %0[" + std::to_string(rows) + ", 0] [" +
          std::to_string(rows) + ", " + std::to_string(columns) +
          "] [1, 1] : " + whole + " to " + matrix + "\n" +
          elementwise("%y", {"%s", "%m"}, matrix, "arith.subf %a0, %a1"),
      {"%m", "%y"});
  const bool areOne = columns >= 64;
  std::vector<float> m(elements);
  std::vector<void *> buffers = {x.data(), a.data(), b.data()};
  if (!areOne)
    buffers.push_back(m.data());
  KernelRunner kernels(text, "host", {{"f", {areOne ? 1 : -1, 2}}});
  ASSERT_TRUE(kernels.compiled()) << kernels.messages();
  kernels.run("f", buffers);
  for (int64_t i = 0; i < elements; ++i) {
    EXPECT_EQ(areOne ? a[i] : m[i], before[i] + beside[i]);
    EXPECT_EQ(b[i], x[elements + i] - (before[i] + beside[i]));
  }
}

TEST_P(Sizes, TableOfConstants) {
  std::string values;
  for (int j = 0; j < columns; ++j)
    values += (j ? ", " : "") + std::to_string(j * j) + ".5";
  auto x = randomFloats(elements);
  std::vector<float> y(elements);
  std::string text = function(
      "f", {matrix}, {matrix},
      "%t = arith.constant dense<[" + values + "]> : " + row + "\n" +
          broadcast("%b", "%t", row, matrix, "(i, j) -> (j)") +
          elementwise("%y", {"%0", "%b"}, matrix, "arith.addf %a0, %a1"),
      {"%y"});
  KernelRunner(text).run("f", {x.data(), y.data()});
  for (int64_t i = 0; i < elements; ++i) {
    int j = i % columns;
    EXPECT_EQ(y[i], x[i] + float(j * j + 0.5));
  }
}

/// Of rows that end anywhere in a vector, in types narrower than that in which
/// they are computed.
TEST(Kernels, NothingIsStoredBehindTheEnd) {
  const std::pair<const char *, const char *> expressions[] = {
      {"bf16", "arith.truncf %a0 : f32 to bf16"},
      {"f16", "arith.truncf %a0 : f32 to f16"},
      {"i1", "arith.cmpf olt, %a0, %a0 : f32"}};
  for (auto [element, expression] : expressions)
    for (int64_t size = 1; size <= 33; ++size) {
      SCOPED_TRACE(element + std::string(", ") + std::to_string(size));
      std::string in = tensor({size}, "f32"), out = tensor({size}, element);
      KernelRunner kernels(function("f", {in}, {out},
                                    mixed("%y", {"%0"}, {in}, out, expression),
                                    {"%y"}));
      ASSERT_TRUE(kernels.compiled()) << kernels.messages();
      auto x = randomFloats(size);
      constexpr uint8_t untouched = 0xab;
      std::vector<uint8_t> y(256, untouched);
      kernels.run("f", {x.data(), y.data()});
      size_t end = size * (element == std::string("i1") ? 1 : 2);
      EXPECT_NE(y[end - 1], untouched);
      for (size_t i = end; i < y.size(); ++i)
        ASSERT_EQ(y[i], untouched) << "byte " << i;
    }
}

} // namespace
