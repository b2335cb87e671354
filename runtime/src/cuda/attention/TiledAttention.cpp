//===- TiledAttention.cpp - Attention by the runtime's kernels --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/attention/Attention.h"
#include "cuda/attention/AttentionCode.h"
#include "cuda/attention/kernels/AttentionParameters.h"
#include "cuda/platform/KernelModule.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace weft::runtime {
namespace {

/// Kernels one after the other, with the same parameter.
class TiledAttention final : public CudaOperation {
public:
  /// `deltaBytes`: of the derivative's sums, in the working memory.
  TiledAttention(std::shared_ptr<const KernelModule> module,
                 const AttentionParameters &parameters, size_t deltaBytes)
      : module(std::move(module)), parameters(parameters),
        deltaBytes(deltaBytes) {}

  Status add(const std::string &symbol, int64_t blocks);
  size_t workspaceBytes() const override { return deltaBytes; }
  void bindWorkspace(void *memory) override { parameters.delta = memory; }
  Status enqueue(cudaStream_t stream) override;

private:
  struct Launch {
    cudaKernel_t kernel;
    unsigned blocks;
  };

  std::shared_ptr<const KernelModule> module;
  AttentionParameters parameters;
  const size_t deltaBytes;
  std::vector<Launch> launches;
};

} // namespace

Status TiledAttention::add(const std::string &symbol, int64_t blocks) {
  if (blocks > std::numeric_limits<int32_t>::max())
    return unimplemented(
        fmt::format("attention of {} blocks of threads; a grid has at most {}",
                    blocks, std::numeric_limits<int32_t>::max()));
  WEFT_ASSIGN_OR_RETURN(const cudaKernel_t kernel, module->kernel(symbol));
  launches.push_back({kernel, static_cast<unsigned>(blocks)});
  return {};
}

Status TiledAttention::enqueue(cudaStream_t stream) {
  const Cudart &cudart = module->cudart();
  for (const Launch &launch : launches) {
    void *arguments[] = {&parameters};
    WEFT_RETURN_IF_ERROR(cudaStatus(
        cudart,
        cudart.launchKernel(reinterpret_cast<const void *>(launch.kernel),
                            dim3(launch.blocks), dim3(attentionThreads),
                            arguments, 0, stream),
        "cudaLaunchKernel of attention"));
  }
  return {};
}

/// The module of a text. The layers of a model, and ranks that are threads,
/// share one: it is loaded once while somebody has it.
static Result<std::shared_ptr<const KernelModule>>
sharedModule(std::string_view ptx, const Cudart &cudart) {
  static std::mutex mutex;
  // A module uses the table that it was loaded with.
  using Key = std::pair<const char *, const Cudart *>;
  static std::map<Key, std::weak_ptr<const KernelModule>> modules;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const KernelModule> &known = modules[{ptx.data(), &cudart}];
  if (std::shared_ptr<const KernelModule> module = known.lock())
    return module;
  WEFT_ASSIGN_OR_RETURN(KernelModule loaded,
                        KernelModule::load(cudart, ptx.data()));
  auto module = std::make_shared<const KernelModule>(std::move(loaded));
  known = module;
  return module;
}

static AttentionResultPointer pointerTo(const AttentionResult &result) {
  return {result.data, result.isSum};
}

/// The sizes as the kernels have them.
static Result<AttentionParameters>
parametersOf(const AttentionArguments &arguments) {
  const AttentionSizes &s = arguments.sizes;
  for (const int64_t size :
       {s.batch, s.queries, s.keys, s.heads, s.keyHeads, s.headSize})
    if (size > std::numeric_limits<int32_t>::max())
      return unimplemented(
          fmt::format("attention of {} x {} queries, {} keys and {} heads of "
                      "{}; sizes on a GPU are at most {}",
                      s.batch, s.queries, s.keys, s.heads, s.headSize,
                      std::numeric_limits<int32_t>::max()));
  if (!attentionHeadSizeFor(s.headSize))
    return unimplemented(
        fmt::format("attention with head size {}; on a GPU it is "
                    "at most {}",
                    s.headSize, *std::rbegin(attentionHeadSizes)));
  AttentionParameters p = {};
  p.query = arguments.query, p.key = arguments.key, p.value = arguments.value;
  p.diagonal = arguments.diagonal;
  p.batch = static_cast<int32_t>(s.batch);
  p.queries = static_cast<int32_t>(s.queries);
  p.keys = static_cast<int32_t>(s.keys);
  p.heads = static_cast<int32_t>(s.heads);
  p.keyHeads = static_cast<int32_t>(s.keyHeads);
  p.headSize = static_cast<int32_t>(s.headSize);
  p.isCausal = arguments.isCausal;
  p.scale = arguments.scale;
  p.out = pointerTo(arguments.out);
  p.logsumexp = arguments.logsumexp;
  p.forwardOut = arguments.forwardOut;
  p.forwardLogsumexp = arguments.forwardLogsumexp;
  p.outCotangent = arguments.outCotangent;
  p.logsumexpCotangent = arguments.logsumexpCotangent;
  p.queryCotangent = pointerTo(arguments.queryCotangent);
  p.keyCotangent = pointerTo(arguments.keyCotangent);
  p.valueCotangent = pointerTo(arguments.valueCotangent);
  return p;
}

static int sumBytes(AttentionElement element) {
  return element == AttentionElement::F64 ? 8 : 4;
}

static int64_t tilesOf(AttentionElement element, int64_t positions) {
  const int tile = attentionTile(sumBytes(element));
  return (positions + tile - 1) / tile;
}

Result<std::unique_ptr<CudaOperation>>
bindTiledAttention(const AttentionArguments &arguments, const Cudart &cudart) {
  const AttentionSizes &s = arguments.sizes;
  WEFT_ASSIGN_OR_RETURN(const AttentionParameters parameters,
                        parametersOf(arguments));
  WEFT_ASSIGN_OR_RETURN(
      std::shared_ptr<const KernelModule> module,
      sharedModule(
          attentionPtx(arguments.element, attentionHeadSizeFor(s.headSize)),
          cudart));
  auto operation = std::make_unique<TiledAttention>(
      std::move(module), parameters, /*deltaBytes=*/0);
  WEFT_RETURN_IF_ERROR(operation->add(
      "weft_attention",
      s.batch * s.heads * tilesOf(arguments.element, s.queries)));
  return operation;
}

Result<std::unique_ptr<CudaOperation>>
bindTiledAttentionGrad(const AttentionArguments &arguments,
                       const Cudart &cudart) {
  const AttentionSizes &s = arguments.sizes;
  WEFT_ASSIGN_OR_RETURN(const AttentionParameters parameters,
                        parametersOf(arguments));
  WEFT_ASSIGN_OR_RETURN(
      std::shared_ptr<const KernelModule> module,
      sharedModule(
          attentionGradPtx(arguments.element, attentionHeadSizeFor(s.headSize)),
          cudart));
  auto operation = std::make_unique<TiledAttention>(
      std::move(module), parameters,
      static_cast<size_t>(s.batch * s.queries * s.heads) *
          sumBytes(arguments.element));
  WEFT_RETURN_IF_ERROR(operation->add(
      "weft_attention_grad_queries",
      s.batch * s.heads * tilesOf(arguments.element, s.queries)));
  WEFT_RETURN_IF_ERROR(operation->add("weft_attention_grad_keys",
                                      s.batch * s.keyHeads *
                                          tilesOf(arguments.element, s.keys)));
  return operation;
}

} // namespace weft::runtime
