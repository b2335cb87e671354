//===- Atomics.cpp - atom and red -----------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "Lanes.h"

#include <atomic>

namespace weft::emulator {
namespace {

struct AtomicAdd {
  template <typename T> static T apply(T old, T value) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(std::make_unsigned_t<T>(old) +
                            std::make_unsigned_t<T>(value));
    else
      return old + value;
  }
};
struct AtomicExchange {
  template <typename T> static T apply(T, T value) { return value; }
};
struct AtomicMin {
  template <typename T> static T apply(T a, T b) { return b < a ? b : a; }
};
struct AtomicMax {
  template <typename T> static T apply(T a, T b) { return a < b ? b : a; }
};
struct AtomicAnd {
  template <typename T> static T apply(T a, T b) { return a & b; }
};
struct AtomicOr {
  template <typename T> static T apply(T a, T b) { return a | b; }
};
struct AtomicXor {
  template <typename T> static T apply(T a, T b) { return a ^ b; }
};
struct AtomicIncrement {
  template <typename T> static T apply(T old, T limit) {
    return old >= limit ? 0 : old + 1;
  }
};
struct AtomicDecrement {
  template <typename T> static T apply(T old, T limit) {
    return old == 0 || old > limit ? limit : old - 1;
  }
};

/// The bits of `T` as an integer, which every machine exchanges at once.
template <typename T>
using BitsOf =
    std::conditional_t<sizeof(T) == 8, uint64_t,
                       std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

/// Where the atomics of a lane work: operands are the result, the address and
/// one or two values.
std::byte *place(Warp &warp, const Op &op, uint32_t lane, uint32_t bytes) {
  uint64_t address =
      op.flags & 0x80
          ? uint32_t(warp.lanes<uint32_t>(op.operands[1])[lane] + op.immediate)
          : warp.lanes<uint64_t>(op.operands[1])[lane] + op.immediate;
  return warp.access(op, lane, static_cast<Space>(op.flags & 15), address,
                     bytes, Access::Atomic);
}

template <typename T, typename F>
void atomicHandler(Warp &warp, const Op &op, Mask mask) {
  using Bits = BitsOf<T>;
  for (Mask rest = mask; rest; rest &= rest - 1) {
    uint32_t i = std::countr_zero(rest);
    T value = warp.lanes<T>(op.operands[2])[i];
    std::atomic_ref<Bits> target(
        *reinterpret_cast<Bits *>(place(warp, op, i, sizeof(T))));
    Bits old = target.load();
    while (!target.compare_exchange_weak(
        old, std::bit_cast<Bits>(applyTo<F>(std::bit_cast<T>(old), value))))
      ;
    warp.lanes<Bits>(op.operands[0])[i] = old;
  }
}

template <typename T>
void compareAndSwapHandler(Warp &warp, const Op &op, Mask mask) {
  for (Mask rest = mask; rest; rest &= rest - 1) {
    uint32_t i = std::countr_zero(rest);
    T old = warp.lanes<T>(op.operands[2])[i];
    std::atomic_ref<T> target(
        *reinterpret_cast<T *>(place(warp, op, i, sizeof(T))));
    target.compare_exchange_strong(old, warp.lanes<T>(op.operands[3])[i]);
    warp.lanes<T>(op.operands[0])[i] = old;
  }
}

template <typename F> Handler integerAtomic(Type type) {
  switch (type) {
  case Type::S32:
    return atomicHandler<int32_t, F>;
  case Type::S64:
    return atomicHandler<int64_t, F>;
  case Type::U32:
  case Type::B32:
    return atomicHandler<uint32_t, F>;
  case Type::U64:
  case Type::B64:
    return atomicHandler<uint64_t, F>;
  default:
    return nullptr;
  }
}

Handler additionFor(Type type) {
  switch (type) {
  case Type::F32:
    return atomicHandler<float, AtomicAdd>;
  case Type::F64:
    return atomicHandler<double, AtomicAdd>;
  case Type::F16:
    return atomicHandler<Half, AtomicAdd>;
  case Type::BF16:
    return atomicHandler<BFloat, AtomicAdd>;
  case Type::F16x2:
    return atomicHandler<Pair<Half>, AtomicAdd>;
  case Type::BF16x2:
    return atomicHandler<Pair<BFloat>, AtomicAdd>;
  default:
    return integerAtomic<AtomicAdd>(type);
  }
}

Handler compareAndSwapFor(Type type) {
  switch (sizeOf(type)) {
  case 2:
    return compareAndSwapHandler<uint16_t>;
  case 4:
    return compareAndSwapHandler<uint32_t>;
  case 8:
    return compareAndSwapHandler<uint64_t>;
  default:
    return nullptr;
  }
}

using Chooser = Handler (*)(Type);

void emitAtomic(Emitter &e, bool hasResult) {
  for (const char *name : {"relaxed", "acquire", "release", "acq_rel", "cta",
                           "cluster", "gpu", "sys", "noftz"})
    e.modifiers.take(name);
  Space space = e.modifiers.space().value_or(Space::Generic);
  bool isSwap = e.modifiers.take("cas");
  Chooser chooser =
      isSwap
          ? compareAndSwapFor
          : e.modifiers
                .takeOneOf<Chooser>({{"add", additionFor},
                                     {"exch", integerAtomic<AtomicExchange>},
                                     {"min", integerAtomic<AtomicMin>},
                                     {"max", integerAtomic<AtomicMax>},
                                     {"and", integerAtomic<AtomicAnd>},
                                     {"or", integerAtomic<AtomicOr>},
                                     {"xor", integerAtomic<AtomicXor>},
                                     {"inc", integerAtomic<AtomicIncrement>},
                                     {"dec", integerAtomic<AtomicDecrement>}})
                .value_or(nullptr);
  if (!chooser)
    e.fail("expected an atomic operation");
  e.modifiers.skipPrefix("L2::");
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  Handler handler = chooser(type);
  if (!handler)
    e.fail("the type does not go with the operation");
  size_t at = hasResult ? 1 : 0;
  e.expectOperands(at + (isSwap ? 3 : 2));
  Address address = e.address(e.operand(at), space);
  std::vector<Value> uses = {address.base, e.read(e.operand(at + 1), type)};
  if (isSwap)
    uses.push_back(e.read(e.operand(at + 2), type));
  bool keeps = hasResult && e.operand(0).kind != Operand::Kind::Sink;
  Value out =
      keeps ? e.written(e.operand(0), sizeOf(type)) : e.temporary(sizeOf(type));
  Op &op = e.emit(handler, {out}, uses);
  op.flags = static_cast<uint8_t>(address.space) |
             (e.width(address.base) == 4 ? 0x80 : 0);
  op.immediate = address.offset;
}

} // namespace

void addAtomics(InstructionTable &table) {
  table["atom"] = [](Emitter &e) { emitAtomic(e, /*hasResult=*/true); };
  table["red"] = [](Emitter &e) { emitAtomic(e, /*hasResult=*/false); };
}

} // namespace weft::emulator
