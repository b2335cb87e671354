//===- ConvolutionTest.cpp - Convolutions on a CPU --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/Convolution.h"
#include "cpu/ThreadTeam.h"

#include "PlanBuilder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace weft::runtime {
namespace {

/// [batch, spatial.., features] and [spatial.., features of a group, result's
/// features], or, `transposed`, with batch and features of lhs exchanged, as
/// the derivative by a kernel has them.
struct Case {
  int64_t groups = 1, batch = 1, inputFeatures = 1, outputFeatures = 1;
  std::vector<ConvolutionWindow> windows;
  bool transposed = false;
};

/// A dimension with as many windows as there are.
ConvolutionWindow window(int64_t lhs, int64_t rhs, int64_t stride = 1,
                         int64_t low = 0, int64_t high = 0,
                         int64_t lhsDilation = 1, int64_t rhsDilation = 1) {
  const int64_t room = (lhs - 1) * lhsDilation + 1 + low + high;
  const int64_t span = (rhs - 1) * rhsDilation + 1;
  return {lhs,         rhs,        (room - span) / stride + 1, stride, low,
          lhsDilation, rhsDilation};
}

struct Sizes {
  int64_t lhs, rhs, out;
};

/// Strides of dense tensors.
Sizes layOut(const Case &c, ConvolutionProblem &p) {
  const int64_t last = c.transposed ? c.batch : c.groups * c.inputFeatures;
  int64_t lhs = last, rhs = c.inputFeatures * c.groups * c.outputFeatures,
          out = c.groups * c.outputFeatures;
  p = {{c.groups, c.inputFeatures, c.outputFeatures, c.outputFeatures},
       {c.batch, 1, 0, 0},
       {c.inputFeatures, 1, c.groups * c.outputFeatures, 0},
       {c.outputFeatures, 0, 1, 1},
       c.windows};
  for (size_t i = p.windows.size(); i-- > 0;) {
    ConvolutionWindow &w = p.windows[i];
    w.lhsStride = std::exchange(lhs, lhs * w.lhs);
    w.rhsStride = std::exchange(rhs, rhs * w.rhs);
    w.outStride = std::exchange(out, out * w.out);
  }
  p.batch.out = out;
  if (c.transposed) {
    p.inputFeatures.lhs = lhs;
    p.groups.lhs = c.inputFeatures * lhs;
  } else {
    p.batch.lhs = lhs;
  }
  return {lhs * (c.transposed ? c.groups * c.inputFeatures : c.batch), rhs,
          out * c.batch};
}

/// Adds the products of all elements of the kernel from dimension `dim` on.
void addProducts(const ConvolutionProblem &p, const float *lhs,
                 const float *rhs, const std::vector<int64_t> &place,
                 size_t dim, float &sum) {
  if (dim == p.windows.size()) {
    for (int64_t k = 0; k < p.inputFeatures.size; ++k)
      sum += lhs[k * p.inputFeatures.lhs] * rhs[k * p.inputFeatures.rhs];
    return;
  }
  const ConvolutionWindow &w = p.windows[dim];
  for (int64_t k = 0; k < w.rhs; ++k) {
    const int64_t at = place[dim] * w.stride + k * w.rhsDilation - w.low;
    if (at % w.lhsDilation == 0 && at >= 0 && at / w.lhsDilation < w.lhs)
      addProducts(p, lhs + at / w.lhsDilation * w.lhsStride,
                  rhs + k * w.rhsStride, place, dim + 1, sum);
  }
}

/// Compares with nested loops; small integers have the same sums in any order.
void check(const Case &c, decltype(bindConvolution) *bind, int threads) {
  ConvolutionProblem p;
  const Sizes sizes = layOut(c, p);
  std::mt19937 random(1);
  const auto integers = [&](int64_t size) {
    std::vector<float> values(size);
    for (float &value : values)
      value = static_cast<float>(random() % 5) - 2;
    return values;
  };
  const std::vector<float> lhs = integers(sizes.lhs), rhs = integers(sizes.rhs);
  std::vector<float> out = integers(sizes.out);
  ThreadTeam team(threads);
  const auto bound = bind(p, {lhs.data(), rhs.data(), out.data()}, team);
  if (!bound)
    return; // oneDNN has no fast implementation of it here
  void *scratchpad =
      std::aligned_alloc(64, bound->scratchpadBytes() / 64 * 64 + 64);
  ASSERT_TRUE(bound->bindScratchpad(scratchpad).ok());
  ASSERT_TRUE(bound->run().ok());
  std::free(scratchpad);

  std::vector<int64_t> place(p.windows.size(), 0);
  do {
    int64_t offset = 0;
    for (size_t i = 0; i < place.size(); ++i)
      offset += place[i] * p.windows[i].outStride;
    for (int64_t g = 0; g < c.groups; ++g)
      for (int64_t b = 0; b < c.batch; ++b)
        for (int64_t j = 0; j < c.outputFeatures; ++j) {
          float sum = 0;
          addProducts(p, lhs.data() + g * p.groups.lhs + b * p.batch.lhs,
                      rhs.data() + g * p.groups.rhs + j * p.outputFeatures.rhs,
                      place, 0, sum);
          ASSERT_EQ(out[g * p.groups.out + b * p.batch.out +
                        j * p.outputFeatures.out + offset],
                    sum)
              << "group " << g << ", batch " << b << ", feature " << j
              << ", offset " << offset;
        }
    size_t i = 0;
    while (i < place.size() && ++place[i] == p.windows[i].out)
      place[i++] = 0;
    if (i == place.size())
      break;
  } while (true);
}

const std::vector<Case> cases = {
    {.batch = 2,
     .inputFeatures = 3,
     .outputFeatures = 5,
     .windows = {window(7, 3)}},
    {.batch = 3,
     .inputFeatures = 16,
     .outputFeatures = 40,
     .windows = {window(9, 3, 1, 1, 1), window(13, 3, 1, 1, 1)}},
    // More depth than is packed at once, and rows of several blocks.
    {.batch = 5,
     .inputFeatures = 33,
     .outputFeatures = 32,
     .windows = {window(12, 3, 1, 1, 1), window(11, 5, 1, 2, 2)}},
    // Strides, dilations, and elements that are cut off.
    {.batch = 2,
     .inputFeatures = 4,
     .outputFeatures = 33,
     .windows = {window(14, 3, 2, 1, 0), window(15, 3, 3, -1, 2, 1, 2)}},
    // Zeros between elements; some windows meet no element at all.
    {.batch = 2,
     .inputFeatures = 4,
     .outputFeatures = 6,
     .windows = {window(5, 3, 1, 2, 1, 2), window(6, 1, 1, 0, 1, 3)}},
    {.batch = 2,
     .inputFeatures = 4,
     .outputFeatures = 6,
     .windows = {window(7, 4, 2, 1, 3, 3, 2)}},
    {.batch = 1,
     .inputFeatures = 1,
     .outputFeatures = 32,
     .windows = {window(28, 5), window(28, 5)}},
    {.groups = 3,
     .batch = 2,
     .inputFeatures = 8,
     .outputFeatures = 16,
     .windows = {window(8, 3, 1, 1, 1), window(8, 3, 1, 1, 1)}},
    // The derivative by a kernel of 3 x 3, strides of 2.
    {.batch = 20,
     .inputFeatures = 4,
     .outputFeatures = 64,
     .windows = {window(16, 8, 1, 1, 0, 1, 2), window(16, 8, 1, 1, 0, 1, 2)},
     .transposed = true},
    {.batch = 2,
     .inputFeatures = 3,
     .outputFeatures = 8,
     .windows = {window(5, 2, 1, 1), window(4, 2), window(6, 3, 2, 1, 1)}},
    // No spatial dimension.
    {.batch = 5, .inputFeatures = 3, .outputFeatures = 8},
};

TEST(Convolution, IsTheSumOfProducts) {
  for (int threads : {1, 3})
    for (const Case &c : cases)
      check(c, bindWindowMatmuls, threads);
}

TEST(Convolution, IsTheSameByOneDnn) {
  for (int threads : {1, 2})
    for (const Case &c : cases)
      check(c, bindOneDnnConvolution, threads);
}

TEST(Convolution, IsTheSameInPlainCode) {
  for (const Case &c : cases)
    check(c, bindPlainConvolution, 1);
}

} // namespace
} // namespace weft::runtime
