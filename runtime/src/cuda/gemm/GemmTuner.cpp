//===- GemmTuner.cpp - Which algorithm computes a GEMM ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/GemmTuner.h"

#include "cuda/gemm/GemmMeasurement.h"
#include "cuda/gemm/SharedAlgorithms.h"

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
/// algorithms mean something to, and what each of the pointers allows.
static std::string keyOf(const LtProblem &problem, const LtPointers &pointers,
                         const GemmDescriptors &descriptors,
                         const CudaContext &context) {
  return fmt::format(
      "{} | cuBLASLt {} | {} | aligned {} {} {} {} {} | workspace {}",
      context.deviceName, descriptors.library().library().getVersion(),
      toString(problem), alignmentOf(pointers.a), alignmentOf(pointers.b),
      alignmentOf(pointers.d), alignmentOf(pointers.bias),
      alignmentOf(pointers.aux), gemmWorkspaceLimit(context.processor));
}

/// Never blindly: a file, or another rank, may say anything.
static std::optional<GemmAlgorithm>
checked(const cublasLtMatmulAlgo_t &algorithm,
        const GemmDescriptors &descriptors, const CudaContext &context) {
  const Result<size_t> bytes = descriptors.check(algorithm);
  if (!bytes.ok() || *bytes > gemmWorkspaceLimit(context.processor))
    return std::nullopt;
  return GemmAlgorithm{algorithm, *bytes};
}

/// The fastest of the proposals; the first, with a note, where they cannot be
/// compared.
static Result<std::optional<GemmAlgorithm>>
measure(const LtProblem &problem, const std::vector<GemmAlgorithm> &proposals,
        const GemmDescriptors &descriptors, const CudaContext &context) {
  Result<std::unique_ptr<GemmMeasurement>> measurement =
      GemmMeasurement::prepare(problem,
                               descriptors.library().shared_from_this(),
                               gemmWorkspaceLimit(context.processor), context);
  if (!measurement.ok() &&
      measurement.status().code() != StatusCode::ResourceExhausted)
    return measurement.status();
  if (!measurement.ok()) {
    // The GEMM itself needs none of this memory.
    context.note(fmt::format("took the first algorithm of cuBLASLt for a "
                             "GEMM, unmeasured, because the memory beside "
                             "the arena does not hold a second one: {}",
                             measurement.status().message()));
    return std::optional<GemmAlgorithm>();
  }
  const std::optional<GemmAlgorithm> fastest = fastestOf(
      proposals, [&](const GemmAlgorithm &algorithm) -> std::optional<float> {
        if (context.waitFailed)
          return std::nullopt;
        return (*measurement)->milliseconds(algorithm);
      });
  if (context.waitFailed)
    return (*measurement)->lastFailure();
  if (!fastest)
    return (*measurement)
        ->lastFailure()
        .withContext(fmt::format(
            "none of the {} algorithms that cuBLASLt proposes runs; the last",
            proposals.size()));
  return fastest;
}

Result<GemmAlgorithm> GemmTuner::chooseAlone(const std::string &key,
                                             const LtProblem &problem,
                                             const LtPointers &pointers,
                                             const GemmDescriptors &descriptors,
                                             const CudaContext &context) {
  const size_t limit = gemmWorkspaceLimit(context.processor);
  const bool isMeasured =
      cache && !context.isDeterministic && problem.processors == 0;
  if (isMeasured)
    if (const auto known = cache->find(key))
      if (const auto usable = checked(*known, descriptors, context))
        return *usable;
  WEFT_ASSIGN_OR_RETURN(const std::vector<GemmAlgorithm> proposals,
                        proposalsFor(pointers, descriptors, limit,
                                     isMeasured ? proposalCount : 1));
  if (!isMeasured)
    return proposals.front();
  WEFT_ASSIGN_OR_RETURN(const std::optional<GemmAlgorithm> fastest,
                        measure(problem, proposals, descriptors, context));
  if (fastest)
    cache->add(key, fastest->code);
  for (const std::string &text : cache->takeNotes())
    context.note(text);
  return fastest.value_or(proposals.front());
}

/// The choice of the first rank; none, with a note, if it cannot be used here.
Result<std::optional<GemmAlgorithm>>
GemmTuner::askFirst(const std::string &key, const GemmDescriptors &descriptors,
                    const CudaContext &context) {
  SharedAlgorithms &shared = *context.algorithms;
  WEFT_ASSIGN_OR_RETURN(const auto told, shared.ask(key));
  if (told)
    if (const auto usable = checked(*told, descriptors, context))
      return usable;
  context.note(fmt::format(
      "chose an algorithm for a GEMM by itself, because {} rank {}: results "
      "of the two may differ in the last bits",
      told ? "cuBLASLt refuses here what was chosen by"
           : "no such GEMM was chosen for by",
      shared.first()));
  return std::optional<GemmAlgorithm>();
}

Result<GemmAlgorithm> GemmTuner::choose(const LtProblem &problem,
                                        const LtPointers &pointers,
                                        const GemmDescriptors &descriptors,
                                        const CudaContext &context) {
  const std::lock_guard lock(measuring);
  const std::string key = keyOf(problem, pointers, descriptors, context);
  SharedAlgorithms *const shared = context.algorithms;
  if (shared)
    if (const auto known = shared->known(key))
      if (const auto usable = checked(*known, descriptors, context))
        return *usable;
  if (shared && !shared->isFirst()) {
    WEFT_ASSIGN_OR_RETURN(const auto told, askFirst(key, descriptors, context));
    if (told)
      return *told;
  }
  WEFT_ASSIGN_OR_RETURN(
      const GemmAlgorithm chosen,
      chooseAlone(key, problem, pointers, descriptors, context));
  if (shared && shared->isFirst())
    WEFT_RETURN_IF_ERROR(shared->tell(key, chosen.code));
  else if (shared)
    shared->remember(key, chosen.code);
  return chosen;
}

} // namespace weft::runtime
