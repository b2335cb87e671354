//===- TextTable.cpp - Columns of text ------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Report/TextTable.h"

#include <algorithm>

namespace weft {

static std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines(1);
  for (char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  return lines;
}

void TextTable::addColumn(std::string heading, Align align, std::string above) {
  size_t width = std::max(heading.size(), above.size());
  columns.push_back({std::move(above), std::move(heading), align, width});
}

void TextTable::addRow(std::vector<std::string> cells) {
  for (size_t i = 0; i + 1 < cells.size() ||
                     (i < cells.size() && columns[i].align == Align::Right);
       ++i)
    columns[i].width = std::max(columns[i].width, cells[i].size());
  rows.push_back(std::move(cells));
}

std::string TextTable::printLine(const std::vector<std::string> &cells) const {
  std::string text;
  for (size_t i = 0; i < columns.size(); ++i) {
    text += "  ";
    const std::string nextLine = "\n" + std::string(text.size(), ' ');
    const std::vector<std::string> lines = linesOf(cells[i]);
    const std::string fill(
        columns[i].width - std::min(columns[i].width, lines[0].size()), ' ');
    text += columns[i].align == Align::Left ? lines[0] + fill : fill + lines[0];
    for (size_t j = 1; j < lines.size(); ++j)
      text += nextLine + lines[j];
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string TextTable::print() const {
  std::vector<std::string> above, headings;
  for (const Column &column : columns) {
    above.push_back(column.above);
    headings.push_back(column.heading);
  }
  bool hasAbove = std::ranges::any_of(
      above, [](const std::string &line) { return !line.empty(); });
  std::string text = (hasAbove ? printLine(above) : "") + printLine(headings);
  for (const std::vector<std::string> &row : rows)
    text += printLine(row);
  return text;
}

} // namespace weft
