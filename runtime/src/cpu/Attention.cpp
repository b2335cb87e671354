//===- Attention.cpp - Attention on a CPU -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/Attention.h"

#include "cpu/CpuFeatures.h"
#include "cpu/ThreadTeam.h"

#include <algorithm>
#include <cstddef>
#include <vector>

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

namespace {

/// Parts that run one after the other, each on the whole team.
class BoundAttention final : public BoundOperation {
public:
  BoundAttention(const AttentionArguments &arguments,
                 std::vector<AttentionPart> list, ThreadTeam &team)
      : arguments(arguments), parts(std::move(list)), team(team) {
    for (const AttentionPart &part : parts)
      bytes = std::max(bytes, part.scratchBytes);
  }

  size_t scratchpadBytes() const override { return bytes * team.size(); }
  Status bindScratchpad(void *memory) override {
    scratchpad = static_cast<std::byte *>(memory);
    return {};
  }
  Status run() override {
    for (const AttentionPart &part : parts)
      team.run(part.tasks, [&](int64_t task, int thread) {
        part.run(arguments, task, scratchpad + bytes * thread);
      });
    return {};
  }

private:
  const AttentionArguments arguments;
  const std::vector<AttentionPart> parts;
  ThreadTeam &team;
  /// Of one thread.
  size_t bytes = 0;
  std::byte *scratchpad = nullptr;
};

} // namespace

std::unique_ptr<BoundOperation>
bindAttention(const AttentionArguments &arguments, ThreadTeam &team,
              const AttentionKernels &kernels) {
  return std::make_unique<BoundAttention>(
      arguments, std::vector{kernels.forward(arguments)}, team);
}

std::unique_ptr<BoundOperation>
bindAttentionGrad(const AttentionArguments &arguments, ThreadTeam &team,
                  const AttentionKernels &kernels, GradPasses passes) {
  constexpr size_t secondCache = size_t(1) << 20;
  const AttentionPart atOnce = kernels.gradAtOnce(arguments);
  if (passes == GradPasses::Best)
    passes = atOnce.scratchBytes <= secondCache && atOnce.tasks >= team.size()
                 ? GradPasses::One
                 : GradPasses::Two;
  if (passes == GradPasses::One)
    return std::make_unique<BoundAttention>(arguments, std::vector{atOnce},
                                            team);
  return std::make_unique<BoundAttention>(
      arguments,
      std::vector{kernels.gradOfQueries(arguments),
                  kernels.gradOfKeys(arguments)},
      team);
}

} // namespace weft::runtime
