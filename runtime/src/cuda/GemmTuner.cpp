//===- GemmTuner.cpp - Which algorithm computes a product -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/GemmTuner.h"

#include "cuda/GemmMeasurement.h"

#include <fmt/format.h>

#include <cstdlib>

namespace weft::runtime {

static constexpr int proposalCount = 32;

size_t gemmWorkspaceLimit(int processor) {
  return processor >= 90 ? size_t(32) << 20 : size_t(4) << 20;
}

std::optional<GemmAlgorithm>
fastestOf(const std::vector<GemmAlgorithm> &proposals, const GemmTimer &time) {
  std::optional<GemmAlgorithm> fastest;
  float least = 0;
  for (const GemmAlgorithm &proposal : proposals)
    if (const std::optional<float> taken = time(proposal);
        taken && (!fastest || *taken < least)) {
      least = *taken;
      fastest = proposal;
    }
  return fastest;
}

Result<std::unique_ptr<GemmTuner>> GemmTuner::fromEnvironment() {
  const char *value = std::getenv("WEFT_CUDA_TUNE");
  const std::string_view choice = value ? value : "on";
  if (choice == "off")
    return std::make_unique<GemmTuner>(nullptr);
  if (choice != "on")
    return invalidArgument(fmt::format(
        "WEFT_CUDA_TUNE is \"{}\", must be \"on\" or \"off\"", choice));
  return std::make_unique<GemmTuner>(
      std::make_unique<AlgorithmCache>(AlgorithmCache::defaultPath()));
}

static Result<std::vector<GemmAlgorithm>>
proposalsFor(const LtPointers &pointers, const GemmDescriptors &descriptors,
             size_t workspaceLimit, int count) {
  WEFT_ASSIGN_OR_RETURN(
      const auto results,
      descriptors.algorithms(pointers, workspaceLimit, count));
  if (results.empty())
    return unimplemented("cuBLASLt has no algorithm for it");
  std::vector<GemmAlgorithm> proposals;
  for (const cublasLtMatmulHeuristicResult_t &result : results)
    proposals.push_back({result.algo, result.workspaceSize});
  return proposals;
}

/// What the choice depends on beside the problem: the machine, the version that
/// algorithms mean something to, and what the pointers allow.
static std::string keyOf(const LtProblem &problem, const LtPointers &pointers,
                         const GemmDescriptors &descriptors,
                         const CudaContext &context) {
  const auto addresses = reinterpret_cast<uintptr_t>(pointers.a) |
                         reinterpret_cast<uintptr_t>(pointers.b) |
                         reinterpret_cast<uintptr_t>(pointers.d) |
                         reinterpret_cast<uintptr_t>(pointers.bias) |
                         reinterpret_cast<uintptr_t>(pointers.aux) | 256;
  return fmt::format(
      "{} | cuBLASLt {} | {} | aligned {} | workspace {}", context.deviceName,
      descriptors.library().library().getVersion(), toString(problem),
      addresses & -addresses, gemmWorkspaceLimit(context.processor));
}

Result<GemmAlgorithm> GemmTuner::choose(const LtProblem &problem,
                                        const LtPointers &pointers,
                                        const GemmDescriptors &descriptors,
                                        const CudaContext &context) {
  const size_t limit = gemmWorkspaceLimit(context.processor);
  if (!cache) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<GemmAlgorithm> proposals,
                          proposalsFor(pointers, descriptors, limit, 1));
    return proposals.front();
  }
  const std::lock_guard lock(measuring);
  const std::string key = keyOf(problem, pointers, descriptors, context);
  if (const auto known = cache->find(key))
    // Never blindly: a file may say anything.
    if (const Result<size_t> bytes = descriptors.check(*known);
        bytes.ok() && *bytes <= limit)
      return GemmAlgorithm{*known, *bytes};

  WEFT_ASSIGN_OR_RETURN(
      const std::vector<GemmAlgorithm> proposals,
      proposalsFor(pointers, descriptors, limit, proposalCount));
  Result<std::unique_ptr<GemmMeasurement>> measurement =
      GemmMeasurement::prepare(
          problem, descriptors.library().shared_from_this(), limit, context);
  const auto unmeasured = [&](std::string_view why) {
    context.note(fmt::format("took the first algorithm of cuBLASLt for a "
                             "product, unmeasured: {}",
                             why));
    return proposals.front();
  };
  if (!measurement.ok())
    return unmeasured(measurement.status().message());
  const std::optional<GemmAlgorithm> fastest =
      fastestOf(proposals, [&](const GemmAlgorithm &algorithm) {
        return (*measurement)->milliseconds(algorithm);
      });
  if (!fastest)
    return unmeasured("none of those that it proposes runs");
  cache->add(key, fastest->code);
  for (std::string &text : cache->takeNotes())
    context.note(std::move(text));
  return *fastest;
}

} // namespace weft::runtime
