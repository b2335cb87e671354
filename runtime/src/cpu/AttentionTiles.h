//===- AttentionTiles.h - Attention on one set of registers -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithm of FlashAttention-2 (Dao 2023) for the caches of a CPU. A block
// of queries meets one block of keys after the other; their scores live in a
// tile that stays in the first two caches.
//
// Tiles are transposed, [keys, queries]: what softmax does for a query it then
// does in a lane of its own, and the left operands of all GEMMs are read
// element by element, in any layout. Scores are in units of log2: the scale
// contains log2(e).
//
// A sum over keys is taken block by block, in order, whoever computes it: the
// results depend neither on the number of threads nor on how tasks are cut.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_ATTENTIONTILES_H
#define WEFT_RUNTIME_SRC_CPU_ATTENTIONTILES_H

#include "cpu/AttentionKernels.h"
#include "cpu/VectorTiles.h"

namespace weft::runtime {
namespace {

constexpr int64_t queryBlock = 64;
constexpr int64_t keyBlock = 128;
constexpr double log2e = 1.4426950408889634074;
constexpr double ln2 = 0.69314718055994530942;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// 16 bits of a float, the type of the elements of bf16 tensors.
struct Brain {
  uint16_t bits;
};
/// The elements of f16 tensors. Converted as in DType.h, by functions that are
/// local as all here.
struct Half {
  uint16_t bits;
};

inline float load(Brain value) {
  return __builtin_bit_cast(float, uint32_t(value.bits) << 16);
}
inline float load(Half value) {
  constexpr uint32_t rebias = (127u - 15u) << 23;
  const uint32_t magnitude = uint32_t(value.bits & 0x7fff) << 13;
  const bool isFinite = magnitude < 0x1fu << 23;
  const uint32_t normal = magnitude + (isFinite ? rebias : 2 * rebias);
  const float subnormal =
      __builtin_bit_cast(float, magnitude + rebias + (1u << 23)) - 0x1p-14f;
  const uint32_t bits =
      magnitude < 1u << 23 ? __builtin_bit_cast(uint32_t, subnormal) : normal;
  return __builtin_bit_cast(float, bits | uint32_t(value.bits & 0x8000) << 16);
}
inline float load(float value) { return value; }
inline double load(double value) { return value; }

inline void store(float &place, float value) { place = value; }
inline void store(double &place, double value) { place = value; }
/// Rounds to the nearest, ties to even; a NaN stays one.
inline void store(Brain &place, float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  place.bits = uint16_t(value != value ? bits >> 16 | 0x40 : rounded);
}

inline void store(Half &place, float value) {
  constexpr uint32_t rebias = (127u - 15u) << 23;
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t subnormal =
      __builtin_bit_cast(uint32_t,
                         __builtin_bit_cast(float, magnitude) + 0.5f) -
      0x3f000000;
  const uint32_t normal =
      (magnitude - rebias + 0xfff + (magnitude >> 13 & 1)) >> 13;
  const uint32_t finite = magnitude < 0x38800000 ? subnormal : normal;
  const uint32_t special = value != value ? 0x7e00 : 0x7c00;
  place.bits = uint16_t((magnitude < 0x477ff000 ? finite : special) |
                        (bits >> 16 & 0x8000));
}

template <typename Element> struct SumOf {
  using Type = Element;
};
template <> struct SumOf<Brain> {
  using Type = float;
};
template <> struct SumOf<Half> {
  using Type = float;
};

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t most(int64_t a, int64_t b) { return a < b ? b : a; }

/// `count` rounded up to vectors of `T`.
template <typename T> constexpr int64_t padded(int64_t count) {
  return (count + laneCount<T> - 1) / laneCount<T> * laneCount<T>;
}

inline double logOf(double x) { return __builtin_log(x); }
inline float logOf(float x) { return __builtin_logf(x); }

//===----------------------------------------------------------------------===//
// Working memory
//===----------------------------------------------------------------------===//

/// Pieces of a thread's memory, each at a multiple of 64 bytes. Without memory
/// it counts.
class Pieces {
public:
  explicit Pieces(void *memory) : memory(static_cast<char *>(memory)) {}

  template <typename T> T *take(int64_t count) {
    T *piece = memory ? reinterpret_cast<T *>(memory + used) : nullptr;
    used += (size_t(count) * sizeof(T) + 63) / 64 * 64;
    return piece;
  }
  size_t bytes() const { return used; }

private:
  char *memory;
  size_t used = 0;
};

template <typename T> void clear(T *data, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    data[i] = 0;
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// One head of a tensor [batch, positions, heads, size].
template <typename Element> struct Head {
  Element *data;
  int64_t stride;

  Element *row(int64_t place) const { return data + place * stride; }
};

template <typename Element>
Head<Element> headOf(Element *data, int64_t batch, int64_t positions,
                     int64_t heads, int64_t size, int64_t head) {
  return {data + (batch * positions * heads + head) * size, heads * size};
}

/// What the kernels need to know of the arguments, in their types.
template <typename Element> struct Problem {
  using T = typename SumOf<Element>::Type;

  explicit Problem(const AttentionArguments &arguments)
      : arguments(arguments), s(arguments.sizes),
        diagonal(arguments.diagonal ? *arguments.diagonal : 0),
        group(s.heads / s.keyHeads), paddedSize(padded<T>(s.headSize)) {}

  Head<const Element> ofQueries(const void *data, int64_t batch,
                                int64_t head) const {
    return headOf(static_cast<const Element *>(data), batch, s.queries, s.heads,
                  s.headSize, head);
  }
  Head<const Element> ofKeys(const void *data, int64_t batch,
                             int64_t head) const {
    return headOf(static_cast<const Element *>(data), batch, s.keys, s.keyHeads,
                  s.headSize, head);
  }
  /// Numbers for each query of a head of [batch, queries, heads].
  Head<const T> rowsOf(const void *data, int64_t batch, int64_t head) const {
    return headOf(static_cast<const T *>(data), batch, s.queries, s.heads, 1,
                  head);
  }

  int64_t queryBlocks() const {
    return (s.queries + queryBlock - 1) / queryBlock;
  }
  int64_t keyBlocks() const { return (s.keys + keyBlock - 1) / keyBlock; }

  /// Keys before this one are all that queries before `query` see.
  int64_t keysSeenBefore(int64_t query) const {
    return arguments.isCausal ? most(0, least(s.keys, query + diagonal))
                              : s.keys;
  }

  const AttentionArguments &arguments;
  const AttentionSizes &s;
  const int64_t diagonal;
  /// Heads of queries that read one head of keys.
  const int64_t group;
  const int64_t paddedSize;
};

/// Rows `data` of a result, rounded to its type.
template <typename Element>
void storeRow(const AttentionResult &result, int64_t offset,
              const typename SumOf<Element>::Type *row, int64_t size) {
  using T = typename SumOf<Element>::Type;
  if (result.isSum) {
    T *out = static_cast<T *>(result.data) + offset;
    for (int64_t d = 0; d < size; ++d)
      out[d] = row[d];
  } else {
    Element *out = static_cast<Element *>(result.data) + offset;
    for (int64_t d = 0; d < size; ++d)
      store(out[d], row[d]);
  }
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// packed[d][i] = factor * rows[i][d], with zeros up to whole vectors of i.
template <typename Element, typename T>
void packTransposed(Head<const Element> head, int64_t first, int64_t rows,
                    int64_t size, T factor, T *packed) {
  constexpr int64_t width = laneCount<T>;
  // Rows of a head lie far apart: no processor foresees the next one.
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t d = 0; d < size; d += 64 / int64_t(sizeof(Element)))
      __builtin_prefetch(head.row(first + i) + d);
  Square<T> square;
  for (int64_t i = 0; i < rows; i += width)
    for (int64_t d = 0; d < size; d += width) {
      const int64_t height = least(width, rows - i);
      const int64_t columns = least(width, size - d);
      if (height < width)
        clear(&square.rows[0][0], width * width);
      for (int64_t r = 0; r < height; ++r) {
        const Element *from = head.row(first + i + r) + d;
        if (columns == width)
          for (int64_t c = 0; c < width; ++c)
            square.rows[r][c] = factor * load(from[c]);
        else
          for (int64_t c = 0; c < columns; ++c)
            square.rows[r][c] = factor * load(from[c]);
      }
      square.transpose();
      for (int64_t c = 0; c < columns; ++c)
        vectorAt(packed + (d + c) * queryBlock + i) = vectorAt(square.rows[c]);
    }
}

/// packed[i][d] = rows[i][d], with zeros up to whole vectors of d.
template <typename Element, typename T>
void packRows(Head<const Element> head, int64_t first, int64_t rows,
              int64_t size, T *packed) {
  const int64_t stride = padded<T>(size);
  for (int64_t i = 0; i < rows; ++i) {
    const Element *from = head.row(first + i);
    for (int64_t d = 0; d < size; ++d)
      packed[i * stride + d] = load(from[d]);
    clear(packed + i * stride + size, stride - size);
  }
}

/// Keys or values of a block as the GEMMs read them: where they lie if they
/// are of the type of the sums, in whole vectors, else a packed copy.
template <typename Element> class KeyRows {
public:
  using T = typename SumOf<Element>::Type;

  static constexpr bool isConverted = sizeof(Element) != sizeof(T);

  static bool mustPack(int64_t size, bool inVectors) {
    return isConverted || (inVectors && size != padded<T>(size));
  }

  KeyRows(Head<const Element> head, int64_t first, int64_t count, int64_t size,
          bool inVectors, T *memory) {
    if constexpr (!isConverted)
      if (!mustPack(size, inVectors)) {
        rows = {head.row(first), head.stride};
        return;
      }
    packRows(head, first, count, size, memory);
    rows = {memory, padded<T>(size)};
  }

  Rows<const T> rows;
};

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// A block of queries and a block of keys.
struct Pair {
  int64_t query, queries;
  int64_t key, keys;
};

template <typename T>
void computeScores(const Pair &pair, int64_t size, Rows<const T> keys,
                   const T *queries, T *scores) {
  product<T>(pair.keys, padded<T>(pair.queries), size,
             {keys.data, keys.stride, 1}, {queries, queryBlock},
             {scores, queryBlock}, /*accumulate=*/false);
}

/// Puts `hidden` where a query does not see a key.
template <typename Element, typename T>
void hideLaterKeys(const Problem<Element> &p, const Pair &pair, T hidden,
                   T *scores) {
  if (p.keysSeenBefore(pair.query + 1) >= pair.key + pair.keys)
    return;
  for (int64_t j = 0; j < pair.keys; ++j) {
    // The first query that sees the key.
    const int64_t first = pair.key + j - p.diagonal - pair.query;
    const int64_t end = least(most(first, 0), padded<T>(pair.queries));
    for (int64_t i = 0; i < end; ++i)
      scores[j * queryBlock + i] = hidden;
  }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

template <typename Element> class Forward {
public:
  using T = typename SumOf<Element>::Type;

  Forward(const AttentionArguments &arguments, void *memory)
      : p(arguments), pieces(memory),
        queries(pieces.take<T>(p.s.headSize * queryBlock)),
        scores(pieces.take<T>(keyBlock * queryBlock)),
        sums(pieces.take<T>(p.s.headSize * queryBlock)),
        largest(pieces.take<T>(queryBlock)),
        divisors(pieces.take<T>(queryBlock)) {
    if (KeyRows<Element>::mustPack(p.s.headSize, /*inVectors=*/false)) {
      keys = pieces.take<T>(keyBlock * p.paddedSize);
      values = pieces.take<T>(keyBlock * p.paddedSize);
    }
  }

  static AttentionPart part(const AttentionArguments &arguments) {
    const Forward counted(arguments, nullptr);
    return {counted.pieces.bytes(),
            arguments.sizes.batch * arguments.sizes.heads *
                counted.p.queryBlocks(),
            [](const AttentionArguments &args, int64_t task, void *scratch) {
              Forward(args, scratch).run(task);
            }};
  }

private:
  void run(int64_t task);
  void addKeys(const Pair &pair, Head<const Element> key,
               Head<const Element> value);
  void normalise(const Pair &pair, int64_t lane);
  void finish(int64_t batch, int64_t head, int64_t first, int64_t count);

  const Problem<Element> p;
  Pieces pieces;
  /// [size, queries]
  T *queries;
  /// [keys, queries]
  T *scores;
  /// [size, queries]
  T *sums;
  /// For each query the largest score so far, and the sum of the exponentials.
  T *largest, *divisors;
  T *keys = nullptr, *values = nullptr;
};

/// Turns a column of scores into exponentials.
template <typename Element>
void Forward<Element>::normalise(const Pair &pair, int64_t lane) {
  using Vector = VectorOf<T>;
  const Vector before = vectorAt(largest + lane);
  Vector now = before;
  for (int64_t j = 0; j < pair.keys; ++j) {
    const Vector score = vectorAt(scores + j * queryBlock + lane);
    now = score > now ? score : now;
  }
  const T infinity = T(__builtin_inf());
  // Of a query that has seen no key yet.
  const Vector base = now == -infinity ? Vector{} : now;
  const Vector shrink = exp2<T>(before - base);
  Vector sum{};
  for (int64_t j = 0; j < pair.keys; ++j) {
    Vector &score = vectorAt(scores + j * queryBlock + lane);
    const Vector power = exp2<T>(score - base);
    sum += power;
    score = power;
  }
  vectorAt(largest + lane) = now;
  vectorAt(divisors + lane) = vectorAt(divisors + lane) * shrink + sum;
  for (int64_t d = 0; d < p.s.headSize; ++d)
    vectorAt(sums + d * queryBlock + lane) *= shrink;
}

template <typename Element>
void Forward<Element>::addKeys(const Pair &pair, Head<const Element> key,
                               Head<const Element> value) {
  const int64_t size = p.s.headSize;
  const KeyRows<Element> k(key, pair.key, pair.keys, size, false, keys);
  computeScores(pair, size, k.rows, queries, scores);
  hideLaterKeys(p, pair, -T(__builtin_inf()), scores);
  const int64_t lanes = padded<T>(pair.queries);
  for (int64_t lane = 0; lane < lanes; lane += laneCount<T>)
    normalise(pair, lane);
  const KeyRows<Element> v(value, pair.key, pair.keys, size, false, values);
  product<T>(size, lanes, pair.keys, {v.rows.data, 1, v.rows.stride},
             {scores, queryBlock}, {sums, queryBlock}, /*accumulate=*/true);
}

/// Divides the sums and writes them and their logsumexp.
template <typename Element>
void Forward<Element>::finish(int64_t batch, int64_t head, int64_t first,
                              int64_t count) {
  constexpr int64_t width = laneCount<T>;
  T *logsumexp = static_cast<T *>(p.arguments.logsumexp);
  const auto place = [&](int64_t i) {
    return (batch * p.s.queries + first + i) * p.s.heads + head;
  };
  for (int64_t i = 0; i < count; ++i) {
    const T divisor = divisors[i];
    logsumexp[place(i)] = divisor == 0 ? -T(__builtin_inf())
                                       : largest[i] * T(ln2) + logOf(divisor);
    divisors[i] = divisor == 0 ? T(0) : 1 / divisor;
  }
  Square<T> square;
  for (int64_t i = 0; i < count; i += width)
    for (int64_t d = 0; d < p.s.headSize; d += width) {
      const int64_t columns = least(width, p.s.headSize - d);
      for (int64_t c = 0; c < columns; ++c)
        vectorAt(square.rows[c]) =
            vectorAt(sums + (d + c) * queryBlock + i) * vectorAt(divisors + i);
      square.transpose();
      for (int64_t r = 0; r < least(width, count - i); ++r)
        storeRow<Element>(p.arguments.out, place(i + r) * p.s.headSize + d,
                          square.rows[r], columns);
    }
}

template <typename Element> void Forward<Element>::run(int64_t task) {
  // The last blocks of a head see the most keys: they come first.
  const int64_t blocks = p.queryBlocks();
  const int64_t block = blocks - 1 - task % blocks;
  const int64_t head = task / blocks % p.s.heads;
  const int64_t batch = task / blocks / p.s.heads;
  const int64_t first = block * queryBlock;
  const int64_t count = least(queryBlock, p.s.queries - first);

  packTransposed(p.ofQueries(p.arguments.query, batch, head), first, count,
                 p.s.headSize, T(p.arguments.scale * log2e), queries);
  clear(sums, p.s.headSize * queryBlock);
  clear(divisors, queryBlock);
  for (int64_t i = 0; i < queryBlock; ++i)
    largest[i] = -T(__builtin_inf());
  const auto key = p.ofKeys(p.arguments.key, batch, head / p.group);
  const auto value = p.ofKeys(p.arguments.value, batch, head / p.group);
  const int64_t seen = p.keysSeenBefore(first + count);
  for (int64_t j = 0; j < seen; j += keyBlock)
    addKeys({first, count, j, least(keyBlock, seen - j)}, key, value);
  finish(batch, head, first, count);
}

} // namespace
} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_ATTENTIONTILES_H
