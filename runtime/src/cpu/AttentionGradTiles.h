//===- AttentionGradTiles.h - The derivative of attention -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a query q with the cotangent g of its result, a key k with value v:
//
//   delta = out.g - the cotangent of logsumexp
//   p = exp(scale q.k - logsumexp)        as in the forward pass
//   s = scale p (g.v - delta)             the cotangent of q.k
//   dq += s k, dk += s q, dv += p g
//
// Nobody shares a sum: a task has all queries and keys of a head of keys, or
// there are two passes, one whose tasks have a block of queries and one whose
// tasks have a block of keys. The second way computes p and s twice, but needs
// little memory and has work for more threads.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_ATTENTIONGRADTILES_H
#define WEFT_RUNTIME_SRC_CPU_ATTENTIONGRADTILES_H

#include "cpu/AttentionTiles.h"

namespace weft::runtime {
namespace {

/// The sum of products of two rows, in the same order whoever forms it.
template <typename Element>
typename SumOf<Element>::Type dot(const Element *x, const Element *y,
                                  int64_t size) {
  using T = typename SumOf<Element>::Type;
  constexpr int64_t width = laneCount<T>;
  T parts[width] = {};
  int64_t d = 0;
  for (; d + width <= size; d += width)
    for (int64_t lane = 0; lane < width; ++lane)
      parts[lane] += load(x[d + lane]) * load(y[d + lane]);
  for (int64_t lane = 0; d + lane < size; ++lane)
    parts[lane] += load(x[d + lane]) * load(y[d + lane]);
  T sum = 0;
  for (const T part : parts)
    sum += part;
  return sum;
}

/// A block of queries as the products of the derivative read it.
template <typename Element> class GradQueries {
public:
  using T = typename SumOf<Element>::Type;

  GradQueries(const Problem<Element> &p, Pieces &pieces, bool byRows)
      : p(p), scaled(pieces.take<T>(p.s.headSize * queryBlock)),
        cotangents(pieces.take<T>(p.s.headSize * queryBlock)),
        logsumexp(pieces.take<T>(queryBlock)),
        delta(pieces.take<T>(queryBlock)) {
    if (byRows) {
      rows = pieces.take<T>(queryBlock * p.paddedSize);
      cotangentRows = pieces.take<T>(queryBlock * p.paddedSize);
    }
  }

  void read(int64_t batch, int64_t head, int64_t first, int64_t count) {
    const AttentionArguments &args = p.arguments;
    const auto query = p.ofQueries(args.query, batch, head);
    const auto cotangent = p.ofQueries(args.outCotangent, batch, head);
    packTransposed(query, first, count, p.s.headSize, T(args.scale * log2e),
                   scaled);
    packTransposed(cotangent, first, count, p.s.headSize, T(1), cotangents);
    if (rows) {
      packRows(query, first, count, p.s.headSize, rows);
      packRows(cotangent, first, count, p.s.headSize, cotangentRows);
    }
    const auto sums = p.rowsOf(args.forwardLogsumexp, batch, head);
    for (int64_t i = 0; i < queryBlock; ++i) {
      const T sum = i < count ? *sums.row(first + i) : T(__builtin_inf());
      // A query that sees no key has no weights: none is above 2^-inf.
      logsumexp[i] =
          sum == -T(__builtin_inf()) ? T(__builtin_inf()) : sum * T(log2e);
    }
    readDelta(batch, head, first, count);
  }

  /// One body for all tasks: the compiler chooses once how it rounds.
  [[gnu::noinline]] void readDelta(int64_t batch, int64_t head, int64_t first,
                                   int64_t count) {
    const AttentionArguments &args = p.arguments;
    const auto out = p.ofQueries(args.forwardOut, batch, head);
    const auto cotangent = p.ofQueries(args.outCotangent, batch, head);
    for (int64_t i = 0; i < queryBlock; ++i)
      delta[i] = i < count ? dot(out.row(first + i), cotangent.row(first + i),
                                 p.s.headSize)
                           : T(0);
    if (!args.logsumexpCotangent)
      return;
    const auto given = p.rowsOf(args.logsumexpCotangent, batch, head);
    for (int64_t i = 0; i < count; ++i)
      delta[i] -= *given.row(first + i);
  }

  const Problem<Element> &p;
  /// [size, queries]: queries times the scale, and cotangents.
  T *scaled, *cotangents;
  T *logsumexp, *delta;
  /// [queries, size]
  T *rows = nullptr, *cotangentRows = nullptr;
};

/// The two tiles of a pair of blocks: p and s, [keys, queries].
template <typename Element> class GradScores {
public:
  using T = typename SumOf<Element>::Type;

  GradScores(const Problem<Element> &p, Pieces &pieces)
      : p(p), weights(pieces.take<T>(keyBlock * queryBlock)),
        cotangents(pieces.take<T>(keyBlock * queryBlock)) {}

  void compute(const Pair &pair, const GradQueries<Element> &queries,
               Rows<const T> keys, Rows<const T> values) {
    using Vector = VectorOf<T>;
    computeScores(pair, p.s.headSize, keys, queries.scaled, weights);
    hideLaterKeys(p, pair, -T(__builtin_inf()), weights);
    computeScores(pair, p.s.headSize, values, queries.cotangents, cotangents);
    const int64_t lanes = padded<T>(pair.queries);
    const T scale = T(p.arguments.scale);
    for (int64_t j = 0; j < pair.keys; ++j)
      for (int64_t lane = 0; lane < lanes; lane += laneCount<T>) {
        Vector &weight = vectorAt(weights + j * queryBlock + lane);
        Vector &cotangent = vectorAt(cotangents + j * queryBlock + lane);
        const Vector power =
            exp2<T>(weight - vectorAt(queries.logsumexp + lane));
        weight = power;
        cotangent =
            power * scale * (cotangent - vectorAt(queries.delta + lane));
      }
  }

  void addToQueries(const Pair &pair, Rows<const T> keys, Rows<T> sums) const {
    product<T>(pair.queries, p.paddedSize, pair.keys,
               {cotangents, 1, queryBlock}, keys, sums, /*accumulate=*/true);
  }
  void addToKeys(const Pair &pair, const GradQueries<Element> &queries,
                 Rows<T> keySums, Rows<T> valueSums) const {
    product<T>(pair.keys, p.paddedSize, pair.queries,
               {cotangents, queryBlock, 1}, {queries.rows, p.paddedSize},
               keySums, /*accumulate=*/true);
    product<T>(pair.keys, p.paddedSize, pair.queries, {weights, queryBlock, 1},
               {queries.cotangentRows, p.paddedSize}, valueSums,
               /*accumulate=*/true);
  }

  const Problem<Element> &p;
  T *weights, *cotangents;
};

/// Rows [first, first + count) of a head of a result.
template <typename Element, typename T>
void storeRows(const AttentionResult &result, int64_t batch, int64_t positions,
               int64_t heads, int64_t head, int64_t size, int64_t first,
               int64_t count, const T *rows, int64_t stride) {
  for (int64_t i = 0; i < count; ++i)
    storeRow<Element>(result,
                      ((batch * positions + first + i) * heads + head) * size,
                      rows + i * stride, size);
}

//===----------------------------------------------------------------------===//
// At once
//===----------------------------------------------------------------------===//

/// A task is a head of keys with the queries that read it.
template <typename Element> class GradAtOnce {
public:
  using T = typename SumOf<Element>::Type;

  GradAtOnce(const AttentionArguments &arguments, void *memory)
      : p(arguments), pieces(memory), queries(p, pieces, /*byRows=*/true),
        scores(p, pieces), querySums(pieces.take<T>(queryBlock * p.paddedSize)),
        keySums(pieces.take<T>(p.s.keys * p.paddedSize)),
        valueSums(pieces.take<T>(p.s.keys * p.paddedSize)) {
    if (KeyRows<Element>::mustPack(p.s.headSize, /*inVectors=*/true))
      keys = pieces.take<T>(p.s.keys * p.paddedSize);
    if (KeyRows<Element>::mustPack(p.s.headSize, /*inVectors=*/false))
      values = pieces.take<T>(p.s.keys * p.paddedSize);
  }

  static AttentionPart part(const AttentionArguments &arguments) {
    const GradAtOnce counted(arguments, nullptr);
    return {counted.pieces.bytes(),
            arguments.sizes.batch * arguments.sizes.keyHeads,
            [](const AttentionArguments &args, int64_t task, void *scratch) {
              GradAtOnce(args, scratch).run(task);
            }};
  }

private:
  void run(int64_t task);

  const Problem<Element> p;
  Pieces pieces;
  GradQueries<Element> queries;
  GradScores<Element> scores;
  T *querySums, *keySums, *valueSums;
  T *keys = nullptr, *values = nullptr;
};

template <typename Element> void GradAtOnce<Element>::run(int64_t task) {
  const int64_t keyHead = task % p.s.keyHeads, batch = task / p.s.keyHeads;
  const int64_t size = p.s.headSize, stride = p.paddedSize;
  const KeyRows<Element> k(p.ofKeys(p.arguments.key, batch, keyHead), 0,
                           p.s.keys, size, true, keys);
  const KeyRows<Element> v(p.ofKeys(p.arguments.value, batch, keyHead), 0,
                           p.s.keys, size, false, values);
  clear(keySums, p.s.keys * stride);
  clear(valueSums, p.s.keys * stride);
  for (int64_t head = keyHead * p.group; head < (keyHead + 1) * p.group; ++head)
    for (int64_t i = 0; i < p.s.queries; i += queryBlock) {
      const int64_t count = least(queryBlock, p.s.queries - i);
      queries.read(batch, head, i, count);
      clear(querySums, count * stride);
      const int64_t seen = p.keysSeenBefore(i + count);
      for (int64_t j = 0; j < seen; j += keyBlock) {
        const Pair pair{i, count, j, least(keyBlock, seen - j)};
        const Rows<const T> keyRows{k.rows.data + j * k.rows.stride,
                                    k.rows.stride};
        scores.compute(pair, queries, keyRows,
                       {v.rows.data + j * v.rows.stride, v.rows.stride});
        scores.addToQueries(pair, keyRows, {querySums, stride});
        scores.addToKeys(pair, queries, {keySums + j * stride, stride},
                         {valueSums + j * stride, stride});
      }
      storeRows<Element>(p.arguments.queryCotangent, batch, p.s.queries,
                         p.s.heads, head, size, i, count, querySums, stride);
    }
  storeRows<Element>(p.arguments.keyCotangent, batch, p.s.keys, p.s.keyHeads,
                     keyHead, size, 0, p.s.keys, keySums, stride);
  storeRows<Element>(p.arguments.valueCotangent, batch, p.s.keys, p.s.keyHeads,
                     keyHead, size, 0, p.s.keys, valueSums, stride);
}

//===----------------------------------------------------------------------===//
// In two passes
//===----------------------------------------------------------------------===//

/// A task is a block of queries.
template <typename Element> class GradOfQueries {
public:
  using T = typename SumOf<Element>::Type;

  GradOfQueries(const AttentionArguments &arguments, void *memory)
      : p(arguments), pieces(memory), queries(p, pieces, /*byRows=*/false),
        scores(p, pieces), sums(pieces.take<T>(queryBlock * p.paddedSize)),
        keys(pieces.take<T>(keyBlock * p.paddedSize)),
        values(pieces.take<T>(keyBlock * p.paddedSize)) {}

  static AttentionPart part(const AttentionArguments &arguments) {
    const GradOfQueries counted(arguments, nullptr);
    return {counted.pieces.bytes(),
            arguments.sizes.batch * arguments.sizes.heads *
                counted.p.queryBlocks(),
            [](const AttentionArguments &args, int64_t task, void *scratch) {
              GradOfQueries(args, scratch).run(task);
            }};
  }

private:
  void run(int64_t task) {
    const int64_t blocks = p.queryBlocks();
    const int64_t first = (blocks - 1 - task % blocks) * queryBlock;
    const int64_t head = task / blocks % p.s.heads;
    const int64_t batch = task / blocks / p.s.heads;
    const int64_t count = least(queryBlock, p.s.queries - first);
    const auto key = p.ofKeys(p.arguments.key, batch, head / p.group);
    const auto value = p.ofKeys(p.arguments.value, batch, head / p.group);
    queries.read(batch, head, first, count);
    clear(sums, count * p.paddedSize);
    const int64_t seen = p.keysSeenBefore(first + count);
    for (int64_t j = 0; j < seen; j += keyBlock) {
      const Pair pair{first, count, j, least(keyBlock, seen - j)};
      const KeyRows<Element> k(key, j, pair.keys, p.s.headSize, true, keys);
      const KeyRows<Element> v(value, j, pair.keys, p.s.headSize, false,
                               values);
      scores.compute(pair, queries, k.rows, v.rows);
      scores.addToQueries(pair, k.rows, {sums, p.paddedSize});
    }
    storeRows<Element>(p.arguments.queryCotangent, batch, p.s.queries,
                       p.s.heads, head, p.s.headSize, first, count, sums,
                       p.paddedSize);
  }

  const Problem<Element> p;
  Pieces pieces;
  GradQueries<Element> queries;
  GradScores<Element> scores;
  T *sums, *keys, *values;
};

/// A task is a block of keys.
template <typename Element> class GradOfKeys {
public:
  using T = typename SumOf<Element>::Type;

  GradOfKeys(const AttentionArguments &arguments, void *memory)
      : p(arguments), pieces(memory), queries(p, pieces, /*byRows=*/true),
        scores(p, pieces), keySums(pieces.take<T>(keyBlock * p.paddedSize)),
        valueSums(pieces.take<T>(keyBlock * p.paddedSize)),
        keys(pieces.take<T>(keyBlock * p.paddedSize)),
        values(pieces.take<T>(keyBlock * p.paddedSize)) {}

  static AttentionPart part(const AttentionArguments &arguments) {
    const GradOfKeys counted(arguments, nullptr);
    return {counted.pieces.bytes(),
            arguments.sizes.batch * arguments.sizes.keyHeads *
                counted.p.keyBlocks(),
            [](const AttentionArguments &args, int64_t task, void *scratch) {
              GradOfKeys(args, scratch).run(task);
            }};
  }

private:
  void run(int64_t task) {
    const int64_t first = task % p.keyBlocks() * keyBlock;
    const int64_t keyHead = task / p.keyBlocks() % p.s.keyHeads;
    const int64_t batch = task / p.keyBlocks() / p.s.keyHeads;
    const int64_t count = least(keyBlock, p.s.keys - first);
    const int64_t size = p.s.headSize, stride = p.paddedSize;
    const KeyRows<Element> k(p.ofKeys(p.arguments.key, batch, keyHead), first,
                             count, size, false, keys);
    const KeyRows<Element> v(p.ofKeys(p.arguments.value, batch, keyHead), first,
                             count, size, false, values);
    clear(keySums, count * stride);
    clear(valueSums, count * stride);
    for (int64_t head = keyHead * p.group; head < (keyHead + 1) * p.group;
         ++head)
      for (int64_t i = 0; i < p.s.queries; i += queryBlock) {
        const int64_t rows = least(queryBlock, p.s.queries - i);
        const int64_t seen = p.keysSeenBefore(i + rows);
        if (seen <= first)
          continue;
        const Pair pair{i, rows, first, least(count, seen - first)};
        queries.read(batch, head, i, rows);
        scores.compute(pair, queries, k.rows, v.rows);
        scores.addToKeys(pair, queries, {keySums, stride}, {valueSums, stride});
      }
    storeRows<Element>(p.arguments.keyCotangent, batch, p.s.keys, p.s.keyHeads,
                       keyHead, size, first, count, keySums, stride);
    storeRows<Element>(p.arguments.valueCotangent, batch, p.s.keys,
                       p.s.keyHeads, keyHead, size, first, count, valueSums,
                       stride);
  }

  const Problem<Element> p;
  Pieces pieces;
  GradQueries<Element> queries;
  GradScores<Element> scores;
  T *keySums, *valueSums, *keys, *values;
};

//===----------------------------------------------------------------------===//
// By element type
//===----------------------------------------------------------------------===//

template <template <typename> class Part>
AttentionPart partFor(const AttentionArguments &arguments) {
  switch (arguments.element) {
  case AttentionElement::F32:
    return Part<float>::part(arguments);
  case AttentionElement::BF16:
    return Part<Brain>::part(arguments);
  case AttentionElement::F16:
    return Part<Half>::part(arguments);
  case AttentionElement::F64:
    return Part<double>::part(arguments);
  }
  return {};
}

constexpr AttentionKernels attentionKernels = {
    partFor<Forward>, partFor<GradAtOnce>, partFor<GradOfQueries>,
    partFor<GradOfKeys>};

} // namespace
} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_ATTENTIONGRADTILES_H
