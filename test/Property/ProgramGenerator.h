//===- ProgramGenerator.h - One graph in the making -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state behind generateProgram. Each `add` function appends the steps of
// one op, or none when the value given does not suit it; the functions are
// grouped into one file a kind of op.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_PROPERTY_PROGRAMGENERATOR_H
#define WEFT_TEST_PROPERTY_PROGRAMGENERATOR_H

#include "Generator.h"
#include "RandomSharding.h"

namespace weft::test {

class ProgramGenerator {
public:
  ProgramGenerator(Random &random, bool hasWindows)
      : random(random), hasWindows(hasWindows) {}

  Program generate();

private:
  // Building blocks
  const Value &value(int number) const { return program.values[number]; }
  llvm::ArrayRef<int64_t> shape(int number) const {
    return program.values[number].shape;
  }
  int anyValue() {
    return static_cast<int>(
        random.below(static_cast<int64_t>(program.values.size())));
  }
  sharding::Shape randomShape();
  /// Legal for the value; sometimes with an unreduced axis.
  sharding::Sharding shardingOf(const Value &value);
  sharding::AxisRef anyAxis();
  sharding::Reduction anyReduction();
  int newArgument(sharding::Shape shape, Element element);
  /// Adds a step unless its value is too large or too inexact to compare.
  int add(Step step, Value result);
  /// Another value of the same type, the same one, or a new argument.
  int partner(int number);
  int constant(Element element, const std::string &text, double magnitude);
  int broadcastTo(int scalar, llvm::ArrayRef<int64_t> shape);

  // Ops that move data
  void addTranspose(int x);
  void addReshape(int x);
  static std::vector<int64_t> divisors(int64_t size);
  void addBroadcast(int x);
  void addSlice(int x);
  void addConcat(int x);
  void addIota();
  void addConstraint(int x);

  // Ops that move data to an index
  void addPad(int x);
  int addIndices(sharding::Shape indexShape, int64_t size);
  void addGather(int x);
  void addScatterAdd(int x);

  // Products and reductions
  void addReduce(int x);
  int addDot(int lhs, int rhs, llvm::ArrayRef<int64_t> lhsBatch,
             llvm::ArrayRef<int64_t> rhsBatch, int64_t lhsSum, int64_t rhsSum);
  void addDotGeneral(int lhs);
  /// A sum whose terms lie on the ranks of one axis, kept that way by a
  /// constraint, perhaps through ops that commute with the sum.
  void addUnreduced();
  /// The same of a maximum or minimum.
  void addUnreducedExtremum(sharding::Reduction kind);
  /// An argument of two dimensions, the second split over `axis`.
  int newSplitArgument(Element element, sharding::AxisRef axis);
  int addPartial(int terms, sharding::AxisRef axis, sharding::Reduction kind);

  // Elementwise
  int addUnary(const std::string &op, int x, Value result);
  int addBinary(const std::string &op, int x, int y);
  void addElementwise(int x);
  /// A function of one float, made safe by going through |x| + 1 where needed.
  void addFunction(int x);
  void addConversion(int x);
  /// Small integers as floats.
  void addIntegerToFloat(int x);
  void addShift(int x);
  void addComparison(int x);
  void addPredicateUse(int predicate);

  // Ops on windows
  /// Batch, one or two dimensions of space, features.
  sharding::Shape imageShape();
  void addConvolution(int x);
  /// A reduction of windows, and perhaps a transpose of one.
  void addWindows(int x);

  // The graph
  void addSomething();
  /// The values that nothing uses, and sometimes one that is used.
  void addResults();

  Random &random;
  bool hasWindows;
  Program program;
  /// Number of devices: dimensions that may be split are multiples of it.
  int64_t unit = 1;
};

/// Rounding error of one operation on values of the size given, with some air.
double rounding(Element element, double magnitude);

/// `[1, 2]`.
std::string list(llvm::ArrayRef<int64_t> numbers);

} // namespace weft::test

#endif // WEFT_TEST_PROPERTY_PROGRAMGENERATOR_H
