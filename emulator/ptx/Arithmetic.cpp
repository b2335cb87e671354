//===- Arithmetic.cpp - add, mul, fma and their like ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FloatLanes.h"

namespace weft::emulator {
namespace {

// Integers wrap: signed ones are computed as unsigned ones.
template <typename T> using Wrapping = std::make_unsigned_t<T>;

struct Add {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
    else
      return a + b;
  }
};
struct Sub {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
    else
      return a - b;
  }
};
struct Mul {
  template <typename T> static T apply(T a, T b) { return a * b; }
};
struct Div {
  template <typename T> static T apply(T a, T b) { return a / b; }
};
struct Fma {
  template <typename T> static T apply(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct Neg {
  template <typename T> static T apply(T a) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(-Wrapping<T>(a));
    else
      return -a;
  }
};
struct Abs {
  template <typename T> static T apply(T a) {
    if constexpr (std::is_integral_v<T>)
      return a < 0 ? Neg::apply(a) : a;
    else
      return std::fabs(a);
  }
};

// A number wins over NaN; -0 is less than +0.
struct Min {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a) || std::isnan(b))
        return std::isnan(a) ? b : a;
      if (a == b)
        return std::signbit(a) ? a : b;
    }
    return b < a ? b : a;
  }
};
struct Max {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a) || std::isnan(b))
        return std::isnan(a) ? b : a;
      if (a == b)
        return std::signbit(a) ? b : a;
    }
    return a < b ? b : a;
  }
};
/// NaN wins over a number.
template <typename F> struct WithNaN {
  template <typename T> static T apply(T a, T b) {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN()
                                          : F::apply(a, b);
  }
};
struct CopySign {
  template <typename T> static T apply(T sign, T magnitude) {
    return std::copysign(magnitude, sign);
  }
};

/// What PTX has for pairs of integers of 16 bits.
template <typename F> inline constexpr bool takesPairs = false;
template <> inline constexpr bool takesPairs<Add> = true;
template <> inline constexpr bool takesPairs<Min> = true;
template <> inline constexpr bool takesPairs<Max> = true;

template <typename F, int Arity> Handler integerHandler(Type type) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return laneHandler<uint16_t, uint16_t, F, Arity>;
  case Type::U32:
  case Type::B32:
    return laneHandler<uint32_t, uint32_t, F, Arity>;
  case Type::U64:
  case Type::B64:
    return laneHandler<uint64_t, uint64_t, F, Arity>;
  case Type::S16:
    return laneHandler<int16_t, int16_t, F, Arity>;
  case Type::S32:
    return laneHandler<int32_t, int32_t, F, Arity>;
  case Type::S64:
    return laneHandler<int64_t, int64_t, F, Arity>;
  default:
    break;
  }
  if constexpr (takesPairs<F>) {
    if (type == Type::U16x2)
      return laneHandler<Pair<uint16_t>, Pair<uint16_t>, F, Arity>;
    if (type == Type::S16x2)
      return laneHandler<Pair<int16_t>, Pair<int16_t>, F, Arity>;
  }
  return nullptr;
}

template <typename F, int Arity> void emitInteger(Emitter &e, Type type) {
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(Arity + 1);
  Handler handler = integerHandler<F, Arity>(type);
  if (!handler)
    e.fail("the type does not go with the operation");
  std::vector<Value> uses;
  for (int i = 1; i <= Arity; ++i)
    uses.push_back(e.read(e.operand(i), type));
  e.emit(handler, {e.written(e.operand(0), sizeOf(type))}, uses);
}

template <typename F, int Arity> void number(Emitter &e) {
  FloatFlags flags = FloatFlags::take(e.modifiers);
  Type type = e.modifiers.type();
  if (isFloat(type))
    return emitFloat<F, Arity>(e, flags, type);
  if (flags.bits())
    e.fail("an integer operation has no rounding and does not saturate");
  emitInteger<F, Arity>(e, type);
}

template <typename F, int Arity> void floating(Emitter &e) {
  FloatFlags flags = FloatFlags::take(e.modifiers);
  emitFloat<F, Arity>(e, flags, e.modifiers.type());
}

template <typename F> void extremum(Emitter &e) {
  FloatFlags flags = FloatFlags::take(e.modifiers);
  bool nan = e.modifiers.take("NaN");
  Type type = e.modifiers.type();
  if (!isFloat(type))
    return emitInteger<F, 2>(e, type);
  if (nan)
    emitFloat<WithNaN<F>, 2>(e, flags, type);
  else
    emitFloat<F, 2>(e, flags, type);
}

void division(Emitter &e) {
  // The approximations are at most as exact as what is computed here.
  bool approximate = e.modifiers.take("approx") || e.modifiers.take("full");
  FloatFlags flags = FloatFlags::take(e.modifiers);
  Type type = e.modifiers.type();
  if (isFloat(type))
    return emitFloat<Div, 2>(e, flags, type);
  if (approximate || flags.bits())
    e.fail("an integer operation has no rounding and does not saturate");
  addIntegerDivision(e, type);
}

void multiplication(Emitter &e) {
  FloatFlags flags = FloatFlags::take(e.modifiers);
  if (addIntegerProduct(e))
    return;
  emitFloat<Mul, 2>(e, flags, e.modifiers.type());
}

void multiplyAdd(Emitter &e) {
  FloatFlags flags = FloatFlags::take(e.modifiers);
  if (addIntegerProduct(e))
    return;
  emitFloat<Fma, 3>(e, flags, e.modifiers.type());
}

} // namespace

void addArithmetic(InstructionTable &table) {
  table["add"] = number<Add, 2>;
  table["sub"] = number<Sub, 2>;
  table["neg"] = number<Neg, 1>;
  table["abs"] = number<Abs, 1>;
  table["min"] = extremum<Min>;
  table["max"] = extremum<Max>;
  table["mul"] = multiplication;
  table["mad"] = multiplyAdd;
  table["fma"] = floating<Fma, 3>;
  table["div"] = division;
  table["copysign"] = floating<CopySign, 2>;
}

} // namespace weft::emulator
