//===- Lanes.h - Handlers: one operation on the lanes of a warp -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   laneHandler<float, Add, 2>: d = Add::apply(a, b) in every active lane
//
// Elements of 16 bits are computed in double and rounded once; pairs are
// computed element by element.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_LANES_H
#define WEFT_EMULATOR_PTX_LANES_H

#include "Half.h"
#include "Warp.h"

#include <bit>
#include <type_traits>
#include <utility>

namespace weft::emulator {

/// Calls `body` with each lane of `mask`. A full warp becomes a loop that the
/// compiler vectorises: what a lane writes no other lane reads.
template <typename Body>
[[gnu::always_inline]] inline void forLanes(Mask mask, Body body) {
  if (mask == ~Mask(0)) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (uint32_t lane = 0; lane < warpSize; ++lane)
      body(lane);
    return;
  }
  for (; mask; mask &= mask - 1)
    body(std::countr_zero(mask));
}

template <typename T> struct Pair {
  T low, high;
};

/// How an element is computed with.
template <typename T> struct Element {
  using Number = T;
  static T load(T value) { return value; }
  static T store(T value, Rounding) { return value; }
};
template <int Mantissa> struct Element<Float16<Mantissa>> {
  using Number = double;
  static double load(Float16<Mantissa> value) { return toDouble(value); }
  static Float16<Mantissa> store(double value, Rounding rounding) {
    return fromDouble<Float16<Mantissa>>(value, rounding);
  }
};

/// Applies `F` to elements, or to both elements of pairs.
template <typename F, typename T, typename... Ts>
[[gnu::always_inline]] inline auto applyTo(T first, Ts... others) {
  if constexpr (std::is_arithmetic_v<T>)
    return F::apply(first, others...);
  else
    return Element<T>::store(
        F::apply(Element<T>::load(first), Element<T>::load(others)...),
        Rounding::Nearest);
}
template <typename F, typename T, typename... Ts>
[[gnu::always_inline]] inline Pair<T> applyTo(Pair<T> first, Ts... others) {
  return {applyTo<F>(first.low, others.low...),
          applyTo<F>(first.high, others.high...)};
}

/// Result `R` of `Arity` operands of type `T`, in operands 1, 2, ...
template <typename R, typename T, typename F, int Arity>
void laneHandler(Warp &warp, const Op &op, Mask mask) {
  R *out = warp.lanes<R>(op.operands[0]);
  const T *a = warp.lanes<T>(op.operands[1]);
  if constexpr (Arity == 1) {
    forLanes(mask, [=](uint32_t i) { out[i] = applyTo<F>(a[i]); });
  } else {
    const T *b = warp.lanes<T>(op.operands[2]);
    if constexpr (Arity == 2) {
      forLanes(mask, [=](uint32_t i) { out[i] = applyTo<F>(a[i], b[i]); });
    } else {
      const T *c = warp.lanes<T>(op.operands[3]);
      forLanes(mask,
               [=](uint32_t i) { out[i] = applyTo<F>(a[i], b[i], c[i]); });
    }
  }
}

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_LANES_H
