//===- Source.h - PTX as it is written --------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parser makes of the text. Names are unique within a function: what
// an inner scope declares again has got a name of its own.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_SOURCE_H
#define WEFT_EMULATOR_PTX_SOURCE_H

#include "Types.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::emulator {

struct Operand {
  enum class Kind : uint8_t {
    /// `%r1`, `%tid.x`; `negated`: `!%p1`.
    Register,
    /// `7`, `-1`, `0x10`.
    Integer,
    /// `0f3F800000`, `0d3FF0000000000000`: `value` has the bits.
    Float,
    /// `buffer`, `buffer+4`, a label or a function.
    Symbol,
    /// `[%rd1+8]`, `[buffer]`, `[16]`: `items` has the base.
    Address,
    /// `{a, b}`, `(a, b)` and `a|b`.
    List,
    /// `_`.
    Sink,
  };
  Kind kind = Kind::Sink;
  std::string name;
  uint64_t value = 0;
  int64_t offset = 0;
  bool negated = false;
  std::vector<Operand> items;
};

struct Statement {
  uint32_t line = 0;
  /// `ld` of `ld.global.f32`, and {"global", "f32"}.
  std::string opcode;
  std::vector<std::string> modifiers;
  /// The predicate of `@%p1` or `@!%p1`, or empty.
  std::string guard;
  bool guardNegated = false;
  std::vector<Operand> operands;
};

/// An element of an initialiser: a number or an address.
struct Initial {
  uint64_t bits = 0;
  std::string symbol;
};

struct Variable {
  uint32_t line = 0;
  std::string name;
  Space space = Space::Global;
  Type type = Type::B8;
  uint64_t alignment = 1;
  /// Bytes; 0 for `.extern .shared` arrays, whose size the launch gives.
  uint64_t size = 0;
  std::vector<Initial> initial;
};

struct Function {
  uint32_t line = 0;
  std::string name;
  bool isEntry = false;
  /// A declaration has none.
  bool hasBody = false;
  std::vector<Variable> results, parameters;
  std::map<std::string, Type> registers;
  /// .shared, .local and .param variables of the body.
  std::vector<Variable> variables;
  std::vector<Statement> statements;
  /// Index of the statement that follows.
  std::map<std::string, size_t> labels;
  /// Targets of `brx.idx` by the name of their table.
  std::map<std::string, std::vector<std::string>> branchTables;
};

struct Module {
  /// "sm_80".
  std::string target;
  std::vector<Variable> variables;
  std::map<std::string, Function> functions;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_SOURCE_H
