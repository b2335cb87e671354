//===- VerifyConvolution.cpp - The fields of a convolution ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/PlanVerifier.h"
#include "plan/Text.h"
#include "weft/runtime/PlanFormat.h"

#include <algorithm>
#include <array>
#include <vector>

namespace weft::runtime {
namespace {

using Extents = std::vector<Extent>;

/// The dimensions of one of the tensors, of which its part of each window is
/// `window`.
using Numbers = flatbuffers::Vector<int64_t>;
template <typename Window>
Result<Extents> extentsOf(std::string_view what, const Numbers *strides,
                          std::array<int64_t, 3> sizes,
                          const plan::Convolution &convolution,
                          const Window &window) {
  if (!strides || strides->size() != 3)
    return invalidArgument(fmt::format("{} has {} strides, must have 3", what,
                                       strides ? strides->size() : 0));
  Extents extents;
  for (int i = 0; i < 3; ++i)
    extents.push_back({sizes[i], strides->Get(i)});
  for (const plan::ConvolutionWindow *w : *convolution.windows())
    extents.push_back(window(*w));
  return extents;
}

} // namespace

/// Numbers so small that no sum of products of two overflows.
static bool isSmall(int64_t number) {
  return number > -(int64_t(1) << 30) && number < int64_t(1) << 30;
}

static Status verifyExtents(const Operand &operand, std::string_view what,
                            const Extents &extents) {
  int64_t last = 0, count = 1;
  for (const Extent &extent : extents) {
    int64_t span;
    if (extent.size < 1 || extent.stride < 0)
      return invalidArgument(fmt::format(
          "{} has a dimension of {} elements with stride {}, must be at least "
          "1 and 0",
          what, extent.size, extent.stride));
    if (__builtin_mul_overflow(count, extent.size, &count) ||
        count > operand.elements)
      return invalidArgument(
          fmt::format("{} has more elements than buffer {}, which has {}", what,
                      operand.index, operand.elements));
    if (__builtin_mul_overflow(extent.size - 1, extent.stride, &span) ||
        __builtin_add_overflow(last, span, &last) || last >= operand.elements)
      return invalidArgument(
          fmt::format("{} reaches beyond the {} elements of buffer {}", what,
                      operand.elements, operand.index));
  }
  return {};
}

/// Whether each element of a written tensor is that of one index.
static bool coversAll(Extents extents, int64_t elements) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent &a, const Extent &b) {
              return std::pair(a.stride, a.size) < std::pair(b.stride, b.size);
            });
  int64_t covered = 1;
  for (const Extent &extent : extents) {
    if (extent.size == 1)
      continue;
    if (extent.stride != covered)
      return false;
    covered *= extent.size;
  }
  return covered == elements;
}

static Status verifyWindows(const plan::Convolution &convolution) {
  const auto *windows = convolution.windows();
  if (!windows || windows->size() > maxConvolutionDims)
    return invalidArgument(
        fmt::format("{} spatial dimensions, a convolution has at most {}",
                    windows ? windows->size() : 0, maxConvolutionDims));
  for (const plan::ConvolutionWindow *w : *windows) {
    const bool isValid =
        w->stride() >= 1 && w->lhs_dilation() >= 1 && w->rhs_dilation() >= 1 &&
        std::ranges::all_of(std::array{w->stride(), w->low(), w->lhs_dilation(),
                                       w->rhs_dilation(), w->out(), w->rhs()},
                            isSmall);
    if (!isValid)
      return invalidArgument(fmt::format(
          "a window with stride {}, low {}, dilations {} and {}, and {} places "
          "of {}, of which the stride and the dilations must be at least 1, "
          "and "
          "none beyond 2^30",
          w->stride(), w->low(), w->lhs_dilation(), w->rhs_dilation(), w->rhs(),
          w->out()));
  }
  return {};
}

Status verifyConvolution(const VerifiedHeader &header, const plan::Entry &entry,
                         const plan::Convolution &c,
                         std::vector<Touch> &touches) {
  if (view(header.plan.target()->kind()) == "cuda")
    return invalidArgument(
        "a convolution, which plans for \"cuda\" do not have");
  WEFT_ASSIGN_OR_RETURN(const Operand lhs, findOperand(entry, c.lhs(), "lhs"));
  WEFT_ASSIGN_OR_RETURN(const Operand rhs, findOperand(entry, c.rhs(), "rhs"));
  WEFT_ASSIGN_OR_RETURN(const Operand out, findOperand(entry, c.out(), "out"));
  for (const Operand &operand : {lhs, rhs, out})
    if (operand.dtype != DType::F32)
      return invalidArgument(fmt::format("buffer {} is {}, must be f32",
                                         operand.index, name(operand.dtype)));
  WEFT_RETURN_IF_ERROR(verifyWindows(c));
  using Window = plan::ConvolutionWindow;
  WEFT_ASSIGN_OR_RETURN(const Extents ofLhs,
                        extentsOf("lhs", c.lhs_strides(),
                                  {c.groups(), c.batch(), c.input_features()},
                                  c, [](const Window &w) {
                                    return Extent{w.lhs(), w.lhs_stride()};
                                  }));
  WEFT_ASSIGN_OR_RETURN(
      const Extents ofRhs,
      extentsOf(
          "rhs", c.rhs_strides(),
          {c.groups(), c.input_features(), c.output_features()}, c,
          [](const Window &w) { return Extent{w.rhs(), w.rhs_stride()}; }));
  WEFT_ASSIGN_OR_RETURN(const Extents ofOut,
                        extentsOf("out", c.out_strides(),
                                  {c.groups(), c.batch(), c.output_features()},
                                  c, [](const Window &w) {
                                    return Extent{w.out(), w.out_stride()};
                                  }));
  WEFT_RETURN_IF_ERROR(verifyExtents(lhs, "lhs", ofLhs));
  WEFT_RETURN_IF_ERROR(verifyExtents(rhs, "rhs", ofRhs));
  WEFT_RETURN_IF_ERROR(verifyExtents(out, "out", ofOut));
  if (!coversAll(ofOut, out.elements))
    return invalidArgument(fmt::format(
        "out does not have each of the {} elements of buffer {} once",
        out.elements, out.index));
  if (out.index == lhs.index || out.index == rhs.index)
    return invalidArgument(
        fmt::format("out is buffer {}, which is also an operand", out.index));
  touches.push_back({lhs.index, true, false});
  touches.push_back({rhs.index, true, false});
  touches.push_back({out.index, false, true});
  return {};
}

} // namespace weft::runtime
