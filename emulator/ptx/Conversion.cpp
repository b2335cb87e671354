//===- Conversion.cpp - cvt -----------------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A conversion is two steps: the source becomes an integer of 64 bits or a
// double, both of which hold it exactly, and that is rounded once to the
// result.
//
//===----------------------------------------------------------------------===//

#include "FloatLanes.h"

namespace weft::emulator {
namespace {

struct Buffer {
  union {
    double real[warpSize];
    int64_t integer[warpSize];
    uint64_t natural[warpSize];
  };
};
enum class Held : uint8_t { Real, Integer, Natural };

constexpr Held heldAs(Type type) {
  switch (type) {
  case Type::F16:
  case Type::BF16:
  case Type::F32:
  case Type::F64:
    return Held::Real;
  case Type::S8:
  case Type::S16:
  case Type::S32:
  case Type::S64:
    return Held::Integer;
  default:
    return Held::Natural;
  }
}

/// How an instruction converts; packed into Op::immediate.
struct Plan {
  Type source, result;
  /// Bytes of the registers, which may be wider than the types.
  uint8_t sourceWidth, resultWidth;
  Rounding rounding;
  /// Rounds to an integral value (.rni and so on), before anything else.
  bool integral;
  bool flush, saturate;
};
static_assert(sizeof(Plan) <= sizeof(uint64_t));

template <typename T> struct Loader {
  static void load(const std::byte *place, uint32_t width, Buffer &buffer) {
    for (uint32_t i = 0; i < warpSize; ++i) {
      T value;
      __builtin_memcpy(&value, place + i * width, sizeof(T));
      if constexpr (!std::is_integral_v<T>)
        buffer.real[i] = Element<T>::load(value);
      else if constexpr (std::is_signed_v<T>)
        buffer.integer[i] = value;
      else
        buffer.natural[i] = value;
    }
  }
};

double integralValue(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Nearest:
    return std::nearbyint(value);
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  }
  return value;
}

/// An integer in [least, most], or its lowest bits.
template <typename T, typename From> T toInteger(From value, bool saturate) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<From>) {
    if (std::isnan(value))
      return 0;
    // 2^63 and 2^64 are doubles, the largest integers are not.
    if (value >= std::ldexp(1.0, Limits::digits))
      return Limits::max();
    if (value <= static_cast<double>(Limits::min()))
      return Limits::min();
    return static_cast<T>(value);
  } else {
    if (saturate && std::cmp_greater(value, Limits::max()))
      return Limits::max();
    if (saturate && std::cmp_less(value, Limits::min()))
      return Limits::min();
    return static_cast<T>(value);
  }
}

template <typename T, typename From> T toFloat(From value, const Plan &plan) {
  if constexpr (std::is_floating_point_v<T>) {
    // The rounding of the machine is set to the plan's.
    T result = pinned(static_cast<T>(pinned(value)));
    if (plan.flush && std::is_same_v<T, float>)
      result = flushed(result);
    return plan.saturate ? saturated(result) : result;
  } else {
    auto real = static_cast<double>(value);
    return Element<T>::store(plan.saturate ? saturated(real) : real,
                             plan.rounding);
  }
}

template <typename T, typename From>
void storeFrom(std::byte *place, const Plan &plan, const From *values,
               Mask mask) {
  forLanes(mask, [&](uint32_t i) {
    if constexpr (std::is_integral_v<T>) {
      // Extended to the width of the register by its sign.
      T value = toInteger<T>(values[i], plan.saturate);
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      Wide wide = value;
      std::byte *lane = place + i * plan.resultWidth;
      __builtin_memcpy(lane, &wide, plan.resultWidth);
    } else {
      T value = toFloat<T>(values[i], plan);
      uint64_t wide = 0;
      __builtin_memcpy(&wide, &value, sizeof(T));
      __builtin_memcpy(place + i * plan.resultWidth, &wide, plan.resultWidth);
    }
  });
}

template <typename T> struct Storer {
  static void store(std::byte *place, const Plan &plan, const Buffer &buffer,
                    Mask mask) {
    switch (heldAs(plan.source)) {
    case Held::Real:
      return storeFrom<T>(place, plan, buffer.real, mask);
    case Held::Integer:
      return storeFrom<T>(place, plan, buffer.integer, mask);
    case Held::Natural:
      return storeFrom<T>(place, plan, buffer.natural, mask);
    }
  }
};

/// Calls `body.operator()<T>()` with the C++ type of `type`.
template <typename Body> auto withType(Type type, Body body) {
  switch (type) {
  case Type::S8:
    return body.template operator()<int8_t>();
  case Type::U8:
  case Type::B8:
    return body.template operator()<uint8_t>();
  case Type::S16:
    return body.template operator()<int16_t>();
  case Type::U16:
  case Type::B16:
    return body.template operator()<uint16_t>();
  case Type::S32:
    return body.template operator()<int32_t>();
  case Type::U32:
  case Type::B32:
    return body.template operator()<uint32_t>();
  case Type::S64:
    return body.template operator()<int64_t>();
  case Type::F16:
    return body.template operator()<Half>();
  case Type::BF16:
    return body.template operator()<BFloat>();
  case Type::F32:
    return body.template operator()<float>();
  case Type::F64:
    return body.template operator()<double>();
  default:
    return body.template operator()<uint64_t>();
  }
}

void convertHandler(Warp &warp, const Op &op, Mask mask) {
  Plan plan;
  __builtin_memcpy(&plan, &op.immediate, sizeof plan);
  Buffer buffer;
  const std::byte *source = warp.lanes<std::byte>(op.operands[1]);
  withType(plan.source, [&]<typename T>() {
    Loader<T>::load(source, plan.sourceWidth, buffer);
  });
  if (heldAs(plan.source) == Held::Real && (plan.flush || plan.integral))
    for (double &value : buffer.real) {
      if (plan.flush && plan.source == Type::F32 &&
          std::fabs(value) < std::numeric_limits<float>::min())
        value = std::copysign(0.0, value);
      if (plan.integral)
        value = integralValue(value, plan.rounding);
    }
  RoundingScope scope(plan.rounding);
  std::byte *result = warp.lanes<std::byte>(op.operands[0]);
  withType(plan.result,
           [&]<typename T>() { Storer<T>::store(result, plan, buffer, mask); });
}

void emitConversion(Emitter &e, Plan plan, Value out, Value in) {
  plan.sourceWidth = static_cast<uint8_t>(e.width(in));
  plan.resultWidth = static_cast<uint8_t>(e.width(out));
  Op &op = e.emit(convertHandler, {out}, {in});
  __builtin_memcpy(&op.immediate, &plan, sizeof plan);
}

/// To 10 bits of mantissa, ties away from zero.
void tf32Handler(Warp &warp, const Op &op, Mask mask) {
  uint32_t *out = warp.lanes<uint32_t>(op.operands[0]);
  const uint32_t *in = warp.lanes<uint32_t>(op.operands[1]);
  forLanes(mask, [=](uint32_t i) {
    bool special = (in[i] & 0x7f800000) == 0x7f800000;
    out[i] = (special ? in[i] : in[i] + 0x1000) & 0xffffe000;
  });
}

template <typename T> void packHandler(Warp &warp, const Op &op, Mask mask) {
  Pair<T> *out = warp.lanes<Pair<T>>(op.operands[0]);
  const float *high = warp.lanes<float>(op.operands[1]),
              *low = warp.lanes<float>(op.operands[2]);
  auto rounding = static_cast<Rounding>(op.flags & 3);
  bool positive = (op.flags & 4) != 0;
  auto convert = [=](double value) {
    return fromDouble<T>(positive && value < 0 ? 0 : value, rounding);
  };
  forLanes(mask,
           [&](uint32_t i) { out[i] = {convert(low[i]), convert(high[i])}; });
}

/// `cvt.rn.f16x2.f32 d, high, low;`
void convertPair(Emitter &e, Type result, Rounding rounding, bool positive) {
  e.expectOperands(3);
  Value high = e.read(e.operand(1), Type::F32),
        low = e.read(e.operand(2), Type::F32);
  e.emit(result == Type::F16x2 ? packHandler<Half> : packHandler<BFloat>,
         {e.written(e.operand(0), 4)}, {high, low})
      .flags = static_cast<uint8_t>(rounding) | positive << 2;
}

void convert(Emitter &e) {
  Plan plan{};
  auto integral = e.modifiers.takeOneOf<Rounding>({{"rni", Rounding::Nearest},
                                                   {"rzi", Rounding::Zero},
                                                   {"rmi", Rounding::Down},
                                                   {"rpi", Rounding::Up}});
  plan.integral = integral.has_value();
  bool away = e.modifiers.take("rna");
  plan.rounding =
      integral.value_or(e.modifiers.rounding().value_or(Rounding::Nearest));
  plan.flush = e.modifiers.take("ftz");
  plan.saturate = e.modifiers.take("sat");
  bool positive = e.modifiers.take("relu");
  plan.result = e.modifiers.type();
  plan.source = e.modifiers.type();
  e.modifiers.finish("cvt");
  if (plan.result == Type::F16x2 || plan.result == Type::BF16x2)
    return convertPair(e, plan.result, plan.rounding, positive);
  if (positive || (away && plan.result != Type::TF32))
    e.fail("the modifiers do not go with the types");
  e.expectOperands(2);
  Value in = e.read(e.operand(1), plan.source, /*orWider=*/true);
  Value out = e.written(e.operand(0), sizeOf(plan.result), /*orWider=*/true);
  if (plan.result == Type::TF32)
    e.emit(tf32Handler, {out}, {in});
  else
    emitConversion(e, plan, out, in);
}

} // namespace

void addConversion(InstructionTable &table) { table["cvt"] = convert; }

} // namespace weft::emulator
