//===- Rows.h - Measured rows and what the model says of them ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of benchmarks/perf_data as values that can be predicted.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_BENCHMARKS_COST_ACCURACY_ROWS_H
#define WEFT_BENCHMARKS_COST_ACCURACY_ROWS_H

#include "weft/Cost/Calibration.h"

#include <functional>
#include <string>
#include <vector>

namespace weft::cost {

struct Row {
  /// "gemm", "attention", "memory" or "nccl".
  std::string table;
  /// Rows of one source on one machine: what is left out together.
  std::string set;
  std::string label;
  double measuredSeconds = 0;
  /// At the full rate of the data sheet.
  double idealSeconds = 0;
  std::function<double(const Calibration &)> predictedSeconds;
  /// False for a row that measures something else as well.
  bool isFitted = true;
};

/// Of all tables in a folder. Rows without a shape or a size that is needed,
/// and of devices that no shipped cluster has, are left out.
std::vector<Row> readRows(const std::string &folder);

} // namespace weft::cost

#endif // WEFT_BENCHMARKS_COST_ACCURACY_ROWS_H
