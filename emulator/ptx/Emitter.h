//===- Emitter.h - Turns statements into operations -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the families of instructions (Arithmetic.cpp, MemoryAccess.cpp, ...)
// see of a statement: its modifiers, which they take one by one so that none
// is overlooked, and its operands as registers.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_EMITTER_H
#define WEFT_EMULATOR_PTX_EMITTER_H

#include "Half.h"
#include "Program.h"
#include "Source.h"

#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace weft::emulator {

/// A register before it has an offset: an index into the emitter's table.
struct Value {
  uint32_t index = 0;
};

/// An address in memory: `base` plus `offset` in a space.
struct Address {
  Space space;
  Value base;
  int64_t offset;
};

class Modifiers {
public:
  Modifiers(std::vector<std::string> names, uint32_t line)
      : names(std::move(names)), line(line) {}
  /// Whether `name` is there; takes it.
  bool take(std::string_view name);
  /// Takes the first that is in `map`.
  template <typename T>
  std::optional<T>
  takeOneOf(std::initializer_list<std::pair<std::string_view, T>> map) {
    for (const auto &[name, value] : map)
      if (take(name))
        return value;
    return std::nullopt;
  }
  /// Takes every modifier that starts with `prefix`.
  void skipPrefix(std::string_view prefix);
  std::optional<Type> tryType();
  /// Takes the first type; there has to be one.
  Type type();
  std::optional<Rounding> rounding();
  std::optional<Space> space();
  /// Throws when one is left.
  void finish(const std::string &opcode) const;
  bool empty() const { return names.empty(); }

private:
  std::vector<std::string> names;
  uint32_t line;
};

class Translator;

class Emitter {
public:
  Emitter(Translator &translator, const Statement &statement)
      : modifiers(statement.modifiers, statement.line), statement(statement),
        translator(translator) {}

  Modifiers modifiers;
  const Statement &statement;

  size_t operands() const { return statement.operands.size(); }
  void expectOperands(size_t least, size_t most = 0) const;
  const Operand &operand(size_t index) const;

  /// A register that the statement writes. Its size has to be `size`, or at
  /// least that with `orWider`.
  Value written(const Operand &operand, uint32_t size, bool orWider = false);
  Value writtenPredicate(const Operand &operand);
  /// A register or immediate that the statement reads.
  Value read(const Operand &operand, Type type, bool orWider = false);
  Value readPredicate(const Operand &operand);
  /// The registers of `{a, b}`, or of one operand.
  std::vector<const Operand *> elements(const Operand &operand) const;
  Address address(const Operand &operand, Space space);
  /// The bytes of a register.
  uint32_t width(Value value) const;
  /// A register of its own.
  Value temporary(uint32_t size);
  Value temporaryPredicate();
  Value constant(uint64_t bits, uint32_t size);

  /// Appends an operation that writes `definitions` and reads `uses`.
  Op &emit(Handler handler, std::initializer_list<Value> definitions,
           std::initializer_list<Value> uses);
  Op &emit(Handler handler, const std::vector<Value> &definitions,
           const std::vector<Value> &uses);
  [[noreturn]] void fail(const std::string &what) const;

private:
  Translator &translator;
};

using Instruction = void (*)(Emitter &);
using InstructionTable = std::unordered_map<std::string_view, Instruction>;

void addArithmetic(InstructionTable &table);
void addIntegerArithmetic(InstructionTable &table);
/// mul and mad of integers (.lo, .hi, .wide); false when it is none.
bool addIntegerProduct(Emitter &emitter);
void addIntegerDivision(Emitter &emitter, Type type);
void addTranscendental(InstructionTable &table);
void addBits(InstructionTable &table);
void addComparison(InstructionTable &table);
void addMoves(InstructionTable &table);
void addConversion(InstructionTable &table);
void addMemoryAccess(InstructionTable &table);
void addAtomics(InstructionTable &table);
void addWarp(InstructionTable &table);

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_EMITTER_H
