//===- Reduce.cpp - Values of several ranks become one --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region is worked through in blocks that stay in the first-level cache: one
// pass per source adds into the block, then the block goes to every
// destination. A type that accumulates in itself uses the first destination as
// its block where it can; the 16-bit floats use an array of floats and are
// rounded once.
//
// This file is compiled with -O3 -fno-trapping-math in every build (see
// CMakeLists.txt): the inner loops are plain so that the compiler vectorises
// them, and `WEFT_INDEPENDENT` is true because a destination overlaps a source
// only where both are the same element.
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"

#include "ReduceElement.h"

#include <algorithm>
#include <cstring>

// What makes the elements of a loop independent of each other.
#if defined(__clang__)
#define WEFT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define WEFT_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace weft::runtime {
namespace {

/// Bytes of the accumulators of one block.
constexpr int64_t blockBytes = 8192;

// Versions of a loop for three kinds of processor. The bits are the same: the
// loops only add, compare and convert. Not by target_clones, which clang has
// for functions only that are no templates.
#if defined(__x86_64__)
template <typename Loop>
__attribute__((target("avx2"))) void runAvx2(Loop loop) {
  loop();
}
template <typename Loop>
__attribute__((target("arch=x86-64-v4"))) void runAvx512(Loop loop) {
  loop();
}
#endif

/// Runs a loop, which is to be inlined, in the best version for this machine.
template <typename Loop> void runVectorized(const Loop &loop) {
#if defined(__x86_64__)
  static const int level = __builtin_cpu_supports("x86-64-v4") ? 2
                           : __builtin_cpu_supports("avx2")    ? 1
                                                               : 0;
  if (level == 2)
    return runAvx512(loop);
  if (level == 1)
    return runAvx2(loop);
#endif
  loop();
}

/// block[i] = first[i] op second[i]
template <typename E, typename Op>
void combine(typename E::Accumulator *block, const typename E::Stored *first,
             const typename E::Stored *second, int64_t count) {
  runVectorized([=]() __attribute__((always_inline)) {
    WEFT_INDEPENDENT
    for (int64_t i = 0; i < count; ++i)
      block[i] = Op::apply(E::load(first[i]), E::load(second[i]));
  });
}

/// block[i] = block[i] op source[i]
template <typename E, typename Op>
void accumulate(typename E::Accumulator *block,
                const typename E::Stored *source, int64_t count) {
  runVectorized([=]() __attribute__((always_inline)) {
    WEFT_INDEPENDENT
    for (int64_t i = 0; i < count; ++i)
      block[i] = Op::apply(block[i], E::load(source[i]));
  });
}

/// destination[i] = block[i], rounded to the stored format.
template <typename E>
void roundTo(typename E::Stored *destination,
             const typename E::Accumulator *block, int64_t count) {
  runVectorized([=]() __attribute__((always_inline)) {
    WEFT_INDEPENDENT
    for (int64_t i = 0; i < count; ++i)
      destination[i] = E::store(block[i]);
  });
}

/// Reduces `count` neighbouring elements of every source from element `at` of
/// the source into `block`. There are at least two sources.
template <typename E, typename Op>
void reduceRow(const ReduceRegion &region, typename E::Accumulator *block,
               int64_t at, int64_t count) {
  const auto source = [&](size_t i) {
    return static_cast<const typename E::Stored *>(region.sources[i]) + at;
  };
  combine<E, Op>(block, source(0), source(1), count);
  for (size_t i = 2; i < region.sources.size(); ++i)
    accumulate<E, Op>(block, source(i), count);
}

/// True when the first destination can hold the partial results: it is none of
/// the sources that are read after the first pass.
bool canAccumulateInPlace(const ReduceRegion &region) {
  const auto later = region.sources.subspan(2);
  return std::find(later.begin(), later.end(), region.destinations[0]) ==
         later.end();
}

template <typename E, typename Op>
void reduceBlock(const ReduceRegion &region, int64_t row, int64_t rows,
                 int64_t column, int64_t columns) {
  using Stored = typename E::Stored;
  using Accumulator = typename E::Accumulator;
  const int64_t at = row * region.columns + column;
  const int64_t count = rows * columns;
  Stored *result = static_cast<Stored *>(region.destinations[0]) + at;
  alignas(64) Accumulator local[blockBytes / sizeof(Accumulator)];
  Accumulator *block = local;
  if constexpr (std::is_same_v<Stored, Accumulator>)
    if (canAccumulateInPlace(region))
      block = result;

  for (int64_t i = 0; i < rows; ++i)
    reduceRow<E, Op>(region, block + i * columns,
                     (row + i) * region.sourceStride + column, columns);
  if (static_cast<void *>(block) != result)
    roundTo<E>(result, block, count);
  for (void *destination : region.destinations.subspan(1))
    std::memcpy(static_cast<Stored *>(destination) + at, result,
                count * sizeof(Stored));
}

/// One source: its elements are the result.
void copyRegion(const ReduceRegion &region, size_t elementBytes) {
  const size_t rowBytes = region.columns * elementBytes;
  for (void *destination : region.destinations)
    for (int64_t row = 0; row < region.rows; ++row) {
      auto *to = static_cast<char *>(destination) + row * rowBytes;
      auto *from = static_cast<const char *>(region.sources[0]) +
                   row * region.sourceStride * elementBytes;
      if (to != from && rowBytes != 0)
        std::memcpy(to, from, rowBytes);
    }
}

template <typename E, typename Op>
void reduceRegion(const ReduceRegion &region) {
  constexpr int64_t blockElements =
      blockBytes / sizeof(typename E::Accumulator);
  if (region.sources.size() == 1)
    return copyRegion(region, sizeof(typename E::Stored));
  if (region.columns == 0)
    return;
  if (region.columns >= blockElements) {
    for (int64_t row = 0; row < region.rows; ++row)
      for (int64_t column = 0; column < region.columns; column += blockElements)
        reduceBlock<E, Op>(region, row, 1, column,
                           std::min(blockElements, region.columns - column));
    return;
  }
  const int64_t blockRows = blockElements / region.columns;
  for (int64_t row = 0; row < region.rows; row += blockRows)
    reduceBlock<E, Op>(region, row, std::min(blockRows, region.rows - row), 0,
                       region.columns);
}

template <typename T> ReduceFunction select(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return reduceRegion<Element<T>, Add>;
  case Reduction::Max:
    return reduceRegion<Element<T>, Maximum>;
  case Reduction::Min:
    return reduceRegion<Element<T>, Minimum>;
  }
  return nullptr;
}

} // namespace

ReduceFunction reduceFunction(DType dtype, Reduction reduction) {
  switch (dtype) {
  case DType::F32:
    return select<float>(reduction);
  case DType::F64:
    return select<double>(reduction);
  case DType::BF16:
    return select<BFloat16>(reduction);
  case DType::F16:
    return select<Float16>(reduction);
  case DType::I64:
    return select<int64_t>(reduction);
  case DType::I32:
    return select<int32_t>(reduction);
  case DType::I16:
    return select<int16_t>(reduction);
  case DType::I8:
    return select<int8_t>(reduction);
  case DType::Pred:
    return reduction == Reduction::Sum ? nullptr : select<uint8_t>(reduction);
  }
  return nullptr;
}

} // namespace weft::runtime
