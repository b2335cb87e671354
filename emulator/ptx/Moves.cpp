//===- Moves.cpp - mov, cvta and isspacep ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "Lanes.h"

namespace weft::emulator {
namespace {

template <typename T> void moveHandler(Warp &warp, const Op &op, Mask mask) {
  T *out = warp.lanes<T>(op.operands[0]);
  const T *in = warp.lanes<T>(op.operands[1]);
  forLanes(mask, [=](uint32_t i) { out[i] = in[i]; });
}

void movePredicate(Warp &warp, const Op &op, Mask mask) {
  Mask &out = warp.predicate(op.operands[0]);
  out = (out & ~mask) | (warp.predicate(op.operands[1]) & mask);
}

/// {d0, d1, ...} = the parts of a.
template <typename Whole, typename Part>
void unpackHandler(Warp &warp, const Op &op, Mask mask) {
  constexpr size_t parts = sizeof(Whole) / sizeof(Part);
  const Whole *in = warp.lanes<Whole>(op.operands[parts]);
  for (size_t part = 0; part < parts; ++part) {
    Part *out = warp.lanes<Part>(op.operands[part]);
    forLanes(mask, [=](uint32_t i) {
      out[i] = static_cast<Part>(in[i] >> (8 * sizeof(Part) * part));
    });
  }
}

/// d = {a0, a1, ...}, computed before d is written, which may be none of them.
template <typename Whole, typename Part>
void packHandler(Warp &warp, const Op &op, Mask mask) {
  constexpr size_t parts = sizeof(Whole) / sizeof(Part);
  Whole *out = warp.lanes<Whole>(op.operands[0]);
  Whole values[warpSize] = {};
  for (size_t part = 0; part < parts; ++part) {
    const Part *in = warp.lanes<Part>(op.operands[1 + part]);
    for (uint32_t i = 0; i < warpSize; ++i)
      values[i] |= static_cast<Whole>(in[i]) << (8 * sizeof(Part) * part);
  }
  forLanes(mask, [&](uint32_t i) { out[i] = values[i]; });
}

/// `mov.b64 {%r1, %r2}, %rd1;`
void unpack(Emitter &e, Type type) {
  auto parts = e.elements(e.operand(0));
  uint32_t size = sizeOf(type), part = size / parts.size();
  Value whole = e.read(e.operand(1), type);
  std::vector<Value> outputs;
  for (const Operand *operand : parts)
    outputs.push_back(operand->kind == Operand::Kind::Sink
                          ? e.temporary(part)
                          : e.written(*operand, part));
  Handler handler = size == 4 && part == 2   ? unpackHandler<uint32_t, uint16_t>
                    : size == 8 && part == 4 ? unpackHandler<uint64_t, uint32_t>
                    : size == 8 && part == 2 ? unpackHandler<uint64_t, uint16_t>
                                             : nullptr;
  if (!handler)
    e.fail("the parts do not make up the whole");
  e.emit(handler, outputs, {whole});
}

void pack(Emitter &e, Type type) {
  auto parts = e.elements(e.operand(1));
  uint32_t size = sizeOf(type), part = size / parts.size();
  std::vector<Value> uses;
  for (const Operand *operand : parts)
    uses.push_back(e.read(*operand, part == 2   ? Type::B16
                                    : part == 4 ? Type::B32
                                                : Type::B8));
  Handler handler = size == 4 && part == 2   ? packHandler<uint32_t, uint16_t>
                    : size == 8 && part == 4 ? packHandler<uint64_t, uint32_t>
                    : size == 8 && part == 2 ? packHandler<uint64_t, uint16_t>
                                             : nullptr;
  if (!handler)
    e.fail("the parts do not make up the whole");
  e.emit(handler, {e.written(e.operand(0), size)}, uses);
}

Handler moveFor(uint32_t size) {
  return size == 2   ? moveHandler<uint16_t>
         : size == 4 ? moveHandler<uint32_t>
                     : moveHandler<uint64_t>;
}

void move(Emitter &e) {
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(2);
  if (type == Type::Pred) {
    Value in = e.readPredicate(e.operand(1));
    e.emit(movePredicate, {e.writtenPredicate(e.operand(0))}, {in});
  } else if (e.operand(0).kind == Operand::Kind::List) {
    unpack(e, type);
  } else if (e.operand(1).kind == Operand::Kind::List) {
    pack(e, type);
  } else {
    Value in = e.read(e.operand(1), type);
    e.emit(moveFor(sizeOf(type)), {e.written(e.operand(0), sizeOf(type))},
           {in});
  }
}

template <bool ToGeneric>
void addressHandler(Warp &warp, const Op &op, Mask mask) {
  uint64_t *out = warp.lanes<uint64_t>(op.operands[0]);
  const uint64_t *in = warp.lanes<uint64_t>(op.operands[1]);
  auto space = static_cast<Space>(op.flags);
  forLanes(mask, [&](uint32_t i) {
    out[i] = ToGeneric ? warp.toGeneric(space, in[i], i)
                       : warp.fromGeneric(space, in[i], i);
  });
}

void convertAddress(Emitter &e) {
  bool fromGeneric = e.modifiers.take("to");
  auto space = e.modifiers.space();
  if (!space)
    e.fail("expected a space");
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  if (sizeOf(type) != 8)
    e.fail("addresses have 64 bits");
  Value in = e.read(e.operand(1), type), out = e.written(e.operand(0), 8);
  // Only these two spaces have addresses of their own.
  bool moves = *space != Space::Shared && *space != Space::Local;
  e.emit(moves         ? moveHandler<uint64_t>
         : fromGeneric ? addressHandler<false>
                       : addressHandler<true>,
         {out}, {in})
      .flags = static_cast<uint8_t>(*space);
}

void spaceHandler(Warp &warp, const Op &op, Mask mask) {
  const uint64_t *in = warp.lanes<uint64_t>(op.operands[1]);
  Mask result = 0;
  forLanes(mask, [&](uint32_t i) {
    result |= Mask(warp.isInSpace(static_cast<Space>(op.flags), in[i], i)) << i;
  });
  Mask &out = warp.predicate(op.operands[0]);
  out = (out & ~mask) | result;
}

void isInSpace(Emitter &e) {
  auto space = e.modifiers.space();
  if (!space)
    e.fail("expected a space");
  e.modifiers.finish(e.statement.opcode);
  Value in = e.read(e.operand(1), Type::B64);
  e.emit(spaceHandler, {e.writtenPredicate(e.operand(0))}, {in}).flags =
      static_cast<uint8_t>(*space);
}

} // namespace

void addMoves(InstructionTable &table) {
  table["mov"] = move;
  table["cvta"] = convertAddress;
  table["isspacep"] = isInSpace;
}

} // namespace weft::emulator
