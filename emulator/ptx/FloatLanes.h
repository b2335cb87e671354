//===- FloatLanes.h - Handlers of floating point with modifiers -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `.ftz` takes subnormal numbers as zeros, `.sat` limits to [0, 1] (NaN is 0),
// and .rz, .rm, .rp round in a direction. Without any of them the handler is
// the plain one of Lanes.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_FLOATLANES_H
#define WEFT_EMULATOR_PTX_FLOATLANES_H

#include "Emitter.h"
#include "Lanes.h"

#include <cfenv>
#include <cmath>
#include <limits>

namespace weft::emulator {

struct FloatFlags {
  Rounding rounding = Rounding::Nearest;
  bool flush = false, saturate = false;

  uint8_t bits() const {
    return static_cast<uint8_t>(rounding) | flush << 2 | saturate << 3;
  }
  static FloatFlags of(uint8_t bits) {
    return {static_cast<Rounding>(bits & 3), (bits & 4) != 0, (bits & 8) != 0};
  }
  static FloatFlags take(Modifiers &modifiers) {
    FloatFlags flags;
    flags.rounding = modifiers.rounding().value_or(Rounding::Nearest);
    flags.flush = modifiers.take("ftz");
    flags.saturate = modifiers.take("sat");
    return flags;
  }
};

/// The rounding of this thread's arithmetic while it lives.
class RoundingScope {
public:
  explicit RoundingScope(Rounding rounding) : old(std::fegetround()) {
    constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                             FE_UPWARD};
    std::fesetround(modes[static_cast<int>(rounding)]);
  }
  ~RoundingScope() { std::fesetround(old); }
  RoundingScope(const RoundingScope &) = delete;
  RoundingScope &operator=(const RoundingScope &) = delete;

private:
  int old;
};

/// Keeps the compiler from moving arithmetic over a change of the rounding.
template <typename T> [[gnu::always_inline]] inline T pinned(T value) {
  asm volatile("" : "+m"(value));
  return value;
}

template <typename T> [[gnu::always_inline]] inline T flushed(T value) {
  return std::fabs(value) < std::numeric_limits<T>::min()
             ? std::copysign(T(0), value)
             : value;
}
template <typename T> [[gnu::always_inline]] inline T saturated(T value) {
  return value > 0 ? (value < 1 ? value : T(1)) : T(0);
}

template <typename T, typename F, typename... Ts>
T applyFlags(FloatFlags flags, Ts... operands) {
  if (flags.flush)
    return applyFlags<T, F>({flags.rounding, false, flags.saturate},
                            flushed(operands)...);
  T value = pinned(F::apply(pinned(operands)...));
  return flags.saturate ? saturated(value) : value;
}

template <typename T, typename F, int Arity>
void flagHandler(Warp &warp, const Op &op, Mask mask) {
  FloatFlags flags = FloatFlags::of(op.flags);
  RoundingScope scope(flags.rounding);
  T *out = warp.lanes<T>(op.operands[0]);
  const T *a = warp.lanes<T>(op.operands[1]);
  const T *b = warp.lanes<T>(op.operands[Arity > 1 ? 2 : 1]);
  const T *c = warp.lanes<T>(op.operands[Arity > 2 ? 3 : 1]);
  forLanes(mask, [=](uint32_t i) {
    T value;
    if constexpr (Arity == 1)
      value = applyFlags<T, F>(flags, a[i]);
    else if constexpr (Arity == 2)
      value = applyFlags<T, F>(flags, a[i], b[i]);
    else
      value = applyFlags<T, F>(flags, a[i], b[i], c[i]);
    out[i] = flags.flush ? flushed(value) : value;
  });
}

/// The handler of `F` for floating-point elements of `type`, or null.
template <typename F, int Arity>
Handler floatHandler(Type type, FloatFlags flags) {
  // Subnormal numbers of 16 bits are kept: the difference is below 2^-14.
  if (type != Type::F32 && type != Type::F64)
    flags.flush = false;
  bool plain = flags.bits() == 0;
  switch (type) {
  case Type::F32:
    return plain ? laneHandler<float, float, F, Arity>
                 : flagHandler<float, F, Arity>;
  case Type::F64:
    return plain ? laneHandler<double, double, F, Arity>
                 : flagHandler<double, F, Arity>;
  default:
    break;
  }
  if (!plain)
    return nullptr;
  switch (type) {
  case Type::F16:
    return laneHandler<Half, Half, F, Arity>;
  case Type::BF16:
    return laneHandler<BFloat, BFloat, F, Arity>;
  case Type::F16x2:
    return laneHandler<Pair<Half>, Pair<Half>, F, Arity>;
  case Type::BF16x2:
    return laneHandler<Pair<BFloat>, Pair<BFloat>, F, Arity>;
  case Type::F32x2:
    return laneHandler<Pair<float>, Pair<float>, F, Arity>;
  default:
    return nullptr;
  }
}

/// Emits `F` with the flags and the type that the statement has left.
template <typename F, int Arity>
void emitFloat(Emitter &emitter, FloatFlags flags, Type type) {
  emitter.modifiers.finish(emitter.statement.opcode);
  emitter.expectOperands(Arity + 1);
  Handler handler = floatHandler<F, Arity>(type, flags);
  if (!handler)
    emitter.fail("the type does not go with the operation");
  std::vector<Value> uses;
  for (int i = 1; i <= Arity; ++i)
    uses.push_back(emitter.read(emitter.operand(i), type));
  Value out = emitter.written(emitter.operand(0), sizeOf(type));
  emitter.emit(handler, {out}, uses).flags = flags.bits();
}

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_FLOATLANES_H
