//===- TextTable.h - Columns of text ----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_REPORT_TEXTTABLE_H
#define WEFT_REPORT_TEXTTABLE_H

#include <cstdio>
#include <string>
#include <vector>

namespace weft {

template <typename... Args>
std::string format(const char *pattern, Args... args) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, args...);
  return text;
}

/// `data, model:(2)4`
inline std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// A table with a heading above each column, of one line or two. Further lines
/// of the last cell of a row go on below it.
class TextTable {
public:
  /// Numbers stand at the right of their column.
  enum class Align { Left, Right };

  void addColumn(std::string heading, Align align = Align::Right,
                 std::string above = "");
  void addRow(std::vector<std::string> cells);
  std::string print() const;

private:
  struct Column {
    std::string above, heading;
    Align align;
    size_t width;
  };
  std::string printLine(const std::vector<std::string> &cells) const;

  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

} // namespace weft

#endif // WEFT_REPORT_TEXTTABLE_H
