//===- Fit.h - Fits the calibration to measured rows ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Least squares of log errors by coordinate search: a handful of constants for
// each table, from starting values that owe nothing to the rows. What no row
// decides stays near its start, or near the same constant of other generations.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_BENCHMARKS_COST_ACCURACY_FIT_H
#define WEFT_BENCHMARKS_COST_ACCURACY_FIT_H

#include "Rows.h"

#include <set>

namespace weft::cost {

/// A constant that is fitted.
struct Field {
  std::string table, name;
  std::function<double &(Calibration &)> value;
  /// Generations of one constant are drawn together; -1: none.
  int generation = -1;
};
const std::vector<Field> &fittedFields();

/// Fitted to the rows that are not of the sets `leftOut` ("table/set").
Calibration fit(const std::vector<Row> &rows,
                const std::set<std::string> &leftOut);

} // namespace weft::cost

#endif // WEFT_BENCHMARKS_COST_ACCURACY_FIT_H
