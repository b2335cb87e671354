//===- AttentionGrad.cu - The derivative of attention on a GPU --*- CUDA
//-*-===//
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
// Two grids, so that nobody shares a sum: in the first a block of threads has a
// tile of queries and makes delta and dq, in the second it has a tile of keys
// and makes dk and dv. p and s are computed in both.
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.cuh"

namespace weft::runtime {
namespace {

/// What is known of a query beside its row.
template <typename T> struct Query {
  __device__ Query(const AttentionParameters &p, int batch, int head, int query)
      : place(query) {
    if (query >= p.queries)
      return;
    const int64_t row = (int64_t(batch) * p.queries + query) * p.heads + head;
    const T sum = static_cast<const T *>(p.forwardLogsumexp)[row];
    // A query that sees no key has no weights: none is above 2^-inf.
    if (sum != -infinity<T>())
      logsumexp = sum * T(log2e);
    delta = static_cast<const T *>(p.delta)[row];
  }

  int place;
  T logsumexp = infinity<T>();
  T delta = 0;
};

/// p and s in place of the two scores, which are q.k and g.v.
template <typename T>
__device__ void differentiate(const AttentionParameters &p, const Mask &mask,
                              const Query<T> &query, int key, T &weight,
                              T &cotangent) {
  const T score = mask.sees(query.place, key) ? weight * T(p.scale * log2e)
                                              : -infinity<T>();
  weight = powerOf2(score - query.logsumexp);
  cotangent = weight * T(p.scale) * (cotangent - query.delta);
}

/// delta of a tile's queries. The threads of a row share its sum.
template <typename Element, int HeadSize>
__device__ void storeDelta(const AttentionParameters &p, int batch, int head,
                           int first, const Rows<Element> &out,
                           const Rows<Element> &cotangents) {
  using Parts = Tiles<Element, HeadSize>;
  using T = typename Parts::T;
#pragma unroll
  for (int i = 0; i < Parts::across; ++i) {
    const int row = Parts::row(i);
    T sum = 0;
    for (int d = Parts::x(); d < p.headSize; d += threadsAcross)
      sum += out.at(row, d) * cotangents.at(row, d);
#pragma unroll
    for (int step = threadsAcross / 2; step > 0; step /= 2)
      sum += __shfl_xor_sync(~0u, sum, step);
    if (Parts::x() != 0 || first + row >= p.queries)
      continue;
    const int64_t place =
        (int64_t(batch) * p.queries + first + row) * p.heads + head;
    if (p.logsumexpCotangent)
      sum -= static_cast<const T *>(p.logsumexpCotangent)[place];
    static_cast<T *>(p.delta)[place] = sum;
  }
  __syncthreads();
}

template <typename Element, int HeadSize>
__device__ void
gradOfQueries(const AttentionParameters &p,
              typename Tiles<Element, HeadSize>::Shared &shared) {
  using Parts = Tiles<Element, HeadSize>;
  using T = typename Parts::T;
  constexpr int tile = Parts::tile, across = Parts::across;
  const Mask mask(p);
  const int tiles = blocksOf(p.queries, tile);
  const int first = (tiles - 1 - int(blockIdx.x % tiles)) * tile;
  const int head = int(blockIdx.x / tiles % p.heads);
  const int batch = int(blockIdx.x / tiles / p.heads);
  const int keyHead = head / (p.heads / p.keyHeads);
  const int count = least(tile, p.queries - first);
  const Rows<Element> queries(p.query, batch, p.queries, p.heads, head,
                              p.headSize, first, count);
  const Rows<Element> cotangents(p.outCotangent, batch, p.queries, p.heads,
                                 head, p.headSize, first, count);
  storeDelta<Element, HeadSize>(p, batch, head, first,
                                Rows<Element>(p.forwardOut, batch, p.queries,
                                              p.heads, head, p.headSize, first,
                                              count),
                                cotangents);
  typename Parts::Sums sums;
  Parts::clear(sums);

  const int seen = mask.keysSeenBefore(int64_t(first) + count);
  for (int key = 0; key < seen; key += tile) {
    const int keyCount = least(tile, p.keys - key);
    const Rows<Element> keys(p.key, batch, p.keys, p.keyHeads, keyHead,
                             p.headSize, key, keyCount);
    typename Parts::Scores weights, ofScores;
    Parts::score(queries, keys, shared, weights);
    Parts::score(cotangents,
                 Rows<Element>(p.value, batch, p.keys, p.keyHeads, keyHead,
                               p.headSize, key, keyCount),
                 shared, ofScores);
#pragma unroll
    for (int i = 0; i < across; ++i) {
      const Query<T> query(p, batch, head, first + Parts::row(i));
#pragma unroll
      for (int j = 0; j < across; ++j)
        differentiate(p, mask, query, key + Parts::column(j), weights[i][j],
                      ofScores[i][j]);
    }
    Parts::share(ofScores, shared);
    Parts::addWeighted(keys, shared, sums);
  }
  Parts::storeSums(p.queryCotangent, batch, p.queries, p.heads, head,
                   p.headSize, first, sums);
}

template <typename Element, int HeadSize>
__device__ void gradOfKeys(const AttentionParameters &p,
                           typename Tiles<Element, HeadSize>::Shared &shared) {
  using Parts = Tiles<Element, HeadSize>;
  using T = typename Parts::T;
  constexpr int tile = Parts::tile, across = Parts::across;
  const Mask mask(p);
  const int tiles = blocksOf(p.keys, tile);
  const int first = int(blockIdx.x % tiles) * tile;
  const int keyHead = int(blockIdx.x / tiles % p.keyHeads);
  const int batch = int(blockIdx.x / tiles / p.keyHeads);
  const int count = least(tile, p.keys - first);
  const int group = p.heads / p.keyHeads;
  const Rows<Element> keys(p.key, batch, p.keys, p.keyHeads, keyHead,
                           p.headSize, first, count);
  const Rows<Element> values(p.value, batch, p.keys, p.keyHeads, keyHead,
                             p.headSize, first, count);
  typename Parts::Sums keySums, valueSums;
  Parts::clear(keySums);
  Parts::clear(valueSums);

  for (int head = keyHead * group; head < (keyHead + 1) * group; ++head)
    for (int query = 0; query < p.queries; query += tile) {
      const int queryCount = least(tile, p.queries - query);
      if (mask.keysSeenBefore(int64_t(query) + queryCount) <= first)
        continue; // the same for all threads
      const Rows<Element> queries(p.query, batch, p.queries, p.heads, head,
                                  p.headSize, query, queryCount);
      const Rows<Element> cotangents(p.outCotangent, batch, p.queries, p.heads,
                                     head, p.headSize, query, queryCount);
      // Rows of these tiles are keys, columns are queries.
      typename Parts::Scores weights, ofScores;
      Parts::score(keys, queries, shared, weights);
      Parts::score(values, cotangents, shared, ofScores);
#pragma unroll
      for (int j = 0; j < across; ++j) {
        const Query<T> column(p, batch, head, query + Parts::column(j));
#pragma unroll
        for (int i = 0; i < across; ++i)
          differentiate(p, mask, column, first + Parts::row(i), weights[i][j],
                        ofScores[i][j]);
      }
      Parts::share(weights, shared);
      Parts::addWeighted(cotangents, shared, valueSums);
      Parts::share(ofScores, shared);
      Parts::addWeighted(queries, shared, keySums);
    }
  Parts::storeSums(p.keyCotangent, batch, p.keys, p.keyHeads, keyHead,
                   p.headSize, first, keySums);
  Parts::storeSums(p.valueCotangent, batch, p.keys, p.keyHeads, keyHead,
                   p.headSize, first, valueSums);
}

} // namespace

extern "C" __global__ void __launch_bounds__(threads, blocksAtOnce)
    weft_attention_grad_queries(const __grid_constant__ AttentionParameters p) {
  __shared__ TheTiles::Shared shared;
  gradOfQueries<TheElement, WEFT_HEAD_SIZE>(p, shared);
}

extern "C" __global__ void __launch_bounds__(threads, blocksAtOnce)
    weft_attention_grad_keys(const __grid_constant__ AttentionParameters p) {
  __shared__ TheTiles::Shared shared;
  gradOfKeys<TheElement, WEFT_HEAD_SIZE>(p, shared);
}

} // namespace weft::runtime
