//===- MemoryAccess.cpp - ld, st and fences -------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "Lanes.h"

namespace weft::emulator {
namespace {

/// The address in a lane: operand `Base`, of 4 or 8 bytes, plus an offset.
struct Addresses {
  Addresses(Warp &warp, const Op &op, uint32_t base)
      : place(warp.lanes<std::byte>(op.operands[base])),
        isNarrow(op.flags >> 7), offset(op.immediate) {}
  uint64_t operator[](uint32_t lane) const {
    if (isNarrow)
      return uint32_t(reinterpret_cast<const uint32_t *>(place)[lane] + offset);
    return reinterpret_cast<const uint64_t *>(place)[lane] + offset;
  }
  const std::byte *place;
  bool isNarrow;
  uint64_t offset;
};

Space spaceOf(const Op &op) { return static_cast<Space>(op.flags & 15); }

/// Elements of type `Memory` into registers of type `Register`, which may be
/// wider.
template <typename Memory, typename Register, int Count>
void loadHandler(Warp &warp, const Op &op, Mask mask) {
  Addresses addresses(warp, op, Count);
  for (Mask rest = mask; rest; rest &= rest - 1) {
    uint32_t i = std::countr_zero(rest);
    const std::byte *from = warp.access(op, i, spaceOf(op), addresses[i],
                                        sizeof(Memory) * Count, Access::Read);
    for (int k = 0; k < Count; ++k) {
      Memory value;
      __builtin_memcpy(&value, from + k * sizeof(Memory), sizeof(Memory));
      warp.lanes<Register>(op.operands[k])[i] = static_cast<Register>(value);
    }
  }
}

template <typename Memory, typename Register, int Count>
void storeHandler(Warp &warp, const Op &op, Mask mask) {
  Addresses addresses(warp, op, Count);
  for (Mask rest = mask; rest; rest &= rest - 1) {
    uint32_t i = std::countr_zero(rest);
    std::byte *to = warp.access(op, i, spaceOf(op), addresses[i],
                                sizeof(Memory) * Count, Access::Write);
    for (int k = 0; k < Count; ++k) {
      auto value = static_cast<Memory>(warp.lanes<Register>(op.operands[k])[i]);
      __builtin_memcpy(to + k * sizeof(Memory), &value, sizeof(Memory));
    }
  }
}

template <typename Memory, typename Register, bool IsLoad>
Handler accessFor(size_t count) {
  if constexpr (sizeof(Register) < sizeof(Memory)) {
    return nullptr;
  } else {
    Handler handlers[] = {
        IsLoad ? loadHandler<Memory, Register, 1>
               : storeHandler<Memory, Register, 1>,
        IsLoad ? loadHandler<Memory, Register, 2>
               : storeHandler<Memory, Register, 2>,
        IsLoad ? loadHandler<Memory, Register, 4>
               : storeHandler<Memory, Register, 4>,
        IsLoad ? loadHandler<Memory, Register, 8>
               : storeHandler<Memory, Register, 8>,
    };
    return count == 1   ? handlers[0]
           : count == 2 ? handlers[1]
           : count == 4 ? handlers[2]
           : count == 8 ? handlers[3]
                        : nullptr;
  }
}

template <typename Memory, bool IsLoad>
Handler accessFor(uint32_t width, size_t count) {
  return width == 2   ? accessFor<Memory, uint16_t, IsLoad>(count)
         : width == 4 ? accessFor<Memory, uint32_t, IsLoad>(count)
                      : accessFor<Memory, uint64_t, IsLoad>(count);
}

template <bool IsLoad>
Handler accessFor(Type type, uint32_t width, size_t count) {
  bool extends = IsLoad && isSigned(type);
  switch (sizeOf(type)) {
  case 1:
    return extends ? accessFor<int8_t, IsLoad>(width, count)
                   : accessFor<uint8_t, IsLoad>(width, count);
  case 2:
    return extends ? accessFor<int16_t, IsLoad>(width, count)
                   : accessFor<uint16_t, IsLoad>(width, count);
  case 4:
    return extends ? accessFor<int32_t, IsLoad>(width, count)
                   : accessFor<uint32_t, IsLoad>(width, count);
  default:
    return accessFor<uint64_t, IsLoad>(width, count);
  }
}

/// Takes the modifiers that say how far and through which cache: everything
/// is seen at once here.
void skipOrder(Modifiers &modifiers) {
  for (const char *name :
       {"weak",    "volatile", "relaxed", "acquire", "release",
        "acq_rel", "cta",      "cluster", "gpu",     "sys",
        "ca",      "cg",       "cs",      "lu",      "cv",
        "wb",      "wt",       "nc",      "mmio",    "noftz"})
    modifiers.take(name);
  modifiers.skipPrefix("L1::");
  modifiers.skipPrefix("L2::");
}

size_t takeCount(Modifiers &modifiers) {
  return modifiers.takeOneOf<size_t>({{"v2", 2}, {"v4", 4}, {"v8", 8}})
      .value_or(1);
}

uint8_t addressFlags(Emitter &e, const Address &address) {
  return static_cast<uint8_t>(address.space) |
         (e.width(address.base) == 4 ? 0x80 : 0);
}

void load(Emitter &e) {
  skipOrder(e.modifiers);
  Space space = e.modifiers.space().value_or(Space::Generic);
  size_t count = takeCount(e.modifiers);
  Type type = e.modifiers.type();
  e.modifiers.finish("ld");
  e.expectOperands(2);
  Address address = e.address(e.operand(1), space);
  auto elements = e.elements(e.operand(0));
  if (elements.size() != count)
    e.fail("the vector has another size than the modifier says");
  uint32_t width = sizeOf(type);
  std::vector<Value> outputs;
  for (const Operand *element : elements)
    if (element->kind != Operand::Kind::Sink)
      width = e.width(e.written(*element, sizeOf(type), /*orWider=*/true));
  for (const Operand *element : elements)
    outputs.push_back(element->kind == Operand::Kind::Sink
                          ? e.temporary(std::max(width, 2u))
                          : e.written(*element, width));
  Handler handler = accessFor<true>(type, width, count);
  if (!handler)
    e.fail("the type does not go with the operands");
  Op &op = e.emit(handler, outputs, {address.base});
  op.flags = addressFlags(e, address);
  op.immediate = address.offset;
}

void store(Emitter &e) {
  skipOrder(e.modifiers);
  Space space = e.modifiers.space().value_or(Space::Generic);
  size_t count = takeCount(e.modifiers);
  Type type = e.modifiers.type();
  e.modifiers.finish("st");
  e.expectOperands(2);
  Address address = e.address(e.operand(0), space);
  auto elements = e.elements(e.operand(1));
  if (elements.size() != count)
    e.fail("the vector has another size than the modifier says");
  std::vector<Value> uses;
  uint32_t width = std::max(sizeOf(type), 2u);
  for (const Operand *element : elements) {
    uses.push_back(e.read(*element, type, /*orWider=*/true));
    width = std::max(width, e.width(uses.back()));
  }
  // Immediates are as wide as the type, the registers beside them may not be.
  for (size_t k = 0; k < uses.size(); ++k)
    if (e.width(uses[k]) != width) {
      if (elements[k]->kind == Operand::Kind::Register)
        e.fail("the elements of the vector have several sizes");
      uses[k] = e.constant(elements[k]->value, width);
    }
  Handler handler = accessFor<false>(type, width, count);
  if (!handler)
    e.fail("the type does not go with the operands");
  uses.push_back(address.base);
  Op &op = e.emit(handler, {}, uses);
  op.flags = addressFlags(e, address);
  op.immediate = address.offset;
}

void prefetch(Emitter &e) {
  // Touches nothing.
  e.modifiers.skipPrefix("");
}

} // namespace

void addMemoryAccess(InstructionTable &table) {
  table["ld"] = load;
  table["ldu"] = load;
  table["st"] = store;
  table["prefetch"] = prefetch;
  table["prefetchu"] = prefetch;
}

} // namespace weft::emulator
