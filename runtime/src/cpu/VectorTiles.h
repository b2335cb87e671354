//===- VectorTiles.h - Products of tiles in registers -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors of WEFT_VECTOR_BYTES, small GEMMs and the exponential
// function on them. Included by files that are compiled for one set of vector
// registers: everything is local to them (see AttentionKernels.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_VECTORTILES_H
#define WEFT_RUNTIME_SRC_CPU_VECTORTILES_H

#include <cstdint>
#include <utility>

namespace weft::runtime {
namespace {

/// Vectors of `T`. They are loaded from and stored to any element.
template <typename T> struct Vectors;
template <> struct Vectors<float> {
  using Int = uint32_t;
  using Vector __attribute__((vector_size(WEFT_VECTOR_BYTES), may_alias,
                              aligned(sizeof(float)))) = float;
  using IntVector __attribute__((vector_size(WEFT_VECTOR_BYTES))) = uint32_t;
  static constexpr int mantissaBits = 23;
  static constexpr Int bias = 127;
  static constexpr float least = -126;
  static constexpr float roundingTerm = 12582912.0f; // 1.5 * 2^23
  static constexpr int terms = 8;
};
template <> struct Vectors<double> {
  using Int = uint64_t;
  using Vector __attribute__((vector_size(WEFT_VECTOR_BYTES), may_alias,
                              aligned(sizeof(double)))) = double;
  using IntVector __attribute__((vector_size(WEFT_VECTOR_BYTES))) = uint64_t;
  static constexpr int mantissaBits = 52;
  static constexpr Int bias = 1023;
  static constexpr double least = -1022;
  static constexpr double roundingTerm = 6755399441055744.0; // 1.5 * 2^52
  static constexpr int terms = 14;
};

template <typename T> using VectorOf = typename Vectors<T>::Vector;

template <typename T>
constexpr int64_t laneCount = WEFT_VECTOR_BYTES / int64_t(sizeof(T));

template <typename T> inline VectorOf<T> &vectorAt(T *address) {
  return *reinterpret_cast<VectorOf<T> *>(address);
}
template <typename T> inline const VectorOf<T> &vectorAt(const T *address) {
  return *reinterpret_cast<const VectorOf<T> *>(address);
}

template <typename T> inline VectorOf<T> splat(T number) {
  return number - VectorOf<T>{}; // not a sum: -0 stays -0
}

//===----------------------------------------------------------------------===//
// Transposition
//===----------------------------------------------------------------------===//

/// A square of numbers, as wide as a vector.
template <typename T> struct Square {
  static constexpr int64_t width = laneCount<T>;

  void transpose();

  alignas(64) T rows[width][width];
};

/// Elements of two vectors in turn: of their first halves, or of their second.
template <typename T, int first, int... i>
inline VectorOf<T> interleave(VectorOf<T> x, VectorOf<T> y,
                              std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(
      x, y, (first + i / 2 + i % 2 * int(laneCount<T>))...);
}

/// Interleaving the first half of the rows with the second moves a bit of the
/// row's number to the column's; done for each bit, they are exchanged.
template <typename T> void Square<T>::transpose() {
  constexpr int half = width / 2;
  using Lanes = std::make_integer_sequence<int, int(width)>;
  VectorOf<T> from[width], to[width];
#pragma GCC unroll 16
  for (int i = 0; i < width; ++i)
    from[i] = vectorAt(rows[i]);
#pragma GCC unroll 4
  for (int bit = 1; bit < width; bit *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) {
      to[2 * i] = interleave<T, 0>(from[i], from[i + half], Lanes());
      to[2 * i + 1] = interleave<T, half>(from[i], from[i + half], Lanes());
    }
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i)
      from[i] = to[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < width; ++i)
    vectorAt(rows[i]) = from[i];
}

//===----------------------------------------------------------------------===//
// Exponential function
//===----------------------------------------------------------------------===//

/// Taylor coefficients of 2^x: ln(2)^i / i!.
constexpr double exp2Terms[] = {
    1.0,
    0.69314718055994530942,
    0.24022650695910071233,
    0.055504108664821579953,
    0.0096181291076284771619,
    0.0013333558146428443424,
    1.5403530393381609954e-4,
    1.5252733804059840280e-5,
    1.3215486790144309488e-6,
    1.0178086009239699728e-7,
    7.0549116208011233299e-9,
    4.4455382718708114976e-10,
    2.5678435993488205142e-11,
    1.3691488853904128881e-12,
};

/// 2^x for x below the largest exponent; 0 where it would be subnormal.
template <typename T> inline VectorOf<T> exp2(VectorOf<T> x) {
  using V = Vectors<T>;
  using Vector = VectorOf<T>;
  const Vector bounded = x < V::least ? splat<T>(V::least) : x;
  const Vector shifted = bounded + V::roundingTerm;
  const Vector fraction = bounded - (shifted - V::roundingTerm);
  Vector power = splat<T>(T(exp2Terms[V::terms - 1]));
#pragma GCC unroll 16
  for (int i = V::terms - 2; i >= 0; --i)
    power = power * fraction + T(exp2Terms[i]);
  // The rounded exponent stands in the low bits of the shifted number.
  const auto exponent =
      (reinterpret_cast<typename V::IntVector>(shifted) + V::bias)
      << V::mantissaBits;
  return x < V::least ? Vector{} : power * reinterpret_cast<Vector>(exponent);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A matrix of which single elements are read.
template <typename T> struct Elements {
  const T *data;
  int64_t rowStride, columnStride;
};

/// A row-major matrix that is read and written by vectors.
template <typename T> struct Rows {
  T *data;
  int64_t stride;
};

/// The largest tile of a result that stays in registers.
#if WEFT_VECTOR_BYTES == 64
constexpr int tileRows = 6, tileVectors = 4;
#else
constexpr int tileRows = 6, tileVectors = 2;
#endif

template <typename T, int rows, int vectors>
void tileProduct(int64_t depth, Elements<T> a, Rows<const T> b, Rows<T> c,
                 bool accumulate) {
  using Vector = VectorOf<T>;
  constexpr int64_t width = laneCount<T>;
  Vector sums[rows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      sums[i][v] =
          accumulate ? vectorAt(c.data + i * c.stride + v * width) : Vector{};
  for (int64_t k = 0; k < depth; ++k) {
    Vector right[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      right[v] = vectorAt(b.data + k * b.stride + v * width);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const Vector left =
          splat<T>(a.data[i * a.rowStride + k * a.columnStride]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sums[i][v] += left * right[v];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      vectorAt(c.data + i * c.stride + v * width) = sums[i][v];
}

template <typename T> struct TileTable {
  using Function = void (*)(int64_t, Elements<T>, Rows<const T>, Rows<T>, bool);
  Function functions[tileRows][tileVectors];

  template <int rows, int vectors> constexpr void fill() {
    functions[rows - 1][vectors - 1] = tileProduct<T, rows, vectors>;
    if constexpr (vectors < tileVectors)
      fill<rows, vectors + 1>();
    else if constexpr (rows < tileRows)
      fill<rows + 1, 1>();
  }
  constexpr TileTable() : functions() { fill<1, 1>(); }
};

template <typename T> constexpr TileTable<T> tiles;

/// c[m, n] = sum over `depth` of a * b, plus the old c if `accumulate`; n is a
/// multiple of the vector width. Each element is summed in the order of depth.
template <typename T>
void product(int64_t m, int64_t n, int64_t depth, Elements<T> a,
             Rows<const T> b, Rows<T> c, bool accumulate) {
  constexpr int64_t width = laneCount<T>;
  for (int64_t column = 0; column < n; column += tileVectors * width) {
    const int64_t rest = (n - column) / width;
    const int64_t vectors = rest < tileVectors ? rest : tileVectors;
    for (int64_t row = 0; row < m; row += tileRows) {
      const int64_t rows = m - row < tileRows ? m - row : tileRows;
      tiles<T>.functions[rows - 1][vectors - 1](
          depth, {a.data + row * a.rowStride, a.rowStride, a.columnStride},
          {b.data + column, b.stride},
          {c.data + row * c.stride + column, c.stride}, accumulate);
    }
  }
}

} // namespace
} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_VECTORTILES_H
