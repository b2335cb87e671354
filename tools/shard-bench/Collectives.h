//===- Collectives.h - Times and checks collectives -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One collective between ranks that are threads of one process or of several,
// as nccl-tests times it, and what all ranks have afterwards compared with what
// they must have.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_COLLECTIVES_H
#define WEFT_TOOLS_SHARD_BENCH_COLLECTIVES_H

#include "Measure.h"

#include "weft/Cost/CollectiveKind.h"
#include "weft/runtime/Communicator.h"

#include <functional>

namespace weft::tools {

struct CollectiveCase {
  cost::CollectiveKind kind = cost::CollectiveKind::AllReduce;
  int ranks = 2;
  runtime::DType dtype = runtime::DType::F32;
  /// Of the larger of source and destination, as nccl-tests' size: a multiple
  /// of the ranks' elements.
  int64_t bytes = 0;

  /// Elements of the larger end.
  int64_t elements() const;
  /// As nccl-tests count: of all-gather, reduce-scatter and all-to-all the
  /// elements that go to, or come from, one rank.
  int64_t count() const;
};

struct CollectiveTiming {
  /// By the clock.
  double best = 0, median = 0;
  /// CPU time of all ranks in the best batch, over the cores that they have:
  /// what a call takes if nobody else takes them, but for waiting.
  double cpu = 0;
  /// Elements that are wrong, on all ranks.
  int64_t errors = 0;
  /// Of the MPI library's own collective: the best batch by the clock; 0 where
  /// there is none.
  double ownBest = 0;
  /// Others had the cores: the middle batch took much longer than the best.
  bool isBusy() const { return median > 1.5 * best; }
  /// By the clock, as far as that says something.
  double typical() const { return isBusy() ? best : median; }
};

/// So many calls of the library's own collective by this process.
using OwnCollective = std::function<runtime::Status(
    const float *from, float *to, int64_t count, int64_t calls)>;

/// `world` has two groups, both of all ranks: the second one is for telling
/// them when to stop. Of several processes all call it, and rank 0 keeps time.
/// With `own`, whose ranks are a process each, batches of it take turns with
/// ours.
runtime::Result<CollectiveTiming> timeCollective(const CollectiveCase &run,
                                                 const runtime::World &world,
                                                 double seconds,
                                                 const OwnCollective &own = {});

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_COLLECTIVES_H
