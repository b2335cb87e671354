//===- ExpectedValues.h - What collectives must give ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_EXPECTEDVALUES_H
#define WEFT_TOOLS_SHARD_BENCH_EXPECTEDVALUES_H

#include "Collectives.h"

#include <array>

namespace weft::tools {

/// What a rank starts with. Small whole numbers, whose sums over some dozen
/// ranks are exact in every type.
double valueOf(int rank, int64_t index);

/// What a rank has at the end.
class ExpectedValues {
public:
  ExpectedValues(const CollectiveCase &run, int rank);
  double at(int64_t index) const;

private:
  const CollectiveCase &run;
  int rank;
  /// Of the values of all ranks, by index.
  std::array<double, 8> sums = {};
};

/// The rank that a permutation receives from.
int senderOf(const CollectiveCase &run, int rank);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_EXPECTEDVALUES_H
