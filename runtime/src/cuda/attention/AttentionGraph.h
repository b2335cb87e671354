//===- AttentionGraph.h - Attention as a graph of cuDNN ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN's fused attention is a pattern of small operations that its engines
// recognise: two GEMMs with a softmax between them, and for the derivative
// five products. A graph here is data: tensors, and nodes that make one tensor
// each, in order. CudnnGraph.h makes cuDNN's objects of it, and a test computes
// it node by node.
//
// All tensors have four dimensions, [batch, heads, positions, size]; strides
// say how they lie: the plan's [batch, places, heads, size] is read in place.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONGRAPH_H
#define WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONGRAPH_H

#include "cpu/AttentionKernels.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::runtime {

/// What a tensor of the graph is to the plan.
enum class AttentionUse : uint8_t {
  Query,
  Key,
  Value,
  Out,
  Logsumexp,
  OutCotangent,
  QueryCotangent,
  KeyCotangent,
  ValueCotangent,
};

enum class GraphType : uint8_t { F32, BF16, F16, I32, Bool };

enum class GraphOperation : uint8_t {
  /// [.., i, k] and [.., k, j] to [.., i, j]. The second may have fewer heads,
  /// which are shared by groups of the first's.
  Matmul,
  // Element by element; a dimension of size 1 fits all sizes.
  Multiply,
  Subtract,
  Add,
  Divide,
  Exp,
  Log,
  /// The index of an element along an axis.
  Index,
  GreaterOrEqual,
  /// The first where the third holds, else the second.
  Select,
  // Over what the result has fewer of; heads by groups that follow each other.
  ReduceSum,
  ReduceMax,
  /// The same elements with other dimensions: a transposition.
  Reshape,
};

struct GraphTensor {
  using Extents = std::array<int64_t, 4>;

  std::string name;
  GraphType type = GraphType::F32;
  Extents sizes{}, strides{};
  /// In memory; a tensor without a use or a number is in none.
  std::optional<AttentionUse> use;
  std::optional<float> number;
  /// Made by one node and read by another, like a virtual one, but in memory:
  /// part of the workspace. Dense.
  bool isScratch = false;

  /// Whether it exists between nodes only.
  bool isVirtual() const { return !use && !number && !isScratch; }
};

/// A number of a graph's tensor.
using TensorIndex = size_t;

struct GraphNode {
  GraphOperation operation;
  std::vector<TensorIndex> inputs;
  TensorIndex output;
  /// Index only.
  int axis = 0;
};

struct AttentionGraph {
  std::vector<GraphTensor> tensors;
  std::vector<GraphNode> nodes;
};

/// Why cuDNN's fused attention cannot be used, or none. `version` is that of
/// cuDNN, 91501 for 9.15.1: element type, masks and sizes are those that every
/// version from 9.0 on takes, less what some versions are known to do wrong.
std::optional<std::string>
reasonAgainstAttentionGraph(const AttentionArguments &arguments,
                            size_t version);
/// The same for the derivative.
std::optional<std::string>
reasonAgainstAttentionGradGraph(const AttentionArguments &arguments,
                                size_t version);

/// How the derivative is written as operations. Both spellings are the same
/// function of the same numbers, but an engine takes what it was made to
/// recognise, and no document says which release has dropped which.
enum class GradSpelling : uint8_t {
  /// What cuDNN's own frontend writes for 9.15 and later: the sum of the result
  /// times its cotangent lies in memory, logsumexp is subtracted before the
  /// mask is applied, and factors that only dropout needs are left out.
  SumsInMemory,
  /// What it wrote before: everything between two operations is virtual, the
  /// mask comes before the subtraction, and dropout's factor is one.
  AllVirtual,
};

/// For arguments that there is no reason against.
AttentionGraph attentionGraph(const AttentionArguments &arguments);
AttentionGraph attentionGradGraph(const AttentionArguments &arguments,
                                  GradSpelling spelling);

/// The address that the arguments have for a use.
void *addressOf(AttentionUse use, const AttentionArguments &arguments);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONGRAPH_H
