//===- ProductCosts.cpp - The matmuls that ops are ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Those of groups of rows are in GroupedOps.cpp.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ClusterCost.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"
#include "weft/IR/WindowOps.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace weft;

static int64_t productOf(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

/// One for each element of the batch.
cost::Gemm DotGeneralOp::getGemm() {
  auto product = [](Value value, ArrayRef<int64_t> dims) {
    int64_t elements = 1;
    for (int64_t dim : dims)
      elements *= typeOf(value).getDimSize(dim);
    return elements;
  };
  cost::Gemm gemm;
  gemm.m = product(getLhs(), getLhsFree());
  gemm.n = product(getRhs(), getRhsFree());
  gemm.k = product(getLhs(), getLhsContracting());
  gemm.batch = product(getLhs(), getLhsBatching());
  gemm.precision = precisionOf(getLhs().getType().getElementType());
  return gemm;
}

/// Of windows with the kernel, one for each group. Where elements of lhs are
/// apart, windows meet so many fewer.
static cost::Gemm gemmOfWindows(int64_t groups, int64_t rows, int64_t columns,
                                int64_t depth, ArrayRef<int64_t> lhsDilation,
                                Type element) {
  cost::Gemm gemm;
  gemm.batch = groups;
  gemm.m = rows;
  gemm.n = columns;
  gemm.k = depth;
  gemm.precision = precisionOf(element);
  for (int64_t apart : lhsDilation)
    gemm.k = std::max<int64_t>(1, gemm.k / apart);
  return gemm;
}

cost::Gemm ConvolutionOp::getGemm() {
  int64_t groups = getGroups(), features = getType().getShape().back();
  return gemmOfWindows(
      groups, getType().getNumElements() / std::max<int64_t>(features, 1),
      features / groups, productOf(getRhs().getType().getShape().drop_back()),
      getLhsDilation(), getLhs().getType().getElementType());
}

cost::Gemm ConvolveOp::getGemm() {
  return gemmOfWindows(getGroups(), getBatch() * productOf(getOutSizes()),
                       getOutputFeatures(),
                       getInputFeatures() * productOf(getRhsSizes()),
                       getLhsDilation(), getLhs().getType().getElementType());
}
