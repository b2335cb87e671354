//===- ArenaPlanner.h - Offsets for buffers of one arena --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dynamic storage allocation, solved ahead of time: every buffer is known with
// its size and the interval of steps in which it is alive; two buffers that are
// alive at one step must not share a byte. The height of the arena is to be
// small. No layout can be lower than the largest sum of bytes alive at one
// step, the liveness bound; finding the lowest layout is NP-hard.
//
// The planner places buffers one after the other at a free offset, in several
// orders and by two rules, keeps the lowest arena, and then improves the best
// order by moving the buffers at its top to the front. It stops as soon as the
// liveness bound is reached. Its time is quadratic in the number of buffers
// with a small constant, and its answer depends on nothing but its input.
//
// `checkArena` is the specification: it shares no code with the planner.
//
// Example: steps        0 1 2 3
//   A, 64 bytes, [0, 1] # #
//   B, 64 bytes, [1, 3]   # # #
//   C, 64 bytes, [2, 3]     # #     A and C may share: 128 bytes, the bound.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_ARENAPLANNER_H
#define WEFT_SCHEDULE_ARENAPLANNER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// Offsets and sizes of buffers in an arena are multiples of this, so that
/// every buffer starts on a cache line and a vector register.
inline constexpr int64_t arenaAlignment = 64;

/// `bytes` rounded up to the alignment.
inline int64_t alignedBytes(int64_t bytes) {
  return (bytes + arenaAlignment - 1) / arenaAlignment * arenaAlignment;
}

/// A buffer and the closed interval of steps in which it holds something.
struct ArenaBuffer {
  int64_t first = 0;
  int64_t last = 0;
  int64_t bytes = 0;
};

struct ArenaLayout {
  /// For each buffer its offset, a multiple of the alignment.
  std::vector<int64_t> offsets;
  /// Height of the arena.
  int64_t bytes = 0;
};

/// The largest sum of aligned bytes that are alive at one step, and the first
/// such step.
struct ArenaPeak {
  int64_t bytes = 0, step = 0;
};
ArenaPeak findPeak(llvm::ArrayRef<ArenaBuffer> buffers);

/// The bytes of the peak.
int64_t livenessBound(llvm::ArrayRef<ArenaBuffer> buffers);

/// A layout whose height is at or near the liveness bound.
ArenaLayout planArena(llvm::ArrayRef<ArenaBuffer> buffers);

/// What is wrong with a layout, in words, and the buffer that it is wrong of.
struct ArenaProblem {
  size_t buffer;
  std::string text;
};

/// Everything that is wrong with a layout; empty if it is right: a wrong number
/// of offsets, an offset that is negative or not aligned, a buffer that ends
/// above the arena, two buffers that are alive at one step and share a byte.
/// Steps are called instructions, and buffers what `nameOf` says.
std::vector<ArenaProblem> checkArena(
    llvm::ArrayRef<ArenaBuffer> buffers, const ArenaLayout &layout,
    llvm::function_ref<std::string(size_t)> nameOf = [](size_t i) {
      return std::to_string(i);
    });

} // namespace weft

#endif // WEFT_SCHEDULE_ARENAPLANNER_H
