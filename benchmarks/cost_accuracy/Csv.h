//===- Csv.h - Reads tables -------------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CSV file with a header, fields in quotes where they have commas.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_BENCHMARKS_COST_ACCURACY_CSV_H
#define WEFT_BENCHMARKS_COST_ACCURACY_CSV_H

#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::cost {

inline std::vector<std::string> splitCsv(const std::string &line) {
  std::vector<std::string> fields(1);
  bool isQuoted = false;
  for (char c : line) {
    if (c == '"')
      isQuoted = !isQuoted;
    else if (c == ',' && !isQuoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

using CsvRow = std::map<std::string, std::string>;

inline std::vector<CsvRow> readCsv(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line))
    throw std::runtime_error("cannot read " + path);
  const std::vector<std::string> names = splitCsv(line);
  std::vector<CsvRow> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = splitCsv(line);
    CsvRow row;
    for (size_t i = 0; i < names.size(); ++i)
      row[names[i]] = i < fields.size() ? fields[i] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace weft::cost

#endif // WEFT_BENCHMARKS_COST_ACCURACY_CSV_H
