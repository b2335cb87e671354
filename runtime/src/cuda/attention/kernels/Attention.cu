//===- Attention.cu - Attention by tiles on a GPU ---------------*- CUDA
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithm of FlashAttention-2 (Dao 2023): a block of threads has a tile
// of queries, which meets one tile of keys after the other; the softmax is that
// of the keys so far. Scores are in units of log2: the scale contains log2(e).
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.cuh"

namespace weft::runtime {
namespace {

/// Over the threads that have parts of the same rows.
template <typename T, typename Combine>
__device__ T combineAcross(T value, Combine combine) {
#pragma unroll
  for (int lanes = threadsAcross / 2; lanes > 0; lanes /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffff, value, lanes));
  return value;
}

template <typename Element, int HeadSize> struct Forward {
  using Parts = Tiles<Element, HeadSize>;
  using T = typename Parts::T;
  static constexpr int tile = Parts::tile;
  static constexpr int across = Parts::across;

  __device__ Forward(const AttentionParameters &p, typename Parts::Shared &s)
      : p(p), shared(s), mask(p) {}

  __device__ void run();
  /// Turns scores into exponentials, and shrinks what has been summed.
  __device__ void normalise(int firstQuery, int firstKey,
                            typename Parts::Scores &scores);

  const AttentionParameters &p;
  typename Parts::Shared &shared;
  const Mask mask;
  typename Parts::Sums sums;
  /// For each row the largest score so far, and the sum of the exponentials.
  T largest[across], divisors[across];
};

template <typename Element, int HeadSize>
__device__ void
Forward<Element, HeadSize>::normalise(int firstQuery, int firstKey,
                                      typename Parts::Scores &scores) {
  const T scale = T(p.scale * log2e);
#pragma unroll
  for (int i = 0; i < across; ++i) {
    T now = -infinity<T>();
#pragma unroll
    for (int j = 0; j < across; ++j) {
      const bool isSeen =
          mask.sees(firstQuery + Parts::row(i), firstKey + Parts::column(j));
      scores[i][j] = isSeen ? scores[i][j] * scale : -infinity<T>();
      now = larger(now, scores[i][j]);
    }
    now = combineAcross(now, [](T a, T b) { return larger(a, b); });
    now = larger(now, largest[i]);
    // Of a query that has seen no key yet.
    const T base = now == -infinity<T>() ? T(0) : now;
    const T shrink = powerOf2(largest[i] - base);
    T sum = 0;
#pragma unroll
    for (int j = 0; j < across; ++j) {
      scores[i][j] = powerOf2(scores[i][j] - base);
      sum += scores[i][j];
    }
    sum = combineAcross(sum, [](T a, T b) { return a + b; });
    divisors[i] = divisors[i] * shrink + sum;
    largest[i] = now;
#pragma unroll
    for (int c = 0; c < Parts::columns; ++c)
      sums[i][c] *= shrink;
  }
}

template <typename Element, int HeadSize>
__device__ void Forward<Element, HeadSize>::run() {
  // The last tiles of a head see the most keys: they come first.
  const int tiles = blocksOf(p.queries, tile);
  const int first = (tiles - 1 - int(blockIdx.x % tiles)) * tile;
  const int head = int(blockIdx.x / tiles % p.heads);
  const int batch = int(blockIdx.x / tiles / p.heads);
  const int keyHead = head / (p.heads / p.keyHeads);
  const Rows<Element> queries(p.query, batch, p.queries, p.heads, head,
                              p.headSize, first,
                              least(tile, p.queries - first));
#pragma unroll
  for (int i = 0; i < across; ++i)
    largest[i] = -infinity<T>(), divisors[i] = 0;
  Parts::clear(sums);

  const int seen = mask.keysSeenBefore(int64_t(first) + queries.count);
  for (int key = 0; key < seen; key += tile) {
    const int count = least(tile, p.keys - key);
    typename Parts::Scores scores;
    Parts::score(queries,
                 Rows<Element>(p.key, batch, p.keys, p.keyHeads, keyHead,
                               p.headSize, key, count),
                 shared, scores);
    normalise(first, key, scores);
    Parts::share(scores, shared);
    Parts::addWeighted(Rows<Element>(p.value, batch, p.keys, p.keyHeads,
                                     keyHead, p.headSize, key, count),
                       shared, sums);
  }

#pragma unroll
  for (int i = 0; i < across; ++i) {
    const T divisor = divisors[i];
    const int query = first + Parts::row(i);
    if (Parts::x() == 0 && query < p.queries)
      static_cast<T *>(
          p.logsumexp)[(int64_t(batch) * p.queries + query) * p.heads + head] =
          divisor == 0 ? -infinity<T>() : largest[i] * T(ln2) + logOf(divisor);
    const T factor = divisor == 0 ? T(0) : 1 / divisor;
#pragma unroll
    for (int c = 0; c < Parts::columns; ++c)
      sums[i][c] *= factor;
  }
  Parts::storeSums(p.out, batch, p.queries, p.heads, head, p.headSize, first,
                   sums);
}

} // namespace

extern "C" __global__ void __launch_bounds__(threads, blocksAtOnce)
    weft_attention(const __grid_constant__ AttentionParameters p) {
  __shared__ TheTiles::Shared shared;
  Forward<TheElement, WEFT_HEAD_SIZE>(p, shared).run();
}

} // namespace weft::runtime
