//===- GemmCost.h - Time of matmuls -----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU computes a matmul in tiles, as many at once as it has units;
// the last wave of tiles may be short (wave quantisation), and the last row
// and column of tiles reach beyond the matrix (tile quantisation). The library
// takes the tile, and the split of k, that is fastest.
//
// Example: 4096^3 on an H100 is 512 tiles of 256 x 128, 4 waves on 132 units,
// of which the last one has 116.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_GEMMCOST_H
#define WEFT_COST_GEMMCOST_H

#include "weft/Cost/Calibration.h"

namespace weft::cost {

/// `batch` products of an m x k and a k x n matrix, row-major unless
/// transposed.
struct Gemm {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  Precision precision = Precision::BF16;
  bool transposeA = false, transposeB = false;
  /// Operands and result have just been used, as where it is repeated. In a
  /// program other things have been in the cache since.
  bool isWarm = false;

  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k) * static_cast<double>(batch);
  }
  /// Operands and result once.
  double bytes() const;
};

/// Of the precision, or of the next one that the device multiplies in.
double peakFlopsPerSecond(const Device &device, Precision precision);

/// From launch to end.
double gemmSeconds(const Device &device, const Gemm &gemm,
                   const Calibration &calibration);

} // namespace weft::cost

#endif // WEFT_COST_GEMMCOST_H
