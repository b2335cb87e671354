//===- DrawSvg.cpp - Schedules as SVG -------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Draw.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace weft::timeline {
namespace {

constexpr double laneHeight = 26, laneGap = 4, leftMargin = 64,
                 rightMargin = 16;
constexpr double topMargin = 40, axisHeight = 30, legendHeight = 28;
/// Of the timeline: what a screen shows, and more where actions are many.
constexpr double leastWidth = 860, mostWidth = 6000, widthOfAction = 18;
constexpr double widthOfDigit = 6.5;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", std::round(value * 100) / 100);
  return text;
}

std::string escape(std::string_view text) {
  std::string escaped;
  for (char c : text)
    escaped += c == '<'   ? "&lt;"
               : c == '>' ? "&gt;"
               : c == '&' ? "&amp;"
               : c == '"' ? "&quot;"
                          : std::string(1, c);
  return escaped;
}

struct Colors {
  const char *fill, *text;
};

/// By kind, of the first chunk of a rank and of the others.
Colors colorsOf(ActionKind kind, bool isFirstChunk) {
  switch (kind) {
  case ActionKind::Forward:
    return isFirstChunk ? Colors{"#3b6fb6", "#ffffff"}
                        : Colors{"#a9c6ea", "#10243f"};
  case ActionKind::Backward:
    return isFirstChunk ? Colors{"#7656b3", "#ffffff"}
                        : Colors{"#cfc1ec", "#26104f"};
  case ActionKind::InputGradient:
    return isFirstChunk ? Colors{"#2f8f6b", "#ffffff"}
                        : Colors{"#a5dcc5", "#0c3326"};
  default:
    return isFirstChunk ? Colors{"#c98a1b", "#ffffff"}
                        : Colors{"#f3d79b", "#402a00"};
  }
}

const char *titleOf(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return "F: forward";
  case ActionKind::Backward:
    return "B: backward";
  case ActionKind::InputGradient:
    return "I: input gradient";
  default:
    return "W: weight gradient";
  }
}

class SvgDrawing {
public:
  SvgDrawing(const Table &table, const Timing &timing, std::string_view title)
      : table(table), timing(timing), title(title) {
    size_t longest = 1;
    for (const Row &row : table.rows)
      longest = std::max(longest, row.size());
    width = std::clamp(widthOfAction * double(longest), leastWidth, mostWidth);
    scale = timing.makespan > 0 ? width / timing.makespan : 1;
    lanesEnd = topMargin + table.ranks() * (laneHeight + laneGap);
  }

  std::string draw() {
    const std::string fullWidth = number(leftMargin + width + rightMargin);
    const std::string height = number(lanesEnd + axisHeight + legendHeight);
    // no test: markup, which no reader of messages sees
    svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + fullWidth +
          "\" height=\"" + height + "\" viewBox=\"0 0 " + fullWidth + " " +
          height +
          // no test: markup
          "\" font-family=\"system-ui, sans-serif\" font-size=\"11\">\n"
          "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    text(leftMargin, 22, title, "font-size=\"14\" font-weight=\"600\"");
    for (int32_t rank = 0; rank < table.ranks(); ++rank)
      drawLane(rank);
    drawAxis();
    drawLegend();
    return std::move(svg) + "</svg>\n";
  }

private:
  void text(double x, double y, std::string_view words,
            std::string_view attributes) {
    svg += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " +
           std::string(attributes) + ">" + escape(words) + "</text>\n";
  }

  void rectangle(double x, double y, double w, double h, std::string_view fill,
                 std::string_view tooltip = "") {
    svg += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
           number(std::max(w, 0.3)) + "\" height=\"" + number(h) +
           "\" fill=\"" + std::string(fill) + "\"";
    svg += tooltip.empty() ? "/>\n"
                           : "><title>" + escape(tooltip) + "</title></rect>\n";
  }

  void drawLane(int32_t rank) {
    const double y = topMargin + rank * (laneHeight + laneGap);
    text(leftMargin - 8, y + laneHeight / 2 + 4, "rank " + std::to_string(rank),
         "text-anchor=\"end\" fill=\"#333333\"");
    rectangle(leftMargin, y, width, laneHeight, "#eeeeee");
    const Row &row = table.rows[rank];
    for (size_t i = 0; i < row.size(); ++i) {
      const bool isFirst = row[i].overlapsNext;
      const bool isSecond = i > 0 && row[i - 1].overlapsNext;
      // An overlapped pair shares its time: one above the other.
      const double height = isFirst || isSecond ? laneHeight / 2 : laneHeight;
      drawAction(row[i], timing.rows[rank][i],
                 isSecond ? y + laneHeight / 2 : y, height);
    }
  }

  void drawAction(const Action &action, Interval interval, double y,
                  double height) {
    const double x = leftMargin + interval.start * scale;
    const double space = (interval.end - interval.start) * scale;
    const Colors colors =
        colorsOf(action.kind, action.stage / table.ranks() % 2 == 0);
    // A hair between neighbours, unless they are hairs themselves.
    rectangle(x, y, space > 3 ? space - 0.8 : space, height, colors.fill,
              print(action) + ", " + number(interval.start) + " to " +
                  number(interval.end));
    const std::string label = std::to_string(action.microbatch);
    if (double(label.size()) * widthOfDigit + 2 <= space)
      text(x + (space - 0.8) / 2, y + height / 2 + 4, label,
           std::string("text-anchor=\"middle\" fill=\"") + colors.text + "\"");
  }

  /// Ticks at 1, 2 or 5 times a power of ten, some 90 pixels apart.
  void drawAxis() {
    if (timing.makespan <= 0)
      return;
    const double wish = 90 / scale;
    const double power = std::pow(10, std::floor(std::log10(wish)));
    double step = 10 * power;
    for (double factor : {5., 2., 1.})
      if (factor * power >= wish)
        step = factor * power;
    for (int64_t i = 0; double(i) * step <= timing.makespan * 1.0001; ++i) {
      const double x = leftMargin + double(i) * step * scale;
      rectangle(x - 0.5, lanesEnd, 1, 5, "#888888");
      text(x, lanesEnd + 17, number(double(i) * step),
           "text-anchor=\"middle\" fill=\"#555555\"");
    }
  }

  void drawLegend() {
    const double y = lanesEnd + axisHeight;
    double x = leftMargin;
    const auto entry = [&](const char *fill, const char *words) {
      rectangle(x, y, 12, 12, fill);
      text(x + 17, y + 10, words, "fill=\"#333333\"");
      x += 30 + 6 * double(std::string_view(words).size());
    };
    bool has[4] = {}, hasChunks = false;
    for (const Row &row : table.rows)
      for (const Action &action : row) {
        has[int(action.kind)] = true;
        hasChunks |= action.stage >= table.ranks();
      }
    for (int kind = 0; kind < 4; ++kind)
      if (has[kind])
        entry(colorsOf(ActionKind(kind), true).fill, titleOf(ActionKind(kind)));
    entry("#eeeeee", "idle");
    if (hasChunks)
      text(x, y + 10, "light: second chunk of the rank", "fill=\"#333333\"");
  }

  const Table &table;
  const Timing &timing;
  std::string_view title;
  double width = 0, scale = 1, lanesEnd = 0;
  std::string svg;
};

} // namespace

std::string drawSvg(const Table &table, const Timing &timing,
                    std::string_view title) {
  return SvgDrawing(table, timing, title).draw();
}

} // namespace weft::timeline
