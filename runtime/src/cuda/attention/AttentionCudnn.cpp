//===- AttentionCudnn.cpp - Attention by cuDNN ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/attention/AttentionCudnn.h"

#include "cuda/attention/AttentionCheck.h"
#include "cuda/attention/CudnnGraph.h"
#include "cuda/platform/DeviceScratch.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

namespace weft::runtime {
namespace {

/// Deterministic engines keep all GEMMs of a pass in memory: 2 bytes for
/// each pair of a query and a key. Beyond this the own kernels are used.
constexpr size_t workspaceLimit = size_t(4) << 30;

/// cuDNN on the stream of one rank, used by its thread alone, and the plans
/// that it has made.
class CudnnStream {
public:
  static Result<std::shared_ptr<CudnnStream>>
  shared(const CudaContext &context);
  ~CudnnStream() {
    if (handle)
      (void)library.destroy(handle);
  }

  /// The plan for such arguments, made and checked once: layers of a model have
  /// the same.
  Result<std::shared_ptr<const CudnnPlan>>
  plan(const AttentionArguments &arguments, bool isGrad,
       const CudaContext &context);

  cudnnHandle_t get() const { return handle; }

private:
  explicit CudnnStream(const Cudnn &library) : library(library) {}
  /// In the spelling that an engine takes.
  Result<std::shared_ptr<const CudnnPlan>>
  make(const AttentionArguments &arguments, bool isGrad,
       const CudaContext &context);
  /// A plan of the graph whose results are right.
  Result<std::shared_ptr<const CudnnPlan>>
  tryGraph(AttentionGraph graph, const AttentionArguments &arguments,
           bool isGrad, const CudaContext &context);

  const Cudnn library;
  cudnnHandle_t handle = nullptr;
  std::map<std::string, Result<std::shared_ptr<const CudnnPlan>>> plans;
};

class CudnnAttention final : public CudaOperation {
public:
  CudnnAttention(std::shared_ptr<CudnnStream> stream,
                 std::shared_ptr<const CudnnPlan> plan,
                 const AttentionArguments &arguments)
      : cudnn(std::move(stream)), plan(std::move(plan)), arguments(arguments) {}

  size_t workspaceBytes() const override { return plan->workspaceBytes(); }
  void bindWorkspace(void *memory) override {
    bound = plan->bind(arguments, memory);
  }
  Status enqueue(cudaStream_t stream) override {
    if (!bound.ok())
      return bound.status();
    return plan->execute(cudnn->get(), *bound, stream);
  }

private:
  // Plans belong to the handle.
  const std::shared_ptr<CudnnStream> cudnn;
  const std::shared_ptr<const CudnnPlan> plan;
  const AttentionArguments arguments;
  Result<CudnnDescriptor> bound =
      failedPrecondition("attention by cuDNN has no workspace yet");
};

} // namespace

Result<std::shared_ptr<CudnnStream>>
CudnnStream::shared(const CudaContext &context) {
  static std::mutex mutex;
  static std::map<std::pair<cudaStream_t, int>, std::weak_ptr<CudnnStream>>
      streams;
  const std::lock_guard lock(mutex);
  std::weak_ptr<CudnnStream> &known =
      streams[{context.compute, context.device}];
  if (std::shared_ptr<CudnnStream> stream = known.lock())
    return stream;
  const Cudnn &library = *context.cudnn;
  std::shared_ptr<CudnnStream> made(new CudnnStream(library));
  WEFT_RETURN_IF_ERROR(
      cudnnStatus(library, library.create(&made->handle), "cudnnCreate"));
  known = made;
  return made;
}

Result<std::shared_ptr<const CudnnPlan>>
CudnnStream::make(const AttentionArguments &arguments, bool isGrad,
                  const CudaContext &context) {
  if (!isGrad)
    return tryGraph(attentionGraph(arguments), arguments, isGrad, context);
  const auto spelled = [&](GradSpelling spelling) {
    return tryGraph(attentionGradGraph(arguments, spelling), arguments, isGrad,
                    context);
  };
  auto newer = spelled(GradSpelling::SumsInMemory);
  if (newer.ok() || context.waitFailed)
    return newer;
  auto older = spelled(GradSpelling::AllVirtual);
  if (older.ok() || context.waitFailed)
    return older;
  return unimplemented(fmt::format(
      "as cuDNN from 9.15 on has its pattern: {}; as earlier releases have it: "
      "{}",
      newer.status().message(), older.status().message()));
}

Result<std::shared_ptr<const CudnnPlan>>
CudnnStream::tryGraph(AttentionGraph graph, const AttentionArguments &arguments,
                      bool isGrad, const CudaContext &context) {
  WEFT_ASSIGN_OR_RETURN(
      CudnnPlan created,
      CudnnPlan::create(library, handle, std::move(graph), workspaceLimit));
  auto made = std::make_shared<const CudnnPlan>(std::move(created));
  DeviceScratch memory(context);
  WEFT_ASSIGN_OR_RETURN(void *const workspace,
                        memory.allocate(made->workspaceBytes() + 1));
  const auto candidate = [&](const AttentionArguments &trial) -> Status {
    WEFT_ASSIGN_OR_RETURN(const CudnnDescriptor bound,
                          made->bind(trial, workspace));
    return made->execute(handle, bound, context.compute);
  };
  const Status status = isGrad
                            ? checkAttentionGrad(arguments, context, candidate)
                            : checkAttention(arguments, context, candidate);
  context.leave(made);
  if (!status.ok())
    return status.withContext("its check at load failed");
  return made;
}

Result<std::shared_ptr<const CudnnPlan>>
CudnnStream::plan(const AttentionArguments &arguments, bool isGrad,
                  const CudaContext &context) {
  const AttentionSizes &s = arguments.sizes;
  const std::string key = fmt::format(
      "{} {} {} {} {} {} {} {} {} {}", isGrad,
      static_cast<int>(arguments.element), s.batch, s.queries, s.keys, s.heads,
      s.keyHeads, s.headSize, arguments.isCausal, arguments.scale);
  const auto known = plans.find(key);
  if (known != plans.end())
    return known->second;
  return plans.emplace(key, make(arguments, isGrad, context)).first->second;
}

static Result<std::unique_ptr<CudaOperation>>
bind(const AttentionArguments &arguments, bool isGrad,
     std::optional<std::string> reason, const CudaContext &context) {
  if (reason)
    return unimplemented(*std::move(reason));
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<CudnnStream> stream,
                        CudnnStream::shared(context));
  auto planned = stream->plan(arguments, isGrad, context);
  context.leave(stream);
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<const CudnnPlan> plan,
                        std::move(planned));
  return std::make_unique<CudnnAttention>(std::move(stream), std::move(plan),
                                          arguments);
}

Result<std::unique_ptr<CudaOperation>>
bindCudnnAttention(const AttentionArguments &arguments,
                   const CudaContext &context) {
  return bind(
      arguments, /*isGrad=*/false,
      reasonAgainstAttentionGraph(arguments, context.cudnn->getVersion()),
      context);
}

Result<std::unique_ptr<CudaOperation>>
bindCudnnAttentionGrad(const AttentionArguments &arguments,
                       const CudaContext &context) {
  return bind(
      arguments, /*isGrad=*/true,
      reasonAgainstAttentionGradGraph(arguments, context.cudnn->getVersion()),
      context);
}

} // namespace weft::runtime
