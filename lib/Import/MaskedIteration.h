//===- MaskedIteration.h - Iterations that may not happen -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values that a loop carries while it is not known whether it goes on. Each
// iteration is given the values that it has if the loop goes on that far, so
// that a counter is a constant; the results are the values that the loop ends
// with, wherever that is.
//
// `jax.vmap` makes one loop of those of all examples: it goes on while any of
// them does, and its body keeps the values of the others.
//
//   while any(p(i, x)):  i, x = where(p(i, x), i + 1, i), where(p(i, x), f(x),
//   x)
//
// There each example goes on for itself, and counts for itself.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_MASKEDITERATION_H
#define WEFT_LIB_IMPORT_MASKEDITERATION_H

#include "Conversion.h"

namespace weft::stablehlo {

class MaskedIterations {
public:
  MaskedIterations(Conversion &c, Values begin)
      : c(c), givenValues(begin), kept(begin) {}

  /// What the next iteration is given.
  const Values &given() const { return givenValues; }
  /// What the loop gives if it goes on no further.
  const Values &results() const { return kept; }
  /// Whether any condition was computed.
  bool mayHaveEnded() const { return goesOn || examplesGoOn; }

  /// An iteration under a condition, null if that is true, and what it makes of
  /// what it was given. Whether something counts: constants that it changes.
  bool add(mlir::Value condition, const Values &made);

private:
  bool addExamples(mlir::Value condition, const Values &made);
  mlir::Value choose(mlir::Value condition, mlir::Value made, unsigned index);
  bool finish(const Values &made, const Values &chosen);

  Conversion &c;
  Values givenValues, kept;
  /// Whether all conditions so far have been true; null where that is certain.
  mlir::Value goesOn;
  /// The same of each example of a batch.
  mlir::Value examplesGoOn;
};

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_MASKEDITERATION_H
