//===- Program.h - A graph that a test can print and shrink -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The property tests keep a graph as plain values: it is printed twice, once
// with its mesh and shardings and once for one device, and made smaller when a
// case fails.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_PROPERTY_PROGRAM_H
#define WEFT_TEST_PROPERTY_PROGRAM_H

#include "weft/Sharding/Sharding.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::test {

enum class Element { F32, BF16, F16, F64, I32, I64, I16, I8, I1 };

/// "f32", ..., as in a tensor type.
const char *name(Element element);
bool isFloat(Element element);
/// Floats of 16 bits, whose sums are formed in f32.
bool isNarrow(Element element);

struct Value {
  sharding::Shape shape;
  Element element = Element::F32;
  /// Upper bounds, by forward error analysis: of an element's size, and of the
  /// difference between two correct evaluations that add up and round in
  /// different ways. An error of 0 asks for equal values.
  double magnitude = 1;
  double error = 0;
  /// Whether it is computed from a value that was asked to be unreduced. Then
  /// it may be asked to be unreduced too only if the ops between are linear.
  bool fromTerms = false;

  bool isExact() const { return error == 0; }
};

/// How an op writes its types.
enum class TypeStyle {
  Result,          // : result
  Operand,         // : first operand
  OperandToResult, // : first operand -> result
  Cast,            // : first operand to result
  Select,          // : first operand, result
  Functional,      // : (operands) -> result
};

/// `%<number> = <op> %<operands> <attributes> : <types>`.
struct Step {
  std::string op;
  std::vector<int> operands = {};
  std::string attributes = {};
  TypeStyle style = TypeStyle::Result;
  int result = 0;
  /// weft.constraint only. For one device the step is left out.
  std::optional<sharding::Sharding> constraint = {};
};

/// A named input or output of the graph.
struct Port {
  int value = 0;
  std::optional<sharding::Sharding> sharding;
};

struct Program {
  sharding::Mesh mesh;
  /// Indexed by number; made by an argument or a step.
  std::vector<Value> values;
  std::vector<Port> arguments;
  std::vector<Step> steps;
  std::vector<Port> results;

  /// The module with mesh and shardings: entry `main`, arguments `a<number>`,
  /// results `r<number>`.
  std::string print() const;
  /// The same graph on a mesh of one device, without shardings.
  std::string printForOneDevice() const;
  /// Drops the steps and arguments that no result needs.
  void removeUnused();
};

} // namespace weft::test

#endif // WEFT_TEST_PROPERTY_PROGRAM_H
