//===- CompareValues.h - What the ranks computed, checked op by op -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs an entry of a plan that was made to be verified, whose outputs are the
// values of the graph, and its reference, which computes every op of the graph
// on one device. The reference is given the operands that the ranks had, so a
// value is wrong only if what made it is: not if it was made of a wrong value.
// Hence errors do not add up from op to op, and the bound of each value is that
// of one op, with sums in any order.
//
//   WEFT_ASSIGN_OR_RETURN(Comparison found,
//                         compareValues(*ranks, *reference, "step", inputs));
//   fmt::print("{}", print(found));
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMPAREVALUES_H
#define WEFT_RUNTIME_COMPAREVALUES_H

#include "weft/runtime/Array.h"
#include "weft/runtime/Session.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::runtime {

/// A value of the graph that some ranks hold wrong.
struct WrongValue {
  /// Its place among the observed values of the entry.
  uint32_t place = 0;
  /// The op with its line, or the cause of a movement.
  std::string name;
  /// Whether it is another value in another sharding.
  bool isMoved = false;
  std::vector<int64_t> ranks;
  /// What these have in common: `model = 1`; empty if that is nothing, or all
  /// are wrong.
  std::string where;
  /// Axes along which ranks that should hold copies hold different values.
  std::vector<std::string> differing;
  /// What it is made of that other stages of a pipeline have, and have right:
  /// it, or the message that brought one of them, is wrong.
  std::vector<std::string> received;
  /// Elements that are wrong on some rank, and all.
  int64_t elements = 0;
  int64_t of = 0;
  /// The element that is furthest beyond its bound.
  std::vector<int64_t> index;
  double value = 0;
  double expected = 0;
  double bound = 0;
};

struct Comparison {
  std::string entry;
  int64_t ranks = 0;
  /// How many values were compared.
  int64_t values = 0;
  /// The largest error of a right value, as a part of its bound.
  double largest = 0;
  /// Those that are wrong, and made of right values.
  std::vector<WrongValue> wrong;
  /// How many more differ, which are made of wrong values.
  int64_t behind = 0;
};

/// Whether `reference` was made with the entry of the plan.
Status checkReference(const Plan &plan, const Plan &reference,
                      const std::string &entry);

/// Runs the entry on both, once. `inputs` are whole arrays by name; a state
/// that is not among them has the value that the ranks hold.
Result<Comparison> compareValues(Session &ranks, Session &reference,
                                 const std::string &entry,
                                 const std::map<std::string, Array> &inputs);

/// Some lines, with a newline at the end.
std::string print(const Comparison &comparison);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMPAREVALUES_H
