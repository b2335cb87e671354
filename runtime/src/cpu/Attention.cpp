//===- Attention.cpp - Attention on a CPU -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/Attention.h"

#include "cpu/CpuFeatures.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace weft::runtime {

const AttentionKernels &attentionKernelsHere() {
#if defined(__x86_64__)
  const auto has = [](std::string_view feature) {
    return supportOf(feature) == FeatureSupport::Present;
  };
  if (has("avx512f") && has("avx512dq") && has("avx512vl"))
    return avx512AttentionKernels;
  if (has("avx2") && has("fma"))
    return avx2AttentionKernels;
#endif
  return baselineAttentionKernels;
}

int attentionThreads() {
#if defined(_OPENMP)
  return omp_get_max_threads();
#else
  return 1;
#endif
}

namespace {

/// Parts that run one after the other, each on all threads.
class BoundAttention final : public BoundOperation {
public:
  BoundAttention(const AttentionArguments &arguments,
                 std::vector<AttentionPart> list)
      : arguments(arguments), parts(std::move(list)),
        threads(attentionThreads()) {
    for (const AttentionPart &part : parts)
      bytes = std::max(bytes, part.scratchBytes);
  }

  size_t scratchpadBytes() const override { return bytes * threads; }
  Status bindScratchpad(void *memory) override {
    scratchpad = static_cast<std::byte *>(memory);
    return {};
  }
  Status run() override {
    for (const AttentionPart &part : parts)
      run(part);
    return {};
  }

private:
  void run(const AttentionPart &part);

  const AttentionArguments arguments;
  const std::vector<AttentionPart> parts;
  const int threads;
  /// Of one thread.
  size_t bytes = 0;
  std::byte *scratchpad = nullptr;
};

} // namespace

void BoundAttention::run(const AttentionPart &part) {
#if defined(_OPENMP)
  if (threads > 1) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < part.tasks; ++task)
      part.run(arguments, task, scratchpad + bytes * omp_get_thread_num());
    return;
  }
#endif
  for (int64_t task = 0; task < part.tasks; ++task)
    part.run(arguments, task, scratchpad);
}

std::unique_ptr<BoundOperation>
bindAttention(const AttentionArguments &arguments,
              const AttentionKernels &kernels) {
  return std::make_unique<BoundAttention>(
      arguments, std::vector{kernels.forward(arguments)});
}

std::unique_ptr<BoundOperation>
bindAttentionGrad(const AttentionArguments &arguments,
                  const AttentionKernels &kernels, GradPasses passes) {
  constexpr size_t secondCache = size_t(1) << 20;
  const AttentionPart atOnce = kernels.gradAtOnce(arguments);
  if (passes == GradPasses::Best)
    passes =
        atOnce.scratchBytes <= secondCache && atOnce.tasks >= attentionThreads()
            ? GradPasses::One
            : GradPasses::Two;
  if (passes == GradPasses::One)
    return std::make_unique<BoundAttention>(arguments, std::vector{atOnce});
  return std::make_unique<BoundAttention>(
      arguments, std::vector{kernels.gradOfQueries(arguments),
                             kernels.gradOfKeys(arguments)});
}

} // namespace weft::runtime
