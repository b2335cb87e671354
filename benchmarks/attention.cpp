//===- attention.cpp - Speed of attention by tiles ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments: positions (as many queries as keys), heads of queries, heads of
// keys, size of a head; one batch, causal, fp32, one thread. FLOPs are those of
// the pairs that the mask leaves: 2 matmuls of a pair forward, 5 backward,
// whatever is computed twice.
//
//===----------------------------------------------------------------------===//

#include "cpu/Attention.h"
#include "cpu/ThreadTeam.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

using namespace weft::runtime;

namespace {

std::vector<float> numbers(size_t count, double step) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  return values;
}

/// The tensors of a forward and a backward pass.
struct Pass {
  explicit Pass(const benchmark::State &state) {
    sizes.queries = sizes.keys = state.range(0);
    sizes.heads = state.range(1);
    sizes.keyHeads = state.range(2);
    sizes.headSize = state.range(3);
    const size_t rows = sizes.queries * sizes.heads;
    const size_t ofQueries = rows * sizes.headSize;
    const size_t ofKeys = sizes.keys * sizes.keyHeads * sizes.headSize;
    q = numbers(ofQueries, 0.7), k = numbers(ofKeys, 0.3),
    v = numbers(ofKeys, 0.11), g = numbers(ofQueries, 0.13);
    out.resize(ofQueries), dq.resize(ofQueries);
    dk.resize(ofKeys), dv.resize(ofKeys);
    logsumexp.resize(rows);
  }

  AttentionArguments arguments() {
    AttentionArguments a;
    a.sizes = sizes;
    a.isCausal = true;
    a.scale = 1 / std::sqrt(static_cast<double>(sizes.headSize));
    a.query = q.data(), a.key = k.data(), a.value = v.data();
    a.out = {out.data()};
    a.logsumexp = logsumexp.data();
    a.forwardOut = out.data();
    a.forwardLogsumexp = logsumexp.data();
    a.outCotangent = g.data();
    a.queryCotangent = {dq.data()};
    a.keyCotangent = {dk.data()};
    a.valueCotangent = {dv.data()};
    return a;
  }
  double flops(int products) const {
    const auto pairs =
        static_cast<double>(sizes.queries * (sizes.queries + 1) / 2);
    return 2.0 * products * pairs *
           static_cast<double>(sizes.heads * sizes.headSize);
  }

  AttentionSizes sizes;
  std::vector<float> q, k, v, g, out, dq, dk, dv, logsumexp;
};

void measure(benchmark::State &state, BoundOperation &operation, double flops) {
  std::vector<std::byte> memory(operation.scratchpadBytes() + 64);
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  (void)operation.bindScratchpad(memory.data() + (64 - address % 64));
  for (auto _ : state)
    if (!operation.run().ok())
      state.SkipWithError("failed");
  state.counters["FLOPS"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["scratch"] = static_cast<double>(operation.scratchpadBytes());
}

void forward(benchmark::State &state) {
  ThreadTeam team(1);
  Pass pass(state);
  measure(state, *bindAttention(pass.arguments(), team), pass.flops(2));
}

template <GradPasses passes> void backward(benchmark::State &state) {
  ThreadTeam team(1);
  Pass pass(state);
  measure(state,
          *bindAttentionGrad(pass.arguments(), team, attentionKernelsHere(),
                             passes),
          pass.flops(5));
}

void sizes(benchmark::internal::Benchmark *benchmark) {
  benchmark->ArgNames({"positions", "heads", "key_heads", "size"});
  for (int64_t positions : {256, 1024, 4096}) {
    benchmark->Args({positions, 12, 12, 64}); // GPT-2 small
    benchmark->Args({positions, 32, 8, 128}); // Llama 3 8B
  }
}

} // namespace

BENCHMARK(forward)->Apply(sizes)->Unit(benchmark::kMillisecond);
BENCHMARK(backward<GradPasses::One>)
    ->Apply(sizes)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(backward<GradPasses::Two>)
    ->Apply(sizes)
    ->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
