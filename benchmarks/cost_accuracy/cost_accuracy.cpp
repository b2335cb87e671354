//===- cost_accuracy.cpp - How well the cost model predicts measured rows -===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   cost_accuracy [--rows] [FOLDER]
//
// Prints, for each set of rows, the error of a model that was fitted to the
// other sets, beside that of the best constant fraction of the data sheet's
// rate; then the constants fitted to all. --rows prints every row as CSV.
//
//===----------------------------------------------------------------------===//

#include "Fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

using namespace weft::cost;

namespace {

struct Summary {
  double error = 0, bias = 0, worst = 0, constantError = 0, carriedError = 0;
  std::string worstLabel;
  int rows = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 1 : values[values.size() / 2];
}

std::string keyOf(const Row &row) { return row.table + "/" + row.set; }

/// The error of the constant `factor` times the ideal seconds.
double constantError(const std::vector<const Row *> &rows, double factor) {
  double sum = 0;
  for (const Row *row : rows)
    sum += std::abs(row->idealSeconds * factor / row->measuredSeconds - 1);
  return sum / static_cast<double>(rows.size());
}

double bestConstantError(const std::vector<const Row *> &rows) {
  double best = 1e300;
  for (const Row *row : rows)
    best = std::min(
        best, constantError(rows, row->measuredSeconds / row->idealSeconds));
  return best;
}

Summary summarize(const std::vector<Row> &all, const std::string &key,
                  const Calibration &calibration) {
  Summary summary;
  std::vector<const Row *> rows;
  std::vector<double> others;
  for (const Row &row : all) {
    if (keyOf(row) == key)
      rows.push_back(&row);
    else if (key.starts_with(row.table + "/"))
      others.push_back(row.measuredSeconds / row.idealSeconds);
  }
  for (const Row *row : rows) {
    const double error =
        row->predictedSeconds(calibration) / row->measuredSeconds - 1;
    summary.error += std::abs(error);
    summary.bias += error;
    if (std::abs(error) >= std::abs(summary.worst)) {
      summary.worst = error;
      summary.worstLabel = row->label;
    }
  }
  summary.rows = static_cast<int>(rows.size());
  summary.error /= summary.rows;
  summary.bias /= summary.rows;
  summary.constantError = bestConstantError(rows);
  summary.carriedError = constantError(rows, median(others));
  return summary;
}

/// 1 for no error, 0 for that of a constant; "-" where one constant fits the
/// few rows that there are.
std::string skill(double error, double constantError) {
  if (constantError < 0.03)
    return "-";
  char text[16];
  std::snprintf(text, sizeof(text), "%+.2f", 1 - error / constantError);
  return text;
}

void printSummary(const std::string &name, const Summary &summary) {
  std::printf(
      "| %s | %d | %.1f | %+.1f | %.1f | %s | %.1f | %s | %+.0f, %s |\n",
      name.c_str(), summary.rows, 100 * summary.error, 100 * summary.bias,
      100 * summary.constantError,
      skill(summary.error, summary.constantError).c_str(),
      100 * summary.carriedError,
      skill(summary.error, summary.carriedError).c_str(), 100 * summary.worst,
      summary.worstLabel.c_str());
}

} // namespace

int main(int argc, char **argv) {
  bool printsRows = false;
  std::string folder = WEFT_PERF_DATA;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--rows") == 0)
      printsRows = true;
    else
      folder = argv[i];
  }
  const std::vector<Row> rows = readRows(folder);
  Calibration all = fit(rows, {});
  std::vector<std::string> keys;
  for (const Row &row : rows)
    if (keys.empty() || keys.back() != keyOf(row))
      if (std::find(keys.begin(), keys.end(), keyOf(row)) == keys.end())
        keys.push_back(keyOf(row));
  if (printsRows) {
    std::printf("table,set,row,measured_s,shipped_s,fitted_s,left_out_s\n");
    for (const std::string &key : keys) {
      const Calibration without = fit(rows, {key});
      for (const Row &row : rows)
        if (keyOf(row) == key)
          std::printf("%s,%s,\"%s\",%.6g,%.6g,%.6g,%.6g\n", row.table.c_str(),
                      row.set.c_str(), row.label.c_str(), row.measuredSeconds,
                      row.predictedSeconds({}), row.predictedSeconds(all),
                      row.predictedSeconds(without));
    }
    return 0;
  }
  const char *header =
      "| set | rows | error % | bias % | best constant of the set % | skill | "
      "constant of the others % | skill | worst row % |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
  std::printf("Left out of the fit:\n\n");
  std::fputs(header, stdout);
  std::map<std::string, Summary> total;
  for (const std::string &key : keys) {
    const Summary summary = summarize(rows, key, fit(rows, {key}));
    printSummary(key, summary);
    Summary &sum = total[key.substr(0, key.find('/'))];
    sum.rows += summary.rows;
    sum.error += summary.error * summary.rows;
    sum.bias += summary.bias * summary.rows;
    sum.constantError += summary.constantError * summary.rows;
    sum.carriedError += summary.carriedError * summary.rows;
    if (std::abs(summary.worst) > std::abs(sum.worst)) {
      sum.worst = summary.worst;
      sum.worstLabel = summary.worstLabel;
    }
  }
  std::printf("\nBy table:\n\n");
  std::fputs(header, stdout);
  for (auto &[table, sum] : total) {
    for (double *value :
         {&sum.error, &sum.bias, &sum.constantError, &sum.carriedError})
      *value /= sum.rows;
    printSummary(table, sum);
  }
  std::printf("\nFitted to all:\n\n");
  std::fputs(header, stdout);
  for (const std::string &key : keys)
    printSummary(key, summarize(rows, key, all));
  std::printf("\nConstants, and those of Calibration.h:\n\n");
  Calibration shipped;
  for (const Field &field : fittedFields())
    std::printf(
        "%-26s %-10s %-12.4g %.4g\n", field.name.c_str(),
        field.generation < 0
            ? ""
            : std::string(nameOf(static_cast<Generation>(field.generation)))
                  .c_str(),
        field.value(all), field.value(shipped));
}
