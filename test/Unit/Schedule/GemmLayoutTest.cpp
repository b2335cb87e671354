//===- GemmLayoutTest.cpp - Strides of matmuls ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/GemmLayout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace weft;
using testing::ElementsAre;

namespace {

StridedView view(std::initializer_list<StridedDim> dims) { return dims; }

TEST(StridedViews, RowMajorAndTransposed) {
  EXPECT_EQ(rowMajorView({4, 8, 2}), view({{4, 16}, {8, 2}, {2, 1}}));
  EXPECT_EQ(transposedView(rowMajorView({4, 8, 2}), {2, 0, 1}),
            view({{2, 1}, {4, 16}, {8, 2}}));
}

TEST(StridedViews, ReshapeMergesAndSplits) {
  EXPECT_EQ(reshapedView(rowMajorView({4, 8}), {32}), view({{32, 1}}));
  EXPECT_EQ(reshapedView(rowMajorView({32}), {4, 1, 8}),
            view({{4, 8}, {1, 1}, {8, 1}}));
  // Columns of a matrix in memory, cut in two.
  StridedView transposed = transposedView(rowMajorView({4, 8}), {1, 0});
  EXPECT_EQ(reshapedView(transposed, {2, 4, 4}),
            view({{2, 16 / 4}, {4, 1}, {4, 8}}));
  // Rows and columns of a transposed matrix are not one run.
  EXPECT_EQ(reshapedView(transposed, {32}), std::nullopt);
  EXPECT_EQ(reshapedView(rowMajorView({6, 4}), {4, 6}), view({{4, 6}, {6, 1}}));
}

/// dot_general of contiguous tensors; `bytes` are elements.
GemmProblem problem(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs,
                    llvm::ArrayRef<int64_t> out) {
  GemmProblem problem;
  problem.views = {rowMajorView(lhs), rowMajorView(rhs), rowMajorView(out)};
  for (int i = 0; i < 3; ++i) {
    problem.bytes[i] = 1;
    for (StridedDim dim : problem.views[i])
      problem.bytes[i] *= dim.size;
  }
  return problem;
}

TEST(GemmLayout, PlainMatrices) {
  GemmProblem p = problem({4, 16}, {16, 8}, {4, 8});
  p.indices[GemmM] = {{0, -1, 0}};
  p.indices[GemmN] = {{-1, 1, 1}};
  p.indices[GemmK] = {{1, 0, -1}};
  GemmLayout layout = chooseGemmLayout(p);
  EXPECT_THAT(layout.sizes, ElementsAre(1, 4, 8, 16));
  EXPECT_THAT(layout.strides[GemmLhs], ElementsAre(64, 16, 1));
  EXPECT_THAT(layout.strides[GemmRhs], ElementsAre(128, 8, 1));
  EXPECT_THAT(layout.strides[GemmOut], ElementsAre(32, 8, 1));
  EXPECT_EQ(layout.copiedBytes, 0);
}

TEST(GemmLayout, WeightGradientContractsTwoDims) {
  // x: 4x8x16, dy: 4x8x32 -> 16x32
  GemmProblem p = problem({4, 8, 16}, {4, 8, 32}, {16, 32});
  p.indices[GemmM] = {{2, -1, 0}};
  p.indices[GemmN] = {{-1, 2, 1}};
  p.indices[GemmK] = {{0, 0, -1}, {1, 1, -1}};
  GemmLayout layout = chooseGemmLayout(p);
  EXPECT_THAT(layout.sizes, ElementsAre(1, 16, 32, 32));
  EXPECT_THAT(layout.strides[GemmLhs], ElementsAre(512, 1, 16));
  EXPECT_THAT(layout.strides[GemmRhs], ElementsAre(1024, 32, 1));
  EXPECT_EQ(layout.copiedBytes, 0);
}

TEST(GemmLayout, FindsACommonOrderOfContractedDims) {
  // The dims are contracted in the other order than they lie in memory.
  GemmProblem p = problem({4, 3, 5}, {3, 5, 8}, {4, 8});
  p.indices[GemmM] = {{0, -1, 0}};
  p.indices[GemmN] = {{-1, 2, 1}};
  p.indices[GemmK] = {{2, 1, -1}, {1, 0, -1}};
  GemmLayout layout = chooseGemmLayout(p);
  EXPECT_THAT(layout.strides[GemmLhs], ElementsAre(60, 15, 1));
  EXPECT_EQ(layout.copiedBytes, 0);
}

TEST(GemmLayout, CopiesTheSmallerOperandWhereNoCommonOrderExists) {
  // k = (a, b): adjacent as ab in lhs (4 x 3 x 5), as ba in rhs (5 x 3 x 8).
  GemmProblem p = problem({4, 3, 5}, {5, 3, 8}, {4, 8});
  p.indices[GemmM] = {{0, -1, 0}};
  p.indices[GemmN] = {{-1, 2, 1}};
  p.indices[GemmK] = {{1, 1, -1}, {2, 0, -1}};
  GemmLayout layout = chooseGemmLayout(p);
  EXPECT_THAT(layout.copied, ElementsAre(true, false, false));
  EXPECT_EQ(layout.copiedBytes, 60);
  // lhs dims [m, b, a]: as rhs has them.
  EXPECT_THAT(layout.order[GemmLhs], ElementsAre(0, 2, 1));
  EXPECT_THAT(layout.strides[GemmLhs], ElementsAre(60, 15, 1));
}

TEST(GemmLayout, HeadsInsideTheRowsAreCopied) {
  // scores = q [b, s, h, d] . k [b, t, h, d] with batching b, h: the batch does
  // not collapse to one stride.
  GemmProblem p = problem({2, 8, 4, 16}, {2, 8, 4, 16}, {2, 4, 8, 8});
  p.indices[GemmBatch] = {{0, 0, 0}, {2, 2, 1}};
  p.indices[GemmM] = {{1, -1, 2}};
  p.indices[GemmN] = {{-1, 1, 3}};
  p.indices[GemmK] = {{3, 3, -1}};
  GemmLayout layout = chooseGemmLayout(p);
  EXPECT_THAT(layout.sizes, ElementsAre(8, 8, 8, 16));
  EXPECT_THAT(layout.copied, ElementsAre(true, true, false));
  EXPECT_THAT(layout.order[GemmLhs], ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(layout.strides[GemmLhs], ElementsAre(128, 16, 1));
  EXPECT_THAT(layout.strides[GemmOut], ElementsAre(64, 8, 1));
}

TEST(GemmLayout, VectorsHaveAUnitStride) {
  // x: 16 . w: 16x8 -> 8
  GemmProblem p = problem({16}, {16, 8}, {8});
  p.indices[GemmN] = {{-1, 1, 0}};
  p.indices[GemmK] = {{0, 0, -1}};
  GemmLayout layout = chooseGemmLayout(p);
  EXPECT_THAT(layout.sizes, ElementsAre(1, 1, 8, 16));
  EXPECT_THAT(layout.strides[GemmLhs], ElementsAre(16, 16, 1));
  EXPECT_THAT(layout.strides[GemmOut], ElementsAre(8, 8, 1));
  // Outer product: k is one iteration; lhs is a column.
  GemmProblem outer = problem({4}, {8}, {4, 8});
  outer.indices[GemmM] = {{0, -1, 0}};
  outer.indices[GemmN] = {{-1, 0, 1}};
  GemmLayout column = chooseGemmLayout(outer);
  EXPECT_THAT(column.sizes, ElementsAre(1, 4, 8, 1));
  EXPECT_THAT(column.strides[GemmLhs], ElementsAre(4, 1, 4));
  EXPECT_THAT(column.strides[GemmRhs], ElementsAre(8, 8, 1));
}

TEST(GemmLayout, BatchInTheMinorDimIsCopied) {
  // lhs: m x k x b
  GemmProblem p = problem({4, 8, 2}, {2, 8, 16}, {2, 4, 16});
  p.indices[GemmBatch] = {{2, 0, 0}};
  p.indices[GemmM] = {{0, -1, 1}};
  p.indices[GemmN] = {{-1, 2, 2}};
  p.indices[GemmK] = {{1, 1, -1}};
  GemmLayout layout = chooseGemmLayout(p);
  EXPECT_THAT(layout.copied, ElementsAre(true, false, false));
  EXPECT_THAT(layout.order[GemmLhs], ElementsAre(2, 0, 1));
}

} // namespace
