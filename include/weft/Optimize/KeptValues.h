//===- KeptValues.h - What to keep and what to recompute --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is cut in two. Of what the first half computes the second half
// needs some values. Each is either kept, or recomputed in the second half from
// other values, which are kept or recomputed in turn. Wanted is the choice of
// the least sum of costs: of what is kept, and of what is recomputed.
//
// That is a minimum cut (as in the partitioner of PyTorch's AOTAutograd): a
// node in front of and one behind each value, an edge between them with the
// cost of keeping it, one from the source with that of recomputing it, and
// edges that cannot be cut from operands to what they are recomputed for. Of
// the cheapest choices it is the one that recomputes least.
//
// Example: %x of 4 bytes; %a = tanh(%x) and %b = %x * %a of 4 bytes each, both
// needed. Kept alone: %x, and %a and %b recomputed for 4 bytes; or %a and %b
// for 8.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_OPTIMIZE_KEPTVALUES_H
#define WEFT_OPTIMIZE_KEPTVALUES_H

#include "weft/Optimize/CostNetwork.h"

#include <cstdint>
#include <vector>

namespace weft::optimize {

struct KeepableValue {
  /// What it is recomputed from, each before it. What costs nothing to keep may
  /// be left out.
  std::vector<uint32_t> operands;
  Cost keeping = 0;
  /// `forbidden` if it cannot be recomputed.
  Cost recomputing = 0;
  /// Whether the second half reads it.
  bool isNeeded = false;
};

enum class Availability : char { None, Kept, Recomputed };

/// How the second half gets each value; those that it needs are not None.
std::vector<Availability>
chooseKeptValues(const std::vector<KeepableValue> &values);

} // namespace weft::optimize

#endif // WEFT_OPTIMIZE_KEPTVALUES_H
