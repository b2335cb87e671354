//===- Draw.h - Pictures of schedules ---------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pictures of a timed table: a lane for each rank, time from left to right.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_DRAW_H
#define WEFT_TIMELINE_DRAW_H

#include "weft/Timeline/Timing.h"

namespace weft::timeline {

/// A line for each rank, of about `width` columns. Every action is its kind and
/// micro-batch where there is room for that, else its kind; dots are idle time,
/// small letters the second chunk of a rank, the fourth, and so on:
///   rank 0 |F0 F1 ......B0    B1    |
///   rank 1 |...F0 B0    F1 B1    ...|
std::string drawText(const Table &table, const Timing &timing,
                     int32_t width = 120);

/// A drawing that stands alone, with a title, a scale and a legend.
std::string drawSvg(const Table &table, const Timing &timing,
                    std::string_view title);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_DRAW_H
