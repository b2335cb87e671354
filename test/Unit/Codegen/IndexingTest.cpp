//===- IndexingTest.cpp - Kernels that look elements up -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops with tensor.extract, and weft.scatter_add, against scalar references.
//
//===----------------------------------------------------------------------===//

#include "KernelText.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::test;
using ::testing::HasSubstr;

namespace {

/// Columns around the number of lanes.
class Columns : public ::testing::TestWithParam<int> {
protected:
  int columns = GetParam();
  static constexpr int rows = 5, count = 7;
  const std::vector<int32_t> indices = {3, 0, 4, 4, -2, 9, 1};
  std::string table = tensor({rows, columns}, "f32");
  std::string taken = tensor({count, columns}, "f32");
};
INSTANTIATE_TEST_SUITE_P(Indexing, Columns,
                         ::testing::Values(1, 7, 16, 17, 64, 100));

int clamp(int index, int size) {
  return std::min(std::max(index, 0), size - 1);
}

/// A loop over `taken` that reads %0 at a clamped index of %1 in each row.
std::string takeRows(const std::string &table, const std::string &taken,
                     int rows) {
  return generic("%y", {"%1"}, {"tensor<7xi32>"}, "%e", taken,
                 {"affine_map<(i, j) -> (i)>", "#m"}, {"parallel", "parallel"},
                 R"(%zero = arith.constant 0 : i32
      %last = arith.constant )" +
                     std::to_string(rows - 1) + R"( : i32
      %low = arith.maxsi %a0, %zero : i32
      %in = arith.minsi %low, %last : i32
      %at = arith.index_cast %in : i32 to index
      %j = linalg.index 1 : index
      %r = tensor.extract %t[%at, %j] : )" +
                     table,
                 "%r");
}

TEST_P(Columns, TakesRows) {
  auto x = randomFloats(rows * columns);
  std::vector<float> y(count * columns);
  auto at = indices;
  KernelRunner kernels(
      function("f", {table, "tensor<7xi32>"}, {taken},
               elementwise("%t", {"%0"}, table, "arith.negf %a0") +
                   "%e = tensor.empty() : " + taken + "\n" +
                   takeRows(table, taken, rows),
               {"%y"}));
  kernels.run("f", {x.data(), at.data(), y.data()});
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < columns; ++j)
      EXPECT_EQ(y[i * columns + j], -x[clamp(indices[i], rows) * columns + j])
          << i << ", " << j;
}

/// Each lane looks up an element of its own, as in take_along_axis.
TEST_P(Columns, TakesOneElementOfEachRow) {
  std::string transposed = tensor({columns, rows}, "f32"),
              labels = tensor({columns}, "i64"),
              picked = tensor({columns}, "f32");
  auto x = randomFloats(rows * columns);
  std::vector<int64_t> at(columns);
  std::vector<float> y(columns, 99);
  for (int i = 0; i < columns; ++i)
    at[i] = i * 3 % rows;
  KernelRunner kernels(
      function("f", {transposed, labels}, {picked},
               "%e = tensor.empty() : " + picked + "\n" +
                   generic("%y", {"%1"}, {labels}, "%e", picked, {"#v", "#v"},
                           {"parallel"},
                           R"(%at = arith.index_cast %a0 : i64 to index
      %i = linalg.index 0 : index
      %r = tensor.extract %0[%i, %at] : )" +
                               transposed,
                           "%r"),
               {"%y"}));
  kernels.run("f", {x.data(), at.data(), y.data()});
  for (int i = 0; i < columns; ++i)
    EXPECT_EQ(y[i], x[i * rows + at[i]]) << i;
}

/// A row that is looked up in a value that a reduction normalises: the sum must
/// be there before.
TEST_P(Columns, TakesFromWhatAReductionMade) {
  std::string column = tensor({rows}, "f32");
  auto x = randomFloats(rows * columns);
  std::vector<float> y(count * columns);
  auto at = indices;
  KernelRunner kernels(function(
      "f", {table, "tensor<7xi32>"}, {taken},
      reduce("%s", "%0", table, column, "(i, j) -> (i)",
             {"parallel", "reduction"}, "arith.maximumf", "0xFF800000") +
          broadcast("%b", "%s", column, table, "(i, j) -> (i)") +
          elementwise("%t", {"%0", "%b"}, table, "arith.subf %a0, %a1") +
          "%e = tensor.empty() : " + taken + "\n" +
          takeRows(table, taken, rows),
      {"%y"}));
  kernels.run("f", {x.data(), at.data(), y.data()});
  for (int i = 0; i < count; ++i) {
    const float *row = &x[clamp(indices[i], rows) * columns];
    float largest = *std::max_element(row, row + columns);
    for (int j = 0; j < columns; ++j)
      EXPECT_EQ(y[i * columns + j], row[j] - largest) << i << ", " << j;
  }
}

/// Rows are added in the order of the indices; those out of range are dropped.
TEST_P(Columns, AddsRows) {
  auto u = randomFloats(count * columns);
  std::vector<float> sums(rows * columns, 99), want(rows * columns);
  auto at = indices;
  KernelRunner kernels(
      function("f", {taken, "tensor<7xi32>"}, {table},
               elementwise("%u", {"%0"}, taken, "arith.addf %a0, %a0") +
                   "%s = weft.scatter_add %u, %1 dim = 0 : (" + taken +
                   ", tensor<7xi32>) -> " + table + "\n",
               {"%s"}));
  kernels.run("f", {u.data(), at.data(), sums.data()});
  for (int i = 0; i < count; ++i)
    if (indices[i] >= 0 && indices[i] < rows)
      for (int j = 0; j < columns; ++j)
        want[indices[i] * columns + j] += 2 * u[i * columns + j];
  EXPECT_EQ(sums, want);
}

/// The transpose of take_along_axis: columns of a row go to indices of this
/// row.
TEST_P(Columns, AddsWithinEachRow) {
  std::string sums = tensor({columns, 4}, "i32"),
              updates = tensor({columns, 3}, "i32"),
              indices = tensor({columns, 3}, "i64");
  std::vector<int32_t> u(columns * 3), got(columns * 4, 99), want(columns * 4);
  std::vector<int64_t> at(columns * 3);
  for (int i = 0; i < columns * 3; ++i) {
    u[i] = i + 1;
    at[i] = i % 5;
    if (at[i] < 4)
      want[i / 3 * 4 + at[i]] += u[i];
  }
  KernelRunner kernels(
      function("f", {updates, indices}, {sums},
               "%s = weft.scatter_add %0, %1 dim = 1 batching = [0] x [0] : (" +
                   updates + ", " + indices + ") -> " + sums + "\n",
               {"%s"}));
  kernels.run("f", {u.data(), at.data(), got.data()});
  EXPECT_EQ(got, want);
}

/// One index for everything, in the middle of a table.
TEST_P(Columns, AddsAtOneIndex) {
  std::string sums = tensor({2, 3, columns}, "f64"),
              updates = tensor({2, columns}, "f64");
  std::vector<double> u(2 * columns), got(6 * columns, 99), want(6 * columns);
  std::vector<int32_t> at = {1};
  for (int i = 0; i < 2 * columns; ++i) {
    u[i] = i + 1;
    want[(i / columns * 3 + 1) * columns + i % columns] = u[i];
  }
  KernelRunner kernels(function("f", {updates, "tensor<i32>"}, {sums},
                                "%s = weft.scatter_add %0, %1 dim = 1 : (" +
                                    updates + ", tensor<i32>) -> " + sums +
                                    "\n",
                                {"%s"}));
  kernels.run("f", {u.data(), at.data(), got.data()});
  EXPECT_EQ(got, want);
}

TEST(Scatter, NeverTakesTheBufferOfItsUpdates) {
  KernelRunner kernels(function(
      "f", {"tensor<4xf32>", "tensor<4xi32>"}, {"tensor<4xf32>"},
      "%s = weft.scatter_add %0, %1 dim = 0 : (tensor<4xf32>, tensor<4xi32>) "
      "-> tensor<4xf32>\n",
      {"%s"}));
  ASSERT_TRUE(kernels.compiled()) << kernels.messages();
  EXPECT_FALSE(weft::mayShareBuffer(kernels.function("f"), 0, 0));
}

TEST(Scatter, SumsOfBf16AreRejected) {
  KernelRunner kernels(function(
      "f", {"tensor<4xbf16>", "tensor<4xi32>"}, {"tensor<9xbf16>"},
      "%s = weft.scatter_add %0, %1 dim = 0 : (tensor<4xbf16>, tensor<4xi32>) "
      "-> tensor<9xbf16>\n",
      {"%s"}));
  EXPECT_THAT(kernels.messages(),
              HasSubstr("adds up 'bf16', which would round at every step; "
                        "convert the updates to f32 and the result back"));
}

TEST(Scatter, IncompleteSumsAreRejected) {
  KernelRunner kernels(function(
      "f", {"tensor<4xf32>", "tensor<4xi32>"}, {"tensor<9xf32>"},
      "%s = weft.scatter_add %0, %1 dim = 0 : (tensor<4xf32>, tensor<4xi32>) "
      "-> tensor<9xf32>\n" +
          elementwise("%y", {"%s"}, "tensor<9xf32>", "arith.negf %a0"),
      {"%y"}));
  EXPECT_THAT(kernels.messages(),
              HasSubstr("is used by linalg.generic in its kernel, but its sums "
                        "are complete only at the end; return it and use it "
                        "in another kernel"));
}

} // namespace
