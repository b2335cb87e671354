//===- collectives.cpp - Speed of collectives between threads -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments: ranks, and bytes per rank of the larger end of the collective.
// bytes_per_second counts these bytes once ("algorithm bandwidth").
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/InProcessWorld.h"

#include <benchmark/benchmark.h>

#include <functional>
#include <numeric>
#include <thread>
#include <vector>

using namespace weft::runtime;

namespace {

/// A rank's end, its two buffers, and elements in the larger one.
struct Rank {
  Communicator &group;
  void *source;
  void *destination;
  int64_t count;
};
using Operation = std::function<Status(const Rank &)>;

/// Every rank runs `operation` until rank 0, which keeps time, tells it by a
/// broadcast before each batch that there is none.
void measure(benchmark::State &state, DType dtype, const Operation &operation) {
  const int ranks = static_cast<int>(state.range(0));
  const int64_t bytes = state.range(1);
  std::vector<int> members(ranks);
  std::iota(members.begin(), members.end(), 0);
  auto world = InProcessWorld::create(ranks, {{members}, {members}});
  const int64_t batch = bytes <= 65536 ? 1000 : 1;

  const auto run = [&](int rank, const auto &another) {
    std::vector<float> source(bytes / sizeof(float), 1.0f);
    std::vector<float> destination(bytes / sizeof(float));
    const Rank self{*(*world)->communicator(rank, 0), source.data(),
                    destination.data(),
                    bytes / static_cast<int64_t>(byteSize(dtype))};
    Communicator &control = *(*world)->communicator(rank, 1);
    while (true) {
      int32_t more = rank == 0 && another();
      Status status = control.allReduce(&more, &more, 1, DType::I32,
                                        Reduction::Max, CallContext());
      for (int64_t i = 0; i < batch && status.ok() && more; ++i)
        status = operation(self);
      if (!status.ok())
        state.SkipWithError(status.message().c_str());
      if (!status.ok() || !more)
        return;
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { run(rank, [] { return false; }); });
  run(0, [&] { return state.KeepRunningBatch(batch); });
  for (std::thread &thread : threads)
    thread.join();
  state.SetBytesProcessed(state.iterations() * bytes);
}

void allReduce(benchmark::State &state, DType dtype) {
  measure(state, dtype, [&](const Rank &rank) {
    return rank.group.allReduce(rank.source, rank.destination, rank.count,
                                dtype, Reduction::Sum, CallContext());
  });
}

/// Max, because sums in place would grow to infinity.
void allReduceInPlace(benchmark::State &state, DType dtype) {
  measure(state, dtype, [&](const Rank &rank) {
    return rank.group.allReduce(rank.source, rank.source, rank.count, dtype,
                                Reduction::Max, CallContext());
  });
}

void reduceScatter(benchmark::State &state, DType dtype) {
  measure(state, dtype, [&](const Rank &rank) {
    return rank.group.reduceScatter(rank.source, rank.destination, 1,
                                    rank.count / rank.group.size(), dtype,
                                    Reduction::Sum, CallContext());
  });
}

void allGather(benchmark::State &state, DType dtype) {
  measure(state, dtype, [&](const Rank &rank) {
    return rank.group.allGather(rank.source, rank.destination, 1,
                                rank.count / rank.group.size(), dtype,
                                CallContext());
  });
}

void allToAll(benchmark::State &state, DType dtype) {
  measure(state, dtype, [&](const Rank &rank) {
    return rank.group.allToAll(rank.source, rank.destination, 1, 1,
                               rank.count / rank.group.size(), true, dtype,
                               CallContext());
  });
}

void sizes(benchmark::internal::Benchmark *benchmark) {
  benchmark->ArgNames({"ranks", "bytes"})
      ->ArgsProduct({{2, 4}, {1 << 10, 1 << 20, 64 << 20}})
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

/// How long ranks take to meet: nothing to move, on more ranks than cores, too.
/// The median of many short measurements, of which some meet other load.
void meetings(benchmark::internal::Benchmark *benchmark) {
  benchmark->ArgNames({"ranks", "bytes"})
      ->ArgsProduct({{2, 4, 8, 16}, {64}})
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond)
      ->MinTime(0.02)
      ->Repetitions(25)
      ->ReportAggregatesOnly();
}

BENCHMARK_CAPTURE(allReduce, meeting, DType::F32)->Apply(meetings);
BENCHMARK_CAPTURE(allReduce, f32, DType::F32)->Apply(sizes);
BENCHMARK_CAPTURE(allReduce, bf16, DType::BF16)->Apply(sizes);
BENCHMARK_CAPTURE(allReduce, f16, DType::F16)->Apply(sizes);
BENCHMARK_CAPTURE(allReduceInPlace, f32, DType::F32)->Apply(sizes);
BENCHMARK_CAPTURE(reduceScatter, f32, DType::F32)->Apply(sizes);
BENCHMARK_CAPTURE(allGather, f32, DType::F32)->Apply(sizes);
BENCHMARK_CAPTURE(allToAll, f32, DType::F32)->Apply(sizes);

} // namespace

BENCHMARK_MAIN();
