//===- Emitter.cpp - Turns statements into operations ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "Error.h"
#include "Translator.h"
#include "Warp.h"

#include <algorithm>

namespace weft::emulator {

bool Modifiers::take(std::string_view name) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return false;
  names.erase(found);
  return true;
}

void Modifiers::skipPrefix(std::string_view prefix) {
  std::erase_if(
      names, [&](const std::string &name) { return name.starts_with(prefix); });
}

std::optional<Type> Modifiers::tryType() {
  for (auto name = names.begin(); name != names.end(); ++name)
    if (auto type = parseType(*name)) {
      names.erase(name);
      return type;
    }
  return std::nullopt;
}

Type Modifiers::type() {
  auto type = tryType();
  if (!type)
    throw PtxError(line, "an instruction without a type");
  return *type;
}

std::optional<Rounding> Modifiers::rounding() {
  return takeOneOf<Rounding>({{"rn", Rounding::Nearest},
                              {"rz", Rounding::Zero},
                              {"rm", Rounding::Down},
                              {"rp", Rounding::Up}});
}

std::optional<Space> Modifiers::space() {
  return takeOneOf<Space>({{"global", Space::Global},
                           {"shared", Space::Shared},
                           {"shared::cta", Space::Shared},
                           {"local", Space::Local},
                           {"const", Space::Constant},
                           {"param", Space::Parameter},
                           {"param::entry", Space::Parameter},
                           {"param::func", Space::Parameter}});
}

void Modifiers::finish(const std::string &opcode) const {
  if (!names.empty())
    throw PtxError(line, "'" + opcode + "' with the unknown modifier '." +
                             names.front() + "'");
}

void Emitter::fail(const std::string &what) const {
  throw PtxError(statement.line, "'" + statement.opcode + "': " + what);
}

void Emitter::expectOperands(size_t least, size_t most) const {
  if (operands() < least || operands() > std::max(least, most))
    fail("expected " + std::to_string(least) + " operands, found " +
         std::to_string(operands()));
}

const Operand &Emitter::operand(size_t index) const {
  if (index >= operands())
    fail("there is no operand " + std::to_string(index + 1));
  return statement.operands[index];
}

uint32_t Emitter::width(Value value) const {
  return translator.registers.size(value);
}
Value Emitter::temporary(uint32_t size) {
  return translator.registers.add(size);
}
Value Emitter::temporaryPredicate() { return translator.registers.add(0); }

Value Emitter::constant(uint64_t bits, uint32_t size) {
  Preload preload;
  preload.size = static_cast<uint8_t>(std::max(size, 2u));
  preload.value =
      preload.size == 8 ? bits : bits & ((uint64_t(1) << 8 * preload.size) - 1);
  return translator.registers.preloaded(preload);
}

Value Emitter::written(const Operand &operand, uint32_t size, bool orWider) {
  if (operand.kind == Operand::Kind::Sink)
    return temporary(std::max(size, 2u));
  if (operand.kind != Operand::Kind::Register)
    fail("expected a register to write to");
  Value value = translator.registerNamed(operand.name, statement.line);
  if (orWider ? width(value) < size : width(value) != size)
    fail("'" + operand.name + "' has " + std::to_string(8 * width(value)) +
         " bits, the result " + std::to_string(8 * size));
  return value;
}

Value Emitter::writtenPredicate(const Operand &operand) {
  return operand.kind == Operand::Kind::Sink ? temporaryPredicate()
                                             : written(operand, 0);
}

Value Emitter::read(const Operand &operand, Type type, bool orWider) {
  uint32_t size = sizeOf(type);
  switch (operand.kind) {
  case Operand::Kind::Integer:
    return constant(operand.value, size);
  case Operand::Kind::Float:
    return constant(operand.value, size);
  case Operand::Kind::Symbol: {
    Preload base = translator.placeOf(operand.name, statement.line).base;
    base.value += operand.offset;
    base.size = static_cast<uint8_t>(size);
    return translator.registers.preloaded(base);
  }
  case Operand::Kind::Register:
    break;
  default:
    fail("expected a register or a number");
  }
  Value value = translator.registerNamed(operand.name, statement.line);
  uint32_t actual = width(value);
  if (actual == size || (orWider && actual > size && size > 0))
    return value;
  fail("'" + operand.name + "' has " + std::to_string(8 * actual) +
       " bits, the operand " + std::to_string(8 * size));
}

/// d = the complement of a.
static void complement(Warp &warp, const Op &op, Mask mask) {
  Mask &out = warp.predicate(op.operands[0]);
  out = (out & ~mask) | (~warp.predicate(op.operands[1]) & mask);
}

Value Emitter::readPredicate(const Operand &operand) {
  if (operand.kind == Operand::Kind::Integer) {
    Preload preload;
    preload.size = 0;
    preload.value = operand.value ? ~Mask(0) : 0;
    return translator.registers.preloaded(preload);
  }
  if (operand.kind != Operand::Kind::Register)
    fail("expected a predicate");
  Value value = translator.registerNamed(operand.name, statement.line);
  if (width(value) != 0)
    fail("'" + operand.name + "' is no predicate");
  if (!operand.negated)
    return value;
  Value negated = temporaryPredicate();
  emit(complement, {negated}, {value});
  return negated;
}

std::vector<const Operand *> Emitter::elements(const Operand &operand) const {
  if (operand.kind != Operand::Kind::List)
    return {&operand};
  std::vector<const Operand *> result;
  for (const Operand &item : operand.items)
    result.push_back(&item);
  if (result.empty())
    fail("an empty list");
  return result;
}

/// Constants lie in global memory.
static Space asAccessed(Space space) {
  return space == Space::Constant ? Space::Global : space;
}

Address Emitter::address(const Operand &operand, Space space) {
  if (operand.kind != Operand::Kind::Address)
    fail("expected an address in brackets");
  const Operand &base = operand.items[0];
  if (base.kind == Operand::Kind::Symbol) {
    Place place = translator.placeOf(base.name, statement.line);
    // Parameters of functions are local.
    bool differs = space != place.space && space != Space::Generic &&
                   !(space == Space::Parameter && place.space == Space::Local);
    if (differs)
      fail("'" + base.name + "' is in another space");
    return {asAccessed(place.space), translator.registers.preloaded(place.base),
            base.offset};
  }
  if (base.kind == Operand::Kind::Integer)
    return {asAccessed(space), constant(base.value, 8), operand.offset};
  if (base.kind != Operand::Kind::Register)
    fail("expected a register or a name as address");
  Value value = translator.registerNamed(base.name, statement.line);
  if (width(value) != 8 && width(value) != 4)
    fail("'" + base.name + "' is no address");
  return {asAccessed(space), value, operand.offset};
}

Op &Emitter::emit(Handler handler, std::initializer_list<Value> definitions,
                  std::initializer_list<Value> uses) {
  return emit(handler, std::vector<Value>(definitions),
              std::vector<Value>(uses));
}

Op &Emitter::emit(Handler handler, const std::vector<Value> &definitions,
                  const std::vector<Value> &uses) {
  Op &op = translator.append(handler, statement.line);
  if (definitions.size() + uses.size() > op.operands.size())
    fail("too many operands");
  for (Value value : definitions)
    op.operands[op.count++] = value.index;
  op.definitions = op.count;
  for (Value value : uses)
    op.operands[op.count++] = value.index;
  return op;
}

} // namespace weft::emulator
