//===- AttentionTiles.cuh - Tiles of attention on a GPU ---------*- CUDA
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attention and its derivative share. A block of 16 x 16 threads holds a
// square tile of scores in registers, `across` x `across` to a thread: thread
// (x, y) has the rows from y * across and the columns from x * across.
//
// Two kinds of product lead to and from it:
//
//   scores      tile[i][j] = sum over d of left[i][d] * right[j][d],
//               both read in chunks of d into shared memory, transposed
//   weighted    rows[i][d] += sum over j of tile[i][j] * values[j][d],
//   sum         the tile transposed in shared memory, values in chunks of j
//
// Rows past the end and columns past the head's size are read as zeros. Sums
// over queries and keys are taken in their order whatever the grid: results are
// the same in every run. No tensor cores: products of 16-bit elements are those
// of floats.
//
// Files of kernels are compiled once for each element type and size of heads:
// a plan needs one of them, and drivers take long to compile them all.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_ATTENTION_KERNELS_ATTENTIONTILES_CUH
#define WEFT_RUNTIME_SRC_CUDA_ATTENTION_KERNELS_ATTENTIONTILES_CUH

#include "AttentionParameters.h"

#if !defined(WEFT_ELEMENT) || !defined(WEFT_HEAD_SIZE)
#error "WEFT_ELEMENT and WEFT_HEAD_SIZE say what the kernels are for"
#endif

namespace weft::runtime {
namespace {

constexpr int threadsAcross = attentionThreadsAcross;
constexpr int threads = attentionThreads;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// 16 bits of a float, the type of the elements of bf16 tensors.
struct Brain {
  uint16_t bits;
};
/// The elements of f16 tensors.
struct Half {
  uint16_t bits;
};

__device__ inline float load(Brain value) {
  return __uint_as_float(uint32_t(value.bits) << 16);
}
__device__ inline float load(Half value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
__device__ inline float load(float value) { return value; }
__device__ inline double load(double value) { return value; }

__device__ inline void store(float &to, float value) { to = value; }
__device__ inline void store(double &to, double value) { to = value; }
/// Rounds to the nearest, ties to even; a NaN stays one.
__device__ inline void store(Brain &to, float value) {
  const uint32_t bits = __float_as_uint(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  to.bits = uint16_t(value != value ? bits >> 16 | 0x40 : rounded);
}

__device__ inline void store(Half &to, float value) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(value));
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

template <typename T> __device__ T infinity() {
  return T(__longlong_as_double(0x7ff0000000000000));
}
__device__ inline float powerOf2(float x) { return exp2f(x); }
__device__ inline double powerOf2(double x) { return exp2(x); }
__device__ inline float logOf(float x) { return logf(x); }
__device__ inline double logOf(double x) { return log(x); }
__device__ inline float larger(float a, float b) { return fmaxf(a, b); }
__device__ inline double larger(double a, double b) { return fmax(a, b); }

constexpr double log2e = 1.4426950408889634074;
constexpr double ln2 = 0.69314718055994530942;

//===----------------------------------------------------------------------===//
// Rows in memory
//===----------------------------------------------------------------------===//

/// Rows of one head of a tensor [batch, positions, heads, size] from a position on.
template <typename Element> struct Rows {
  using T = typename SumOf<Element>::Type;

  __device__ Rows(const void *data, int batch, int positions, int heads, int head,
                  int size, int first, int count)
      : data(static_cast<const Element *>(data) +
             ((int64_t(batch) * positions + first) * heads + head) * size),
        stride(int64_t(heads) * size), size(size), count(count) {}

  __device__ T at(int row, int d) const {
    return row < count && d < size ? load(data[row * stride + d]) : T(0);
  }

  const Element *data;
  const int64_t stride;
  const int size, count;
};

/// Where an element of a result goes.
template <typename Element>
__device__ void storeResult(const AttentionResultPointer &to, int64_t offset,
                            typename SumOf<Element>::Type value) {
  if (to.isSum)
    static_cast<typename SumOf<Element>::Type *>(to.data)[offset] = value;
  else
    store(static_cast<Element *>(to.data)[offset], value);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The sizes for elements of a type and heads of up to `HeadSize`.
template <typename Element, int HeadSize> struct Tiles {
  using T = typename SumOf<Element>::Type;

  /// Rows and columns of a tile, and of a thread's part of it.
  static constexpr int tile = attentionTile(sizeof(T));
  static constexpr int across = tile / threadsAcross;
  /// Columns of a head that a thread sums.
  static constexpr int columns = HeadSize / threadsAcross;
  /// How much of a head is in shared memory for scores, and how many rows for
  /// weighted sums.
  static constexpr int scoreChunk = 32;
  static constexpr int rowChunk = 64 / int(sizeof(T));
  /// Rows of shared memory begin in different banks, at multiples of 16 bytes.
  static constexpr int padded = tile + 16 / int(sizeof(T));

  using Scores = T[across][across];
  using Sums = T[across][columns];

  struct Shared {
    union {
      struct {
        T left[scoreChunk][padded];
        T right[scoreChunk][padded];
      } scores;
      T rows[rowChunk][HeadSize];
    };
    /// Weights, transposed.
    T weights[tile][padded];
  };
  static_assert(sizeof(Shared) <= 48 << 10, "no more without asking for it");

  __device__ static int x() { return threadIdx.x % threadsAcross; }
  __device__ static int y() { return threadIdx.x / threadsAcross; }
  /// The row of a tile that is the thread's row `i`, and its column `j`.
  __device__ static int row(int i) { return y() * across + i; }
  __device__ static int column(int j) { return x() * across + j; }
  /// The column of a head that is the thread's sum `c`: threads that read at
  /// once have neighbours.
  __device__ static int headColumn(int c) {
    return c / across * (threadsAcross * across) + x() * across + c % across;
  }

  template <int Count> __device__ static void clear(T (&sums)[across][Count]) {
#pragma unroll
    for (int i = 0; i < across; ++i)
#pragma unroll
      for (int c = 0; c < Count; ++c)
        sums[i][c] = 0;
  }

  /// scores = left right^T. Ends with shared memory still being read.
  __device__ static void score(const Rows<Element> &left,
                               const Rows<Element> &right, Shared &shared,
                               Scores &scores) {
    clear(scores);
    for (int first = 0; first < left.size; first += scoreChunk) {
      __syncthreads();
      for (int n = threadIdx.x; n < tile * scoreChunk; n += threads) {
        const int i = n / scoreChunk, d = n % scoreChunk;
        shared.scores.left[d][i] = left.at(i, first + d);
        shared.scores.right[d][i] = right.at(i, first + d);
      }
      __syncthreads();
#pragma unroll 8
      for (int d = 0; d < scoreChunk; ++d) {
        T ofLeft[across], ofRight[across];
        copy(ofLeft, &shared.scores.left[d][row(0)]);
        copy(ofRight, &shared.scores.right[d][column(0)]);
#pragma unroll
        for (int i = 0; i < across; ++i)
#pragma unroll
          for (int j = 0; j < across; ++j)
            scores[i][j] += ofLeft[i] * ofRight[j];
      }
    }
  }

  /// Puts the tile in shared memory, for `addWeighted`.
  __device__ static void share(const Scores &weights, Shared &shared) {
    __syncthreads();
#pragma unroll
    for (int j = 0; j < across; ++j)
#pragma unroll
      for (int i = 0; i < across; ++i)
        shared.weights[column(j)][row(i)] = weights[i][j];
  }

  /// sums += weights rows. Ends with shared memory still being read.
  __device__ static void addWeighted(const Rows<Element> &rows, Shared &shared,
                                     Sums &sums) {
    for (int first = 0; first < rows.count; first += rowChunk) {
      __syncthreads();
      for (int n = threadIdx.x; n < rowChunk * HeadSize; n += threads)
        shared.rows[n / HeadSize][n % HeadSize] =
            rows.at(first + n / HeadSize, n % HeadSize);
      __syncthreads();
#pragma unroll 4
      for (int k = 0; k < rowChunk; ++k) {
        T weights[across];
        copy(weights, &shared.weights[first + k][row(0)]);
#pragma unroll
        for (int c = 0; c < columns; c += across) {
          T values[across];
          copy(values, &shared.rows[k][headColumn(c)]);
#pragma unroll
          for (int i = 0; i < across; ++i)
#pragma unroll
            for (int j = 0; j < across; ++j)
              sums[i][c + j] += weights[i] * values[j];
        }
      }
    }
  }

  /// Writes the thread's sums to rows of a result [batch, positions, heads, size].
  __device__ static void storeSums(const AttentionResultPointer &to, int batch,
                                   int positions, int heads, int head, int size,
                                   int first, const Sums &sums) {
#pragma unroll
    for (int i = 0; i < across; ++i) {
      if (first + row(i) >= positions)
        continue;
      const int64_t offset =
          ((int64_t(batch) * positions + first + row(i)) * heads + head) * size;
#pragma unroll
      for (int c = 0; c < columns; ++c)
        if (headColumn(c) < size)
          storeResult<Element>(to, offset + headColumn(c), sums[i][c]);
    }
  }

private:
  /// In one access of 16 bytes.
  __device__ static void copy(T (&values)[across], const T *from) {
    struct alignas(16) Whole {
      T values[across];
    };
    static_assert(sizeof(Whole) == 16);
    const Whole whole = *reinterpret_cast<const Whole *>(from);
#pragma unroll
    for (int i = 0; i < across; ++i)
      values[i] = whole.values[i];
  }
};

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Which keys a query sees.
class Mask {
public:
  __device__ explicit Mask(const AttentionParameters &p)
      : isCausal(p.isCausal), queries(p.queries), keys(p.keys),
        diagonal(p.diagonal ? *p.diagonal : 0) {}

  __device__ bool sees(int query, int key) const {
    return query < queries && key < keys &&
           (!isCausal || key <= query + diagonal);
  }
  /// Keys before this one are all that queries before `query` see.
  __device__ int keysSeenBefore(int64_t query) const {
    const int64_t seen = isCausal ? query + diagonal : keys;
    return int(seen < 0 ? 0 : seen < keys ? seen : keys);
  }

private:
  const bool isCausal;
  const int queries, keys;
  const int64_t diagonal;
};

__device__ inline int least(int a, int b) { return a < b ? a : b; }
__device__ inline int blocksOf(int positions, int tile) {
  return (positions + tile - 1) / tile;
}

/// What this file is compiled for.
using TheElement = WEFT_ELEMENT;
using TheTiles = Tiles<TheElement, WEFT_HEAD_SIZE>;
/// How many blocks a multiprocessor should hold: as many as there are registers
/// for without spilling.
constexpr int blocksAtOnce =
    WEFT_HEAD_SIZE * sizeof(TheTiles::T) <= 256 ? 2 : 1;

} // namespace
} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_ATTENTION_KERNELS_ATTENTIONTILES_CUH
