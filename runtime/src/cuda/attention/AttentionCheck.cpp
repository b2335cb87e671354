//===- AttentionCheck.cpp - Whether attention is right ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/attention/AttentionCheck.h"

#include "cuda/attention/Attention.h"
#include "cuda/platform/DeviceScratch.h"

#include <fmt/format.h>

#include <cmath>

namespace weft::runtime {
namespace {

/// Weights of bf16 are rounded to 8 bits before they meet the values.
constexpr float elementTolerance = 2e-2f;
constexpr float sumTolerance = 1e-3f;

/// The tensors of both passes.
class Trial {
public:
  Trial(const AttentionArguments &like, const CudaContext &context)
      : context(context), memory(context), s(like.sizes) {
    arguments.element = like.element;
    arguments.sizes = like.sizes;
    arguments.isCausal = like.isCausal;
    arguments.scale = like.scale;
  }

  Status prepare();
  /// Also computes the forward pass by the own kernels.
  Status prepareGrad();

  /// Runs the candidate, and the own kernels on other results.
  Status checkForward(const AttentionCandidate &candidate);
  Status checkGrad(const AttentionCandidate &candidate);

private:
  DType dtype() const {
    return arguments.element == AttentionElement::F16 ? DType::F16
                                                      : DType::BF16;
  }
  int64_t rows() const { return s.batch * s.queries * s.heads; }
  int64_t ofQueries() const { return rows() * s.headSize; }
  int64_t ofKeys() const { return s.batch * s.keys * s.keyHeads * s.headSize; }
  Result<void *> elements(int64_t count) {
    return memory.allocate(static_cast<size_t>(count) * byteSize(DType::BF16));
  }
  Result<void *> sums(int64_t count) {
    return memory.allocate(static_cast<size_t>(count) * sizeof(float));
  }
  Status run(Result<std::unique_ptr<CudaOperation>> operation);
  Status synchronize();
  template <typename T>
  Result<std::vector<T>> read(const void *from, int64_t count);
  Result<std::vector<float>> readElements(const void *from, int64_t count);

  const CudaContext &context;
  DeviceScratch memory;
  const AttentionSizes &s;
  AttentionArguments arguments;
};

} // namespace

Status compareResults(std::string_view name, std::span<const float> found,
                      std::span<const float> expected, float tolerance) {
  float largest = 0;
  for (const float value : expected)
    largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < found.size(); ++i)
    // Not the other way round: comparisons with what is no number are false.
    if (!(std::abs(found[i] - expected[i]) <= tolerance * largest))
      return internalError(
          fmt::format("{} has {} where {} is right, at {} of {}", name,
                      found[i], expected[i], i, found.size()));
  return {};
}

Status Trial::synchronize() {
  return context.synchronize("the trial of attention");
}

Status Trial::run(Result<std::unique_ptr<CudaOperation>> operation) {
  if (!operation.ok())
    return operation.status();
  WEFT_ASSIGN_OR_RETURN(void *const workspace,
                        memory.allocate((*operation)->workspaceBytes() + 1));
  (*operation)->bindWorkspace(workspace);
  WEFT_RETURN_IF_ERROR((*operation)->enqueue(context.compute));
  Status status = synchronize();
  context.leave(std::shared_ptr<CudaOperation>(*std::move(operation)));
  return status;
}

template <typename T>
Result<std::vector<T>> Trial::read(const void *from, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  WEFT_RETURN_IF_ERROR(cudaStatus(
      context.cudart,
      context.cudart.memcpyAsync(values.data(), from, values.size() * sizeof(T),
                                 cudaMemcpyDeviceToHost, context.compute),
      "cudaMemcpyAsync"));
  WEFT_RETURN_IF_ERROR(synchronize());
  return values;
}

Result<std::vector<float>> Trial::readElements(const void *from,
                                               int64_t count) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<uint16_t> elements,
                        read<uint16_t>(from, count));
  std::vector<float> values;
  values.reserve(elements.size());
  for (const uint16_t bits : elements)
    values.push_back(dtype() == DType::F16 ? toFloat(Float16{bits})
                                           : toFloat(BFloat16{bits}));
  return values;
}

Status Trial::prepare() {
  WEFT_ASSIGN_OR_RETURN(arguments.query,
                        memory.random(dtype(), ofQueries(), 1));
  WEFT_ASSIGN_OR_RETURN(arguments.key, memory.random(dtype(), ofKeys(), 2));
  WEFT_ASSIGN_OR_RETURN(arguments.value, memory.random(dtype(), ofKeys(), 3));
  WEFT_ASSIGN_OR_RETURN(arguments.out.data, elements(ofQueries()));
  WEFT_ASSIGN_OR_RETURN(arguments.logsumexp, sums(rows()));
  return {};
}

Status Trial::checkForward(const AttentionCandidate &candidate) {
  AttentionArguments own = arguments;
  WEFT_ASSIGN_OR_RETURN(own.out.data, elements(ofQueries()));
  WEFT_ASSIGN_OR_RETURN(own.logsumexp, sums(rows()));
  WEFT_RETURN_IF_ERROR(run(bindTiledAttention(own, context.cudart)));
  WEFT_RETURN_IF_ERROR(candidate(arguments));
  WEFT_RETURN_IF_ERROR(synchronize());
  WEFT_ASSIGN_OR_RETURN(const auto found,
                        readElements(arguments.out.data, ofQueries()));
  WEFT_ASSIGN_OR_RETURN(const auto expected,
                        readElements(own.out.data, ofQueries()));
  WEFT_RETURN_IF_ERROR(
      compareResults("the result", found, expected, elementTolerance));
  WEFT_ASSIGN_OR_RETURN(const auto foundSums,
                        read<float>(arguments.logsumexp, rows()));
  WEFT_ASSIGN_OR_RETURN(const auto expectedSums,
                        read<float>(own.logsumexp, rows()));
  return compareResults("logsumexp", foundSums, expectedSums, sumTolerance);
}

Status Trial::prepareGrad() {
  WEFT_RETURN_IF_ERROR(prepare());
  WEFT_RETURN_IF_ERROR(run(bindTiledAttention(arguments, context.cudart)));
  arguments.forwardOut = arguments.out.data;
  arguments.forwardLogsumexp = arguments.logsumexp;
  arguments.out.data = arguments.logsumexp = nullptr;
  WEFT_ASSIGN_OR_RETURN(arguments.outCotangent,
                        memory.random(dtype(), ofQueries(), 4));
  WEFT_ASSIGN_OR_RETURN(arguments.queryCotangent.data, elements(ofQueries()));
  WEFT_ASSIGN_OR_RETURN(arguments.keyCotangent.data, elements(ofKeys()));
  WEFT_ASSIGN_OR_RETURN(arguments.valueCotangent.data, elements(ofKeys()));
  return {};
}

Status Trial::checkGrad(const AttentionCandidate &candidate) {
  AttentionArguments own = arguments;
  WEFT_ASSIGN_OR_RETURN(own.queryCotangent.data, elements(ofQueries()));
  WEFT_ASSIGN_OR_RETURN(own.keyCotangent.data, elements(ofKeys()));
  WEFT_ASSIGN_OR_RETURN(own.valueCotangent.data, elements(ofKeys()));
  WEFT_RETURN_IF_ERROR(run(bindTiledAttentionGrad(own, context.cudart)));
  WEFT_RETURN_IF_ERROR(candidate(arguments));
  WEFT_RETURN_IF_ERROR(synchronize());
  const auto compare = [&](std::string_view name, const AttentionResult &mine,
                           const AttentionResult &right,
                           int64_t count) -> Status {
    WEFT_ASSIGN_OR_RETURN(const auto found, readElements(mine.data, count));
    WEFT_ASSIGN_OR_RETURN(const auto expected, readElements(right.data, count));
    return compareResults(name, found, expected, elementTolerance);
  };
  WEFT_RETURN_IF_ERROR(compare("the cotangent of query",
                               arguments.queryCotangent, own.queryCotangent,
                               ofQueries()));
  WEFT_RETURN_IF_ERROR(compare("the cotangent of key", arguments.keyCotangent,
                               own.keyCotangent, ofKeys()));
  return compare("the cotangent of value", arguments.valueCotangent,
                 own.valueCotangent, ofKeys());
}

Status checkAttention(const AttentionArguments &arguments,
                      const CudaContext &context,
                      const AttentionCandidate &candidate) {
  Trial trial(arguments, context);
  WEFT_RETURN_IF_ERROR(trial.prepare());
  return trial.checkForward(candidate);
}

Status checkAttentionGrad(const AttentionArguments &arguments,
                          const CudaContext &context,
                          const AttentionCandidate &candidate) {
  Trial trial(arguments, context);
  WEFT_RETURN_IF_ERROR(trial.prepareGrad());
  return trial.checkGrad(candidate);
}

} // namespace weft::runtime
