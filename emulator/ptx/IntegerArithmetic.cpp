//===- IntegerArithmetic.cpp - Products, quotients and carries of integers ===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "Lanes.h"

#include <limits>

namespace weft::emulator {
namespace {

template <typename T> struct Twice;
template <> struct Twice<int16_t> {
  using Type = int32_t;
};
template <> struct Twice<uint16_t> {
  using Type = uint32_t;
};
template <> struct Twice<int32_t> {
  using Type = int64_t;
};
template <> struct Twice<uint32_t> {
  using Type = uint64_t;
};
template <> struct Twice<int64_t> {
  using Type = __int128;
};
template <> struct Twice<uint64_t> {
  using Type = unsigned __int128;
};

struct Low {
  template <typename T> static T apply(T a, T b) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
struct High {
  template <typename T> static T apply(T a, T b) {
    using Wide = typename Twice<T>::Type;
    return static_cast<T>((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
  }
};
struct Wide {
  template <typename T> static auto apply(T a, T b) {
    using Result = typename Twice<T>::Type;
    return static_cast<Result>(Result(a) * Result(b));
  }
};
/// A product plus a third operand, which has the type of the product.
template <typename R, typename T, typename F>
void multiplyAdd(Warp &warp, const Op &op, Mask mask) {
  using U = std::make_unsigned_t<R>;
  R *out = warp.lanes<R>(op.operands[0]);
  const T *a = warp.lanes<T>(op.operands[1]),
          *b = warp.lanes<T>(op.operands[2]);
  const R *c = warp.lanes<R>(op.operands[3]);
  forLanes(mask, [=](uint32_t i) {
    out[i] = static_cast<R>(U(F::apply(a[i], b[i])) + U(c[i]));
  });
}

template <typename T, typename F> Handler sameSize(bool add) {
  return add ? multiplyAdd<T, T, F> : laneHandler<T, T, F, 2>;
}
template <typename T> Handler wide(bool add) {
  using R = typename Twice<T>::Type;
  return add ? multiplyAdd<R, T, Wide> : laneHandler<R, T, Wide, 2>;
}

template <typename F> Handler productHandler(Type type, bool add) {
  switch (type) {
  case Type::U16:
    return sameSize<uint16_t, F>(add);
  case Type::S16:
    return sameSize<int16_t, F>(add);
  case Type::U32:
    return sameSize<uint32_t, F>(add);
  case Type::S32:
    return sameSize<int32_t, F>(add);
  case Type::U64:
    return sameSize<uint64_t, F>(add);
  case Type::S64:
    return sameSize<int64_t, F>(add);
  default:
    return nullptr;
  }
}

Handler wideHandler(Type type, bool add) {
  switch (type) {
  case Type::U16:
    return wide<uint16_t>(add);
  case Type::S16:
    return wide<int16_t>(add);
  case Type::U32:
    return wide<uint32_t>(add);
  case Type::S32:
    return wide<int32_t>(add);
  default:
    return nullptr;
  }
}

// What hardware gives for a divisor of 0, which PTX leaves open, and for the
// one quotient that does not fit.
struct Quotient {
  template <typename T> static T apply(T a, T b) {
    if (b == 0)
      return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return static_cast<T>(-std::make_unsigned_t<T>(a));
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <typename T> static T apply(T a, T b) {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return 0;
    return static_cast<T>(a % b);
  }
};

template <typename F> void emitQuotient(Emitter &e, Type type) {
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(3);
  Handler handler = nullptr;
  switch (type) {
  case Type::U16:
    handler = laneHandler<uint16_t, uint16_t, F, 2>;
    break;
  case Type::S16:
    handler = laneHandler<int16_t, int16_t, F, 2>;
    break;
  case Type::U32:
    handler = laneHandler<uint32_t, uint32_t, F, 2>;
    break;
  case Type::S32:
    handler = laneHandler<int32_t, int32_t, F, 2>;
    break;
  case Type::U64:
    handler = laneHandler<uint64_t, uint64_t, F, 2>;
    break;
  case Type::S64:
    handler = laneHandler<int64_t, int64_t, F, 2>;
    break;
  default:
    e.fail("the type does not go with the operation");
  }
  Value a = e.read(e.operand(1), type), b = e.read(e.operand(2), type);
  e.emit(handler, {e.written(e.operand(0), sizeOf(type))}, {a, b});
}

void remainder(Emitter &e) { emitQuotient<Remainder>(e, e.modifiers.type()); }

} // namespace

bool addIntegerProduct(Emitter &e) {
  enum Part { LowPart, HighPart, WidePart };
  auto part = e.modifiers.takeOneOf<Part>(
      {{"lo", LowPart}, {"hi", HighPart}, {"wide", WidePart}});
  if (!part)
    return false;
  bool add = e.statement.opcode == "mad";
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(add ? 4 : 3);
  Handler handler = *part == LowPart    ? productHandler<Low>(type, add)
                    : *part == HighPart ? productHandler<High>(type, add)
                                        : wideHandler(type, add);
  if (!handler)
    e.fail("the type does not go with the operation");
  uint32_t size = sizeOf(type) * (*part == WidePart ? 2 : 1);
  std::vector<Value> uses = {e.read(e.operand(1), type),
                             e.read(e.operand(2), type)};
  if (add) {
    Type sum = size == sizeOf(type) ? type : size == 4 ? Type::B32 : Type::B64;
    uses.push_back(e.read(e.operand(3), sum));
  }
  e.emit(handler, {e.written(e.operand(0), size)}, uses);
  return true;
}

void addIntegerDivision(Emitter &e, Type type) {
  emitQuotient<Quotient>(e, type);
}

void addIntegerArithmetic(InstructionTable &table) { table["rem"] = remainder; }

} // namespace weft::emulator
