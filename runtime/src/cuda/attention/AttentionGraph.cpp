//===- AttentionGraph.cpp - Attention as a graph of cuDNN -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/attention/AttentionGraph.h"

#include <fmt/format.h>

#include <limits>

namespace weft::runtime {

//===----------------------------------------------------------------------===//
// What there are graphs for
//===----------------------------------------------------------------------===//

/// "9.15.1".
static std::string versionName(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

static std::optional<std::string>
reasonAgainst(const AttentionArguments &arguments, size_t version) {
  const AttentionSizes &s = arguments.sizes;
  if (version == 91000 || version == 91001)
    return fmt::format("cuDNN {} is known for errors in attention; take 9.10.2 "
                       "or later",
                       versionName(version));
  if (arguments.element != AttentionElement::BF16 &&
      arguments.element != AttentionElement::F16)
    return "its elements are not of 16 bits";
  if (s.headSize % 8 != 0 || s.headSize > 128)
    return fmt::format("heads have {} elements, not a multiple of 8 up to 128",
                       s.headSize);
  if (s.keys == 1)
    return "there is one key only";
  if (arguments.diagonal)
    return "the mask's diagonal is known in the step only";
  return std::nullopt;
}

std::optional<std::string>
reasonAgainstAttentionGraph(const AttentionArguments &arguments,
                            size_t version) {
  if (arguments.out.isSum)
    return "the result is of f32";
  return reasonAgainst(arguments, version);
}

std::optional<std::string>
reasonAgainstAttentionGradGraph(const AttentionArguments &arguments,
                                size_t version) {
  if (arguments.logsumexpCotangent)
    return "the logsumexp has a cotangent";
  for (const AttentionResult *result :
       {&arguments.queryCotangent, &arguments.keyCotangent,
        &arguments.valueCotangent})
    if (result->isSum)
      return "a result is of f32";
  // Seen when a captured graph is replayed, which the check at load is not.
  if (version < 91501 && arguments.sizes.keys % 128 != 0)
    return fmt::format("cuDNN {} may access illegal addresses with {} keys, "
                       "not a multiple of 128; take 9.15.1 or later",
                       versionName(version), arguments.sizes.keys);
  return reasonAgainst(arguments, version);
}

void *addressOf(AttentionUse use, const AttentionArguments &arguments) {
  const bool isForward = arguments.logsumexp != nullptr;
  switch (use) {
  case AttentionUse::Query:
    return const_cast<void *>(arguments.query);
  case AttentionUse::Key:
    return const_cast<void *>(arguments.key);
  case AttentionUse::Value:
    return const_cast<void *>(arguments.value);
  case AttentionUse::Out:
    return isForward ? arguments.out.data
                     : const_cast<void *>(arguments.forwardOut);
  case AttentionUse::Logsumexp:
    return isForward ? arguments.logsumexp
                     : const_cast<void *>(arguments.forwardLogsumexp);
  case AttentionUse::OutCotangent:
    return const_cast<void *>(arguments.outCotangent);
  case AttentionUse::QueryCotangent:
    return arguments.queryCotangent.data;
  case AttentionUse::KeyCotangent:
    return arguments.keyCotangent.data;
  case AttentionUse::ValueCotangent:
    return arguments.valueCotangent.data;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

namespace {

using Extents = GraphTensor::Extents;

/// [batch, heads, rows, columns], dense.
Extents denseStrides(const Extents &sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

/// Of a tensor that lies as [batch, positions, heads, size].
Extents placedStrides(const Extents &sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[3], sizes[1] * sizes[3], 1};
}

Extents swapped(Extents extents) {
  std::swap(extents[2], extents[3]);
  return extents;
}

class Builder {
public:
  explicit Builder(const AttentionArguments &arguments)
      : arguments(arguments), s(arguments.sizes),
        elementType(arguments.element == AttentionElement::F16
                        ? GraphType::F16
                        : GraphType::BF16) {}

  void forward();
  void grad(GradSpelling spelling);

  AttentionGraph graph;

private:
  TensorIndex add(GraphTensor tensor) {
    graph.tensors.push_back(std::move(tensor));
    return graph.tensors.size() - 1;
  }
  TensorIndex external(std::string name, AttentionUse use, GraphType type,
                       Extents sizes, Extents strides) {
    return add({std::move(name), type, sizes, strides, use, {}});
  }
  /// [batch, heads, positions, size] of elements, where the plan has it.
  TensorIndex ofQueries(std::string name, AttentionUse use) {
    const Extents sizes{s.batch, s.heads, s.queries, s.headSize};
    return external(std::move(name), use, elementType, sizes,
                    placedStrides(sizes));
  }
  TensorIndex ofKeys(std::string name, AttentionUse use, bool isTransposed) {
    const Extents sizes{s.batch, s.keyHeads, s.keys, s.headSize};
    const Extents strides = placedStrides(sizes);
    return external(std::move(name), use, elementType,
                    isTransposed ? swapped(sizes) : sizes,
                    isTransposed ? swapped(strides) : strides);
  }
  TensorIndex logsumexp() {
    const Extents sizes{s.batch, s.heads, s.queries, 1};
    return external("logsumexp", AttentionUse::Logsumexp, GraphType::F32, sizes,
                    placedStrides(sizes));
  }
  TensorIndex number(std::string name, float value) {
    return add({std::move(name),
                GraphType::F32,
                {1, 1, 1, 1},
                {1, 1, 1, 1},
                std::nullopt,
                value});
  }

  /// A node whose result is a new virtual tensor.
  TensorIndex node(GraphOperation operation, std::vector<TensorIndex> inputs,
                   std::string name, Extents sizes,
                   GraphType type = GraphType::F32, int axis = 0) {
    const TensorIndex output =
        add({std::move(name), type, sizes, denseStrides(sizes), {}, {}});
    graph.nodes.push_back({operation, std::move(inputs), output, axis});
    return output;
  }
  void nodeInto(TensorIndex output, GraphOperation operation,
                std::vector<TensorIndex> inputs) {
    graph.nodes.push_back({operation, std::move(inputs), output, 0});
  }
  /// The transpose of a tile of scores as the elements' type: it lies as the
  /// scores do.
  TensorIndex transposedScores(TensorIndex tensor, std::string name) {
    const TensorIndex result =
        node(GraphOperation::Reshape, {tensor}, std::move(name),
             swapped(scoreSizes), elementType);
    graph.tensors[result].strides = swapped(denseStrides(scoreSizes));
    return result;
  }

  /// scale * query key^T.
  TensorIndex scores(TensorIndex query, TensorIndex key, TensorIndex scale);
  /// Scores with the masked ones at the lowest float.
  TensorIndex masked(TensorIndex scores);
  /// The sum of the result times its cotangent over each head.
  TensorIndex delta(TensorIndex out, TensorIndex cotangent, TensorIndex one,
                    GradSpelling spelling);
  /// The GEMM of transposed scores with rows of queries, summed over the
  /// heads that share a head of keys.
  void overQueries(TensorIndex transposed, TensorIndex rows, TensorIndex result,
                   const std::string &name);

  const AttentionArguments &arguments;
  const AttentionSizes &s;
  const GraphType elementType;
  const Extents scoreSizes{s.batch, s.heads, s.queries, s.keys};
  const Extents rowSizes{s.batch, s.heads, s.queries, 1};
};

} // namespace

TensorIndex Builder::scores(TensorIndex query, TensorIndex key,
                            TensorIndex scale) {
  const TensorIndex products =
      node(GraphOperation::Matmul, {query, key}, "scores", scoreSizes);
  return node(GraphOperation::Multiply, {products, scale}, "scaled",
              scoreSizes);
}

TensorIndex Builder::masked(TensorIndex scores) {
  if (!arguments.isCausal)
    return scores;
  const TensorIndex lowest =
      number("lowest", std::numeric_limits<float>::lowest());
  const TensorIndex row = node(GraphOperation::Index, {scores}, "row",
                               scoreSizes, GraphType::I32, /*axis=*/2);
  const TensorIndex column = node(GraphOperation::Index, {scores}, "column",
                                  scoreSizes, GraphType::I32, /*axis=*/3);
  const TensorIndex sees = node(GraphOperation::GreaterOrEqual, {row, column},
                                "sees", scoreSizes, GraphType::Bool);
  return node(GraphOperation::Select, {scores, lowest, sees}, "masked",
              scoreSizes);
}

void Builder::forward() {
  const TensorIndex query = ofQueries("query", AttentionUse::Query);
  const TensorIndex key = ofKeys("key", AttentionUse::Key, true);
  const TensorIndex value = ofKeys("value", AttentionUse::Value, false);
  const TensorIndex out = ofQueries("out", AttentionUse::Out);
  const TensorIndex stats = logsumexp();
  const TensorIndex scale =
      number("scale", static_cast<float>(arguments.scale));
  const TensorIndex seen = masked(scores(query, key, scale));

  const TensorIndex largest =
      node(GraphOperation::ReduceMax, {seen}, "largest", rowSizes);
  const TensorIndex shifted =
      node(GraphOperation::Subtract, {seen, largest}, "shifted", scoreSizes);
  const TensorIndex powers =
      node(GraphOperation::Exp, {shifted}, "powers", scoreSizes);
  const TensorIndex sum =
      node(GraphOperation::ReduceSum, {powers}, "sum", rowSizes);
  const TensorIndex log = node(GraphOperation::Log, {sum}, "log", rowSizes);
  nodeInto(stats, GraphOperation::Add, {largest, log});
  // Engines want this factor in the type of the elements.
  const TensorIndex weights = node(GraphOperation::Divide, {powers, sum},
                                   "weights", scoreSizes, elementType);
  nodeInto(out, GraphOperation::Matmul, {weights, value});
}

void Builder::overQueries(TensorIndex transposed, TensorIndex rows,
                          TensorIndex result, const std::string &name) {
  if (s.heads == s.keyHeads)
    return nodeInto(result, GraphOperation::Matmul, {transposed, rows});
  const TensorIndex each =
      node(GraphOperation::Matmul, {transposed, rows}, name + " of each head",
           {s.batch, s.heads, s.keys, s.headSize}, elementType);
  nodeInto(result, GraphOperation::ReduceSum, {each});
}

TensorIndex Builder::delta(TensorIndex out, TensorIndex cotangent,
                           TensorIndex one, GradSpelling spelling) {
  TensorIndex last =
      node(GraphOperation::Multiply, {cotangent, out}, "cotangent times out",
           {s.batch, s.heads, s.queries, s.headSize});
  last = node(GraphOperation::ReduceSum, {last}, "sum over the head", rowSizes);
  last = node(GraphOperation::Multiply, {last, one}, "delta", rowSizes);
  graph.tensors[last].isScratch = spelling == GradSpelling::SumsInMemory;
  return last;
}

void Builder::grad(GradSpelling spelling) {
  const TensorIndex query = ofQueries("query", AttentionUse::Query);
  const TensorIndex key = ofKeys("key", AttentionUse::Key, true);
  const TensorIndex value = ofKeys("value", AttentionUse::Value, true);
  const TensorIndex out = ofQueries("out", AttentionUse::Out);
  const TensorIndex stats = logsumexp();
  const TensorIndex cotangent =
      ofQueries("cotangent of out", AttentionUse::OutCotangent);
  const TensorIndex ofQuery =
      ofQueries("cotangent of query", AttentionUse::QueryCotangent);
  const TensorIndex ofKey =
      ofKeys("cotangent of key", AttentionUse::KeyCotangent, false);
  const TensorIndex ofValue =
      ofKeys("cotangent of value", AttentionUse::ValueCotangent, false);
  const TensorIndex scale =
      number("scale", static_cast<float>(arguments.scale));
  // The pattern has operands for dropout; this is its factor without.
  const TensorIndex one = number("one", 1);
  const TensorIndex sums = delta(out, cotangent, one, spelling);

  const bool masksFirst = spelling == GradSpelling::AllVirtual;
  TensorIndex weights = scores(query, key, scale);
  if (masksFirst)
    weights = masked(weights);
  weights =
      node(GraphOperation::Subtract, {weights, stats}, "shifted", scoreSizes);
  if (!masksFirst)
    weights = masked(weights);
  weights = node(GraphOperation::Exp, {weights}, "weights", scoreSizes);
  overQueries(transposedScores(weights, "transposed weights"), cotangent,
              ofValue, "cotangent of value");

  TensorIndex ofScores = node(GraphOperation::Matmul, {cotangent, value},
                              "cotangent of weights", scoreSizes);
  if (spelling == GradSpelling::AllVirtual)
    ofScores = node(GraphOperation::Multiply, {ofScores, one},
                    "cotangent of weights, kept", scoreSizes);
  ofScores = node(GraphOperation::Subtract, {ofScores, sums}, "less delta",
                  scoreSizes);
  ofScores = node(GraphOperation::Multiply, {ofScores, weights},
                  "cotangent of scaled", scoreSizes);
  ofScores = node(GraphOperation::Multiply, {ofScores, scale},
                  "cotangent of scores", scoreSizes);
  overQueries(transposedScores(ofScores, "transposed cotangent of scores"),
              query, ofKey, "cotangent of key");

  const Extents keySizes{s.batch, s.keyHeads, s.keys, s.headSize};
  const TensorIndex keyRows =
      node(GraphOperation::Reshape, {key}, "rows of key", keySizes);
  graph.tensors[keyRows].strides = placedStrides(keySizes);
  nodeInto(ofQuery, GraphOperation::Matmul, {ofScores, keyRows});
}

AttentionGraph attentionGraph(const AttentionArguments &arguments) {
  Builder builder(arguments);
  builder.forward();
  return std::move(builder.graph);
}

AttentionGraph attentionGradGraph(const AttentionArguments &arguments,
                                  GradSpelling spelling) {
  Builder builder(arguments);
  builder.grad(spelling);
  return std::move(builder.graph);
}

} // namespace weft::runtime
