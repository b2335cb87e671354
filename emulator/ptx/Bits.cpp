//===- Bits.cpp - Shifts, bit fields and logic ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "Lanes.h"

#include <functional>

namespace weft::emulator {
namespace {

struct And {
  template <typename T> static T apply(T a, T b) { return a & b; }
};
struct Or {
  template <typename T> static T apply(T a, T b) { return a | b; }
};
struct Xor {
  template <typename T> static T apply(T a, T b) { return a ^ b; }
};
struct Not {
  template <typename T> static T apply(T a) { return ~a; }
};
struct CNot {
  template <typename T> static T apply(T a) { return a == 0; }
};
struct PopulationCount {
  template <typename T> static uint32_t apply(T a) { return std::popcount(a); }
};
struct LeadingZeros {
  template <typename T> static uint32_t apply(T a) {
    return std::countl_zero(a);
  }
};
struct Reverse {
  template <typename T> static T apply(T a) {
    T result = 0;
    for (size_t i = 0; i < 8 * sizeof(T); ++i)
      result |= ((a >> i) & 1) << (8 * sizeof(T) - 1 - i);
    return result;
  }
};
/// Position of the highest bit that is 1 (signed: that is not the sign).
struct FindHighest {
  template <typename T> static uint32_t apply(T a) {
    using U = std::make_unsigned_t<T>;
    U bits = a < 0 ? ~U(a) : U(a);
    return bits ? 8 * sizeof(T) - 1 - std::countl_zero(bits) : ~0u;
  }
};

template <typename F, int Arity> Handler bitHandler(Type type) {
  switch (sizeOf(type)) {
  case 2:
    return laneHandler<uint16_t, uint16_t, F, Arity>;
  case 4:
    return laneHandler<uint32_t, uint32_t, F, Arity>;
  default:
    return laneHandler<uint64_t, uint64_t, F, Arity>;
  }
}

// Predicates are masks: one operation for all lanes.
template <typename F, int Arity>
void predicateHandler(Warp &warp, const Op &op, Mask mask) {
  Mask value;
  if constexpr (Arity == 1)
    value = F::apply(warp.predicate(op.operands[1]));
  else
    value = F::apply(warp.predicate(op.operands[1]),
                     warp.predicate(op.operands[2]));
  Mask &out = warp.predicate(op.operands[0]);
  out = (out & ~mask) | (value & mask);
}

template <typename F, int Arity> void logic(Emitter &e) {
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(Arity + 1);
  std::vector<Value> uses;
  bool predicate = type == Type::Pred;
  for (int i = 1; i <= Arity; ++i)
    uses.push_back(predicate ? e.readPredicate(e.operand(i))
                             : e.read(e.operand(i), type));
  if (predicate)
    e.emit(predicateHandler<F, Arity>, {e.writtenPredicate(e.operand(0))},
           uses);
  else
    e.emit(bitHandler<F, Arity>(type), {e.written(e.operand(0), sizeOf(type))},
           uses);
}

template <typename F> void count(Emitter &e) {
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  Handler handler = sizeOf(type) == 4 ? laneHandler<uint32_t, uint32_t, F, 1>
                                      : laneHandler<uint32_t, uint64_t, F, 1>;
  Value use = e.read(e.operand(1), type);
  e.emit(handler, {e.written(e.operand(0), 4)}, {use});
}

void findHighest(Emitter &e) {
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  Handler handler =
      type == Type::S32   ? laneHandler<uint32_t, int32_t, FindHighest, 1>
      : type == Type::S64 ? laneHandler<uint32_t, int64_t, FindHighest, 1>
      : sizeOf(type) == 4 ? laneHandler<uint32_t, uint32_t, FindHighest, 1>
                          : laneHandler<uint32_t, uint64_t, FindHighest, 1>;
  Value use = e.read(e.operand(1), type);
  e.emit(handler, {e.written(e.operand(0), 4)}, {use});
}

/// Shifts by more than the size give zeros, or signs.
template <typename T, bool Left>
void shiftHandler(Warp &warp, const Op &op, Mask mask) {
  constexpr uint32_t bits = 8 * sizeof(T);
  T *out = warp.lanes<T>(op.operands[0]);
  const T *a = warp.lanes<T>(op.operands[1]);
  const uint32_t *by = warp.lanes<uint32_t>(op.operands[2]);
  forLanes(mask, [=](uint32_t i) {
    uint32_t amount = by[i] < bits - 1 ? by[i] : bits - 1;
    T part = static_cast<T>(Left ? std::make_unsigned_t<T>(a[i]) << amount
                                 : a[i] >> amount);
    bool all = by[i] >= bits && (Left || std::is_unsigned_v<T>);
    out[i] = all ? T(0) : part;
  });
}

template <bool Left> void shift(Emitter &e) {
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  Handler handler;
  switch (sizeOf(type)) {
  case 2:
    handler = isSigned(type) ? shiftHandler<int16_t, Left>
                             : shiftHandler<uint16_t, Left>;
    break;
  case 4:
    handler = isSigned(type) ? shiftHandler<int32_t, Left>
                             : shiftHandler<uint32_t, Left>;
    break;
  default:
    handler = isSigned(type) ? shiftHandler<int64_t, Left>
                             : shiftHandler<uint64_t, Left>;
  }
  Value a = e.read(e.operand(1), type), by = e.read(e.operand(2), Type::U32);
  e.emit(handler, {e.written(e.operand(0), sizeOf(type))}, {a, by});
}

struct FunnelLeft {
  static uint32_t apply(uint32_t low, uint32_t high, uint32_t by) {
    return ((uint64_t(high) << 32 | low) << by) >> 32;
  }
};
struct FunnelRight {
  static uint32_t apply(uint32_t low, uint32_t high, uint32_t by) {
    return (uint64_t(high) << 32 | low) >> by;
  }
};
struct Wrap {
  static uint32_t limit(uint32_t by) { return by & 31; }
};
struct Clamp {
  static uint32_t limit(uint32_t by) { return by < 32 ? by : 32; }
};
template <typename F, typename Limit> struct Funnel {
  static uint32_t apply(uint32_t low, uint32_t high, uint32_t by) {
    return F::apply(low, high, Limit::limit(by));
  }
};

template <typename F> Handler tripleHandler() {
  return laneHandler<uint32_t, uint32_t, F, 3>;
}

void emitTriple(Emitter &e, Handler handler) {
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(4);
  Value a = e.read(e.operand(1), Type::B32),
        b = e.read(e.operand(2), Type::B32),
        c = e.read(e.operand(3), Type::B32);
  e.emit(handler, {e.written(e.operand(0), 4)}, {a, b, c});
}

void funnelShift(Emitter &e) {
  bool left = e.modifiers.take("l");
  if (!left && !e.modifiers.take("r"))
    e.fail("expected .l or .r");
  bool wrap = e.modifiers.take("wrap");
  if (!wrap && !e.modifiers.take("clamp"))
    e.fail("expected .wrap or .clamp");
  e.modifiers.type();
  emitTriple(e, left ? (wrap ? tripleHandler<Funnel<FunnelLeft, Wrap>>()
                             : tripleHandler<Funnel<FunnelLeft, Clamp>>())
                     : (wrap ? tripleHandler<Funnel<FunnelRight, Wrap>>()
                             : tripleHandler<Funnel<FunnelRight, Clamp>>()));
}

struct Permute {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t select = selector >> (4 * i);
      auto byte = static_cast<uint8_t>(bytes >> (8 * (select & 7)));
      if (select & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= uint32_t(byte) << (8 * i);
    }
    return result;
  }
};

void permute(Emitter &e) {
  e.modifiers.type();
  emitTriple(e, tripleHandler<Permute>());
}

template <typename T> void extractHandler(Warp &warp, const Op &op, Mask mask) {
  constexpr uint32_t bits = 8 * sizeof(T);
  T *out = warp.lanes<T>(op.operands[0]);
  const T *a = warp.lanes<T>(op.operands[1]);
  const uint32_t *positions = warp.lanes<uint32_t>(op.operands[2]),
                 *lengths = warp.lanes<uint32_t>(op.operands[3]);
  forLanes(mask, [=](uint32_t i) {
    uint32_t position = positions[i] & 0xff, length = lengths[i] & 0xff;
    T result = 0;
    if (length) {
      uint32_t last = std::min(position + length - 1, bits - 1);
      bool sign = std::is_signed_v<T> && (a[i] >> last & 1);
      for (uint32_t bit = 0; bit < bits; ++bit) {
        bool value = bit < length && position + bit < bits
                         ? (a[i] >> (position + bit) & 1) != 0
                         : sign;
        result = static_cast<T>(result | std::make_unsigned_t<T>(value) << bit);
      }
    }
    out[i] = result;
  });
}

void extractField(Emitter &e) {
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(4);
  Handler handler = type == Type::U32   ? extractHandler<uint32_t>
                    : type == Type::S32 ? extractHandler<int32_t>
                    : type == Type::U64 ? extractHandler<uint64_t>
                                        : extractHandler<int64_t>;
  Value a = e.read(e.operand(1), type),
        position = e.read(e.operand(2), Type::U32),
        length = e.read(e.operand(3), Type::U32);
  e.emit(handler, {e.written(e.operand(0), sizeOf(type))},
         {a, position, length});
}

template <typename T> void insertHandler(Warp &warp, const Op &op, Mask mask) {
  constexpr uint32_t bits = 8 * sizeof(T);
  T *out = warp.lanes<T>(op.operands[0]);
  const T *a = warp.lanes<T>(op.operands[1]),
          *b = warp.lanes<T>(op.operands[2]);
  const uint32_t *positions = warp.lanes<uint32_t>(op.operands[3]),
                 *lengths = warp.lanes<uint32_t>(op.operands[4]);
  forLanes(mask, [=](uint32_t i) {
    uint32_t position = positions[i] & 0xff, length = lengths[i] & 0xff;
    T field = length >= bits ? ~T(0) : (T(1) << length) - 1;
    T place = position >= bits ? T(0) : field << position;
    T value = position >= bits ? T(0) : a[i] << position;
    out[i] = (b[i] & ~place) | (value & place);
  });
}

void insertField(Emitter &e) {
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(5);
  Value a = e.read(e.operand(1), type), b = e.read(e.operand(2), type),
        position = e.read(e.operand(3), Type::U32),
        length = e.read(e.operand(4), Type::U32);
  e.emit(sizeOf(type) == 4 ? insertHandler<uint32_t> : insertHandler<uint64_t>,
         {e.written(e.operand(0), sizeOf(type))}, {a, b, position, length});
}

/// Any function of three bits: bit 4a + 2b + c of the table.
void tableHandler(Warp &warp, const Op &op, Mask mask) {
  uint32_t *out = warp.lanes<uint32_t>(op.operands[0]);
  const uint32_t *a = warp.lanes<uint32_t>(op.operands[1]),
                 *b = warp.lanes<uint32_t>(op.operands[2]),
                 *c = warp.lanes<uint32_t>(op.operands[3]);
  auto table = static_cast<uint32_t>(op.immediate);
  forLanes(mask, [=](uint32_t i) {
    uint32_t result = 0;
    for (uint32_t term = 0; term < 8; ++term)
      if (table >> term & 1)
        result |= (term & 4 ? a[i] : ~a[i]) & (term & 2 ? b[i] : ~b[i]) &
                  (term & 1 ? c[i] : ~c[i]);
    out[i] = result;
  });
}

void lookup(Emitter &e) {
  e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(5);
  Value a = e.read(e.operand(1), Type::B32),
        b = e.read(e.operand(2), Type::B32),
        c = e.read(e.operand(3), Type::B32);
  e.emit(tableHandler, {e.written(e.operand(0), 4)}, {a, b, c}).immediate =
      e.operand(4).value;
}

void reverse(Emitter &e) {
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  Value a = e.read(e.operand(1), type);
  e.emit(bitHandler<Reverse, 1>(type), {e.written(e.operand(0), sizeOf(type))},
         {a});
}

} // namespace

void addBits(InstructionTable &table) {
  table["and"] = logic<And, 2>;
  table["or"] = logic<Or, 2>;
  table["xor"] = logic<Xor, 2>;
  table["not"] = logic<Not, 1>;
  table["cnot"] = logic<CNot, 1>;
  table["shl"] = shift<true>;
  table["shr"] = shift<false>;
  table["shf"] = funnelShift;
  table["prmt"] = permute;
  table["bfe"] = extractField;
  table["bfi"] = insertField;
  table["bfind"] = findHighest;
  table["brev"] = reverse;
  table["popc"] = count<PopulationCount>;
  table["clz"] = count<LeadingZeros>;
  table["lop3"] = lookup;
}

} // namespace weft::emulator
