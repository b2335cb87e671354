//===- Cluster.cpp - Names of what a cluster has --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/Cluster.h"

#include <iterator>

using namespace weft;
using namespace weft::cost;

static constexpr std::string_view precisions[] = {"f64", "f32", "tf32", "bf16",
                                                  "f16", "f8",  "f4",   "i8"};
static constexpr double precisionBytes[] = {8, 4, 4, 2, 2, 1, 0.5, 1};
static constexpr std::string_view generations[] = {"cpu", "ampere", "hopper",
                                                   "blackwell"};
static constexpr std::string_view linkKinds[] = {"none", "nvlink", "nvswitch",
                                                 "pcie", "shared_memory"};
static constexpr std::string_view functions[] = {
    "atan",  "atan2", "cos",  "erf",  "exp",   "exp2", "expm1", "extf", "log",
    "log10", "log1p", "log2", "powf", "rsqrt", "sin",  "sqrt",  "tanh"};
static_assert(std::size(functions) == functionCount);
static constexpr std::string_view attentionKernels[] = {
    "flash-attention-2", "flash-attention-3", "cudnn"};
static_assert(std::size(attentionKernels) == attentionKernelCount);
static_assert(std::size(precisions) == precisionCount &&
              std::size(generations) == generationCount &&
              std::size(linkKinds) == linkKindCount);

template <typename Kind, size_t size>
static std::optional<Kind> find(const std::string_view (&names)[size],
                                std::string_view name) {
  for (size_t i = 0; i < size; ++i)
    if (names[i] == name)
      return static_cast<Kind>(i);
  return std::nullopt;
}

std::string_view cost::nameOf(Precision precision) {
  return precisions[static_cast<size_t>(precision)];
}
std::optional<Precision> cost::findPrecision(std::string_view name) {
  return find<Precision>(precisions, name);
}
double cost::bytesOf(Precision precision) {
  return precisionBytes[static_cast<size_t>(precision)];
}

std::string_view cost::nameOf(Generation generation) {
  return generations[static_cast<size_t>(generation)];
}
std::optional<Generation> cost::findGeneration(std::string_view name) {
  return find<Generation>(generations, name);
}

std::string_view cost::nameOf(LinkKind kind) {
  return linkKinds[static_cast<size_t>(kind)];
}
std::optional<LinkKind> cost::findLinkKind(std::string_view name) {
  return find<LinkKind>(linkKinds, name);
}

std::string_view cost::nameOf(Function function) {
  return functions[static_cast<size_t>(function)];
}
std::optional<Function> cost::findFunction(std::string_view name) {
  return find<Function>(functions, name);
}
std::string_view cost::nameOf(AttentionKernel kernel) {
  return attentionKernels[static_cast<size_t>(kernel)];
}
