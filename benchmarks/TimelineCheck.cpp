//===- TimelineCheck.cpp - Time to prove a timeline -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jobs of 64 ranks in 1F1B order, with more and more micro-batches, up to
// 100,000 calls a rank. The time per call should not grow.
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Check.h"

#include "weft/Timeline/Transfers.h"

#include <benchmark/benchmark.h>

using namespace weft::timeline;

static Table make1F1B(int32_t ranks, int32_t microbatches) {
  Table table;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    Row &row = table.rows.emplace_back();
    const int32_t warmup = std::min(microbatches, ranks - 1 - rank);
    for (int32_t i = 0; i < warmup; ++i)
      row.push_back({rank, ActionKind::Forward, i});
    for (int32_t i = warmup; i < microbatches; ++i) {
      row.push_back({rank, ActionKind::Forward, i});
      row.push_back({rank, ActionKind::Backward, i - warmup});
    }
    for (int32_t i = microbatches - warmup; i < microbatches; ++i)
      row.push_back({rank, ActionKind::Backward, i});
  }
  return table;
}

static Job makeJobOf(int32_t ranks, int32_t microbatches) {
  Placement placement;
  for (int32_t rank = 0; rank < ranks; ++rank)
    placement.push_back(rank);
  const std::vector<Edge> edges = neighbourEdges(ranks, 1 << 20);
  return makeJob(addTransfers(make1F1B(ranks, microbatches), placement, edges,
                              Receives::BeforeUse)
                     .table,
                 Communicators::DirectedPair, edges);
}

/// The argument: calls of a rank, of which each micro-batch has six.
static void checkJob(benchmark::State &state) {
  const Job job = makeJobOf(64, int32_t(state.range(0)) / 6);
  int64_t calls = 0;
  for (const auto &row : job.rows)
    calls += int64_t(row.size());
  for (auto _ : state)
    if (!check(job).isSafe())
      state.SkipWithError("rejected");
  state.counters["calls"] = double(calls);
  state.counters["ns/call"] = benchmark::Counter(
      double(calls) * 1e-9, benchmark::Counter::kIsIterationInvariantRate |
                                benchmark::Counter::kInvert);
}
BENCHMARK(checkJob)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(
    benchmark::kMillisecond);

BENCHMARK_MAIN();
