//===- LoopCounters.h - What the counters of a loop decide ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counter of a loop and what is computed from it are constants by the time
// that an iteration has been read, so that two iterations may look alike where
// a later one does not:
//
//   for i in range(n):  s = s + (0 if i == n - 1 else 1) * f(x[i])
//
// What depends on counters alone is little, and is computed here for all
// iterations. They are alike if each use of it by anything else finds the same
// number in all of them, or is a slice or an update at the number of the
// iteration.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_LOOPCOUNTERS_H
#define WEFT_LIB_IMPORT_LOOPCOUNTERS_H

#include "Conversion.h"

#include "llvm/ADT/SetVector.h"

#include <memory>
#include <vector>

namespace weft::stablehlo {

/// Of a loop that has been read twice.
class LoopCounters {
public:
  /// `first` and `second` are what its first and its second iteration were
  /// given, and `third` what the second one gave.
  LoopCounters(Conversion &c, const Values &first, const Values &second,
               const Values &third);
  ~LoopCounters();

  /// Whether a carried value depends on itself and others of them alone.
  bool contains(unsigned carried) const { return counters.contains(carried); }

  /// Whether one op alone reads a carried value.
  bool hasOneUse(unsigned carried) const;

  /// Goes through all iterations. Whether their number is known and they are
  /// alike.
  bool run();

  // After that:
  /// How many iterations there are.
  int64_t count() const { return iterations; }
  /// Slices and updates at the number of the iteration.
  unsigned numIndexed() const;
  /// What counters are behind the loop.
  mlir::Value last(unsigned carried) const { return carriedValues[carried]; }

private:
  class Body;

  void findCounters(const Values &first, const Values &second,
                    const Values &third);

  Conversion &c;
  mlir::Block &block;
  llvm::SetVector<unsigned> counters;
  std::unique_ptr<Body> body;
  Values carriedValues;
  int64_t iterations = 0;
};

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_LOOPCOUNTERS_H
