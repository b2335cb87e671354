//===- AccuracyTest.cpp - The shipped calibration against measured rows ---===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What benchmarks/cost_accuracy prints, so that no change of the model or of
// its constants loses it unseen. Of the fit itself, not of held-out rows: those
// take a fit for each set.
//
//===----------------------------------------------------------------------===//

#include "benchmarks/cost_accuracy/Rows.h"

#include "gtest/gtest.h"

#include <cmath>
#include <map>

using namespace weft::cost;

namespace {

struct Errors {
  double sum = 0, bias = 0;
  int rows = 0;
};

/// By "table", and by "table/set".
std::map<std::string, Errors> errorsOf(const Calibration &calibration) {
  std::map<std::string, Errors> errors;
  for (const Row &row : readRows(WEFT_PERF_DATA)) {
    const double error =
        row.predictedSeconds(calibration) / row.measuredSeconds - 1;
    for (const std::string &key : {row.table, row.table + "/" + row.set}) {
      errors[key].sum += std::abs(error);
      errors[key].bias += error;
      ++errors[key].rows;
    }
  }
  return errors;
}

} // namespace

TEST(AccuracyTest, Tables) {
  struct Bound {
    const char *table;
    int rows;
    double error, bias;
  };
  std::map<std::string, Errors> errors = errorsOf({});
  for (const Bound &bound :
       {Bound{"gemm", 26, 0.075, 0.03}, Bound{"attention", 66, 0.035, 0.02},
        Bound{"memory", 10, 0.02, 0.01}, Bound{"nccl", 73, 0.07, 0.03}}) {
    const Errors &found = errors[bound.table];
    EXPECT_EQ(found.rows, bound.rows) << bound.table;
    EXPECT_LT(found.sum / found.rows, bound.error) << bound.table;
    EXPECT_LT(std::abs(found.bias) / found.rows, bound.bias) << bound.table;
  }
}

/// No set above 12 %, but for the row that measures PyTorch's calls.
TEST(AccuracyTest, Sets) {
  for (const auto &[key, found] : errorsOf({}))
    if (key != "gemm/A100 cookbook")
      EXPECT_LT(found.sum / found.rows, 0.12) << key;
}
