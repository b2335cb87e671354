//===- DrawText.cpp - Schedules as text -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Draw.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace weft::timeline {
namespace {

class TextDrawing {
public:
  TextDrawing(const Table &table, const Timing &timing, int32_t width)
      : table(table), timing(timing) {
    // With room for every label and a blank, or for every letter, or neither.
    double label = 0, letter = 0;
    for (int32_t rank = 0; rank < table.ranks(); ++rank)
      for (size_t i = 0; i < table.rows[rank].size(); ++i) {
        const double time = lengthOf(rank, i);
        if (time <= 0)
          continue;
        const size_t room = labelOf(table.rows[rank][i], 0).size() + 1;
        label = std::max(label, double(room) / time);
        letter = std::max(letter, 1 / time);
      }
    hasLabels = label * timing.makespan <= width;
    scale = hasLabels                           ? label
            : letter * timing.makespan <= width ? letter
            : timing.makespan > 0               ? width / timing.makespan
                                                : 1;
  }

  std::string draw() const {
    const std::string last = std::to_string(table.ranks() - 1);
    std::string text;
    for (int32_t rank = 0; rank < table.ranks(); ++rank) {
      std::string number = std::to_string(rank);
      number.insert(0, last.size() - number.size(), ' ');
      text += "rank " + number + " |" + drawRow(rank) + "|\n";
    }
    return text;
  }

private:
  /// Of the two of an overlapped pair each gets a half.
  Interval intervalOf(int32_t rank, size_t index) const {
    Interval interval = timing.rows[rank][index];
    const Row &row = table.rows[rank];
    const double middle = (interval.start + interval.end) / 2;
    if (row[index].overlapsNext)
      interval.end = middle;
    else if (index > 0 && row[index - 1].overlapsNext)
      interval.start = middle;
    return interval;
  }
  double lengthOf(int32_t rank, size_t index) const {
    const Interval interval = intervalOf(rank, index);
    return interval.end - interval.start;
  }

  std::string labelOf(const Action &action, int32_t chunk) const {
    std::string label(nameOf(action.kind));
    if (chunk % 2 == 1)
      label[0] = char(std::tolower(label[0]));
    return label + std::to_string(action.microbatch);
  }

  std::string drawRow(int32_t rank) const {
    const auto columnOf = [&](double time) {
      return size_t(std::lround(time * scale));
    };
    std::string line(columnOf(timing.makespan), '.');
    const Row &row = table.rows[rank];
    for (size_t i = 0; i < row.size(); ++i) {
      const Interval interval = intervalOf(rank, i);
      const size_t begin = columnOf(interval.start);
      const size_t end = columnOf(interval.end);
      const std::string label = labelOf(row[i], row[i].stage / table.ranks());
      for (size_t column = begin; column < end; ++column) {
        const size_t at = column - begin;
        line[column] = !hasLabels          ? label[0]
                       : at < label.size() ? label[at]
                                           : ' ';
      }
    }
    return line;
  }

  const Table &table;
  const Timing &timing;
  bool hasLabels = false;
  /// Columns in a unit of time.
  double scale = 1;
};

} // namespace

std::string drawText(const Table &table, const Timing &timing, int32_t width) {
  return TextDrawing(table, timing, width).draw();
}

} // namespace weft::timeline
