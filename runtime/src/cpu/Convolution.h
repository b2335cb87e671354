//===- Convolution.h - Convolutions on a CPU --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution of a plan, bound to the memory it works on: by oneDNN, when
// built with it, where it has fast code and there are images for all threads;
// else as matmuls whose rows are windows, by tiles of WindowTile.h where the
// processor has them, or in plain C++. Where lhs then has zeros between its
// elements, there is a matmul for each position that a window may have among
// them, with those elements of the kernel that meet no zeros.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_CONVOLUTION_H
#define WEFT_RUNTIME_SRC_CPU_CONVOLUTION_H

#include "cpu/BoundOperation.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace weft::runtime {

class ThreadTeam;

/// As plan::ConvolutionDim says: one step along a dimension, in elements of
/// the three tensors.
struct ConvolutionDim {
  int64_t size, lhs, rhs, out;
};

/// As plan::ConvolutionWindow says.
struct ConvolutionWindow {
  int64_t lhs, rhs, out;
  int64_t stride, low, lhsDilation, rhsDilation;
  int64_t lhsStride, rhsStride, outStride;
};

/// As plan::Convolution says, in f32.
struct ConvolutionProblem {
  ConvolutionDim groups, batch, inputFeatures, outputFeatures;
  std::vector<ConvolutionWindow> windows;
};

struct ConvolutionOperands {
  const float *lhs, *rhs;
  float *out;
};

std::unique_ptr<BoundOperation>
bindConvolution(const ConvolutionProblem &problem,
                const ConvolutionOperands &operands, ThreadTeam &team);

/// By oneDNN, or null when it has no fast implementation of the problem here or
/// this build is without it.
std::unique_ptr<BoundOperation>
bindOneDnnConvolution(const ConvolutionProblem &problem,
                      const ConvolutionOperands &operands, ThreadTeam &team);

/// As matmuls of windows.
std::unique_ptr<BoundOperation>
bindWindowMatmuls(const ConvolutionProblem &problem,
                  const ConvolutionOperands &operands, ThreadTeam &team);

/// The same in plain C++, whatever the processor: what tests compare with.
std::unique_ptr<BoundOperation>
bindPlainConvolution(const ConvolutionProblem &problem,
                     const ConvolutionOperands &operands, ThreadTeam &team);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_CONVOLUTION_H
