//===- AttentionGraphTest.cpp - Attention as a graph ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the graphs node by node, as the names of their operations say, and
// compares with the runtime's attention on a CPU. Strides are followed for what
// is in memory.
//
//===----------------------------------------------------------------------===//

#include "cuda/attention/AttentionGraph.h"

#include "cpu/Attention.h"
#include "cpu/ThreadTeam.h"
#include "weft/runtime/DType.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <random>

namespace weft::runtime {
namespace {

using testing::HasSubstr;
using Numbers = std::vector<double>;
using Extents = GraphTensor::Extents;

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

int64_t countOf(const Extents &sizes) {
  return sizes[0] * sizes[1] * sizes[2] * sizes[3];
}

template <typename Visit> void forPlaces(const Extents &sizes, Visit visit) {
  Extents at{};
  for (at[0] = 0; at[0] < sizes[0]; ++at[0])
    for (at[1] = 0; at[1] < sizes[1]; ++at[1])
      for (at[2] = 0; at[2] < sizes[2]; ++at[2])
        for (at[3] = 0; at[3] < sizes[3]; ++at[3])
          visit(at);
}

class Evaluator {
public:
  Evaluator(const AttentionGraph &graph,
            std::map<AttentionUse, Numbers> &memory)
      : graph(graph), memory(memory), values(graph.tensors.size()) {
    for (TensorIndex i = 0; i < graph.tensors.size(); ++i) {
      const GraphTensor &tensor = graph.tensors[i];
      if (tensor.number)
        values[i] = {*tensor.number};
      else
        values[i].assign(countOf(tensor.sizes), NAN);
    }
  }

  void run() {
    std::vector<bool> isMade(graph.tensors.size());
    for (const GraphNode &node : graph.nodes) {
      for (const TensorIndex input : node.inputs) {
        const GraphTensor &tensor = graph.tensors[input];
        if (tensor.use)
          fetch(input);
        else if (!tensor.number) {
          EXPECT_TRUE(isMade[input]) << tensor.name << " is read too early";
        }
      }
      EXPECT_FALSE(isMade[node.output]) << "made twice";
      isMade[node.output] = true;
      const GraphTensor &output = graph.tensors[node.output];
      EXPECT_FALSE(output.number);
      forPlaces(output.sizes, [&](const Extents &at) {
        values[node.output][positionOf(output, at)] = compute(node, at);
      });
      if (output.use)
        keep(node.output);
    }
    for (TensorIndex i = 0; i < graph.tensors.size(); ++i)
      if (graph.tensors[i].isVirtual() || graph.tensors[i].isScratch) {
        EXPECT_TRUE(isMade[i]) << graph.tensors[i].name << " is never made";
      }
  }

private:
  static int64_t positionOf(const GraphTensor &tensor, Extents at) {
    int64_t position = 0;
    for (int i = 0; i < 4; ++i) {
      EXPECT_LT(at[i], tensor.sizes[i]) << tensor.name;
      position = position * tensor.sizes[i] + at[i];
    }
    return position;
  }
  static int64_t addressOf(const GraphTensor &tensor, const Extents &at) {
    int64_t address = 0;
    for (int i = 0; i < 4; ++i)
      address += at[i] * tensor.strides[i];
    return address;
  }
  void fetch(TensorIndex index) {
    const GraphTensor &tensor = graph.tensors[index];
    forPlaces(tensor.sizes, [&](const Extents &at) {
      values[index][positionOf(tensor, at)] =
          memory.at(*tensor.use).at(addressOf(tensor, at));
    });
  }
  void keep(TensorIndex index) {
    const GraphTensor &tensor = graph.tensors[index];
    forPlaces(tensor.sizes, [&](const Extents &at) {
      memory.at(*tensor.use).at(addressOf(tensor, at)) =
          values[index][positionOf(tensor, at)];
    });
  }
  /// An element of an operand: sizes of 1 fit all, heads come in groups.
  double value(TensorIndex index, Extents at, int64_t heads) const {
    const GraphTensor &tensor = graph.tensors[index];
    at[1] /= heads / tensor.sizes[1];
    for (int i = 0; i < 4; ++i)
      if (tensor.sizes[i] == 1)
        at[i] = 0;
    return values[index][positionOf(tensor, at)];
  }

  double compute(const GraphNode &node, const Extents &at) const {
    const int64_t heads = graph.tensors[node.output].sizes[1];
    const auto in = [&](size_t i) { return value(node.inputs[i], at, heads); };
    switch (node.operation) {
    case GraphOperation::Matmul: {
      const int64_t inner = graph.tensors[node.inputs[0]].sizes[3];
      EXPECT_EQ(graph.tensors[node.inputs[1]].sizes[2], inner);
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k)
        sum += value(node.inputs[0], {at[0], at[1], at[2], k}, heads) *
               value(node.inputs[1], {at[0], at[1], k, at[3]}, heads);
      return sum;
    }
    case GraphOperation::Multiply:
      return in(0) * in(1);
    case GraphOperation::Subtract:
      return in(0) - in(1);
    case GraphOperation::Add:
      return in(0) + in(1);
    case GraphOperation::Divide:
      return in(0) / in(1);
    case GraphOperation::Exp:
      return std::exp(in(0));
    case GraphOperation::Log:
      return std::log(in(0));
    case GraphOperation::Index:
      return static_cast<double>(at[node.axis]);
    case GraphOperation::GreaterOrEqual:
      return in(0) >= in(1);
    case GraphOperation::Select:
      return in(2) != 0 ? in(0) : in(1);
    case GraphOperation::ReduceSum:
    case GraphOperation::ReduceMax:
      return reduce(node, at);
    case GraphOperation::Reshape:
      return transposed(node, at);
    }
    return NAN;
  }
  double reduce(const GraphNode &node, const Extents &at) const {
    const GraphTensor &from = graph.tensors[node.inputs[0]];
    const GraphTensor &to = graph.tensors[node.output];
    const bool isSum = node.operation == GraphOperation::ReduceSum;
    double result = isSum ? 0 : -HUGE_VAL;
    forPlaces(from.sizes, [&](const Extents &source) {
      Extents target = source;
      for (int i = 0; i < 4; ++i)
        target[i] /= from.sizes[i] / to.sizes[i];
      if (target != at)
        return;
      const double each = values[node.inputs[0]][positionOf(from, source)];
      result = isSum ? result + each : std::max(result, each);
    });
    return result;
  }
  /// The element at the same address: strides of both say which.
  double transposed(const GraphNode &node, const Extents &at) const {
    const GraphTensor &from = graph.tensors[node.inputs[0]];
    const GraphTensor &to = graph.tensors[node.output];
    Extents source = at;
    std::swap(source[2], source[3]);
    EXPECT_EQ(addressOf(from, source), addressOf(to, at));
    return values[node.inputs[0]][positionOf(from, source)];
  }

  const AttentionGraph &graph;
  std::map<AttentionUse, Numbers> &memory;
  std::vector<Numbers> values;
};

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

struct Tensors {
  explicit Tensors(const AttentionSizes &s, bool isCausal)
      : count(s.batch * s.queries * s.heads * s.headSize),
        keyCount(s.batch * s.keys * s.keyHeads * s.headSize),
        rows(count / s.headSize), query(random(count)), key(random(keyCount)),
        value(random(keyCount)), cotangent(random(count)), out(count),
        ofQuery(count), ofKey(keyCount), ofValue(keyCount), logsumexp(rows) {
    a.element = AttentionElement::F64;
    a.sizes = s;
    a.isCausal = isCausal;
    a.scale = 0.375; // the same as a float
    a.query = query.data(), a.key = key.data(), a.value = value.data();
    a.out = {out.data()}, a.logsumexp = logsumexp.data();
  }
  /// Computes both passes on the CPU.
  void compute() {
    ThreadTeam team(1);
    execute(*bindAttention(a, team));
    AttentionArguments g = a;
    g.logsumexp = nullptr;
    g.forwardOut = out.data(), g.forwardLogsumexp = logsumexp.data();
    g.outCotangent = cotangent.data();
    g.queryCotangent = {ofQuery.data()}, g.keyCotangent = {ofKey.data()};
    g.valueCotangent = {ofValue.data()};
    execute(*bindAttentionGrad(g, team));
  }

  Numbers random(size_t n) {
    std::normal_distribution<double> normal;
    Numbers values(n);
    for (double &each : values)
      each = normal(generator);
    return values;
  }
  static void execute(BoundOperation &operation) {
    const size_t bytes = operation.scratchpadBytes() + 64;
    const std::unique_ptr<void, decltype(&std::free)> memory(
        std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free);
    ASSERT_TRUE(operation.bindScratchpad(memory.get()).ok());
    ASSERT_TRUE(operation.run().ok());
  }

  std::mt19937 generator{1};
  size_t count, keyCount, rows;
  Numbers query, key, value, cotangent, out, ofQuery, ofKey, ofValue, logsumexp;
  AttentionArguments a;
};

void expectNear(const Numbers &found, const Numbers &expected,
                std::string_view what) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-9) << what << " " << i;
}

constexpr GradSpelling spellings[] = {GradSpelling::SumsInMemory,
                                      GradSpelling::AllVirtual};

class AttentionGraphs
    : public testing::TestWithParam<std::tuple<AttentionSizes, bool>> {};

TEST_P(AttentionGraphs, AreAttentionAndItsDerivative) {
  const auto &[sizes, isCausal] = GetParam();
  Tensors t(sizes, isCausal);
  t.compute();
  std::map<AttentionUse, Numbers> memory{
      {AttentionUse::Query, t.query},
      {AttentionUse::Key, t.key},
      {AttentionUse::Value, t.value},
      {AttentionUse::Out, Numbers(t.count)},
      {AttentionUse::Logsumexp, Numbers(t.rows)},
      {AttentionUse::OutCotangent, t.cotangent},
      {AttentionUse::QueryCotangent, Numbers(t.count)},
      {AttentionUse::KeyCotangent, Numbers(t.keyCount)},
      {AttentionUse::ValueCotangent, Numbers(t.keyCount)}};
  Evaluator(attentionGraph(t.a), memory).run();
  expectNear(memory[AttentionUse::Out], t.out, "out");
  expectNear(memory[AttentionUse::Logsumexp], t.logsumexp, "logsumexp");
  for (const GradSpelling spelling : spellings) {
    memory[AttentionUse::QueryCotangent] = Numbers(t.count);
    memory[AttentionUse::KeyCotangent] = Numbers(t.keyCount);
    memory[AttentionUse::ValueCotangent] = Numbers(t.keyCount);
    Evaluator(attentionGradGraph(t.a, spelling), memory).run();
    expectNear(memory[AttentionUse::QueryCotangent], t.ofQuery, "of query");
    expectNear(memory[AttentionUse::KeyCotangent], t.ofKey, "of key");
    expectNear(memory[AttentionUse::ValueCotangent], t.ofValue, "of value");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, AttentionGraphs,
    testing::Combine(testing::Values(AttentionSizes{1, 3, 3, 1, 1, 2},
                                     AttentionSizes{2, 5, 5, 2, 2, 4},
                                     AttentionSizes{2, 4, 7, 4, 2, 3},
                                     AttentionSizes{1, 6, 4, 3, 1, 8}),
                     testing::Bool()));

/// The pattern that engines recognise has a fixed number of nodes.
TEST(AttentionGraph, HasTheNodesOfThePattern) {
  AttentionArguments a;
  a.sizes = {1, 64, 64, 4, 4, 64};
  const auto ofGrad = [&](GradSpelling spelling) {
    return attentionGradGraph(a, spelling).nodes.size();
  };
  EXPECT_EQ(attentionGraph(a).nodes.size(), 10u);
  EXPECT_EQ(ofGrad(GradSpelling::SumsInMemory), 17u);
  EXPECT_EQ(ofGrad(GradSpelling::AllVirtual), 18u);
  a.isCausal = true;
  EXPECT_EQ(attentionGraph(a).nodes.size(), 14u);
  EXPECT_EQ(ofGrad(GradSpelling::SumsInMemory), 21u);
  EXPECT_EQ(ofGrad(GradSpelling::AllVirtual), 22u);
  a.sizes.keyHeads = 2;
  EXPECT_EQ(ofGrad(GradSpelling::SumsInMemory), 23u);
  EXPECT_EQ(ofGrad(GradSpelling::AllVirtual), 24u);
}

TEST(AttentionGraph, SpellingsDifferInMemoryAndOrder) {
  AttentionArguments a;
  a.sizes = {1, 64, 32, 4, 4, 64};
  a.isCausal = true;
  for (const GradSpelling spelling : spellings) {
    const AttentionGraph graph = attentionGradGraph(a, spelling);
    const bool isNewer = spelling == GradSpelling::SumsInMemory;
    std::vector<std::string> scratch, order;
    for (const GraphTensor &tensor : graph.tensors)
      if (tensor.isScratch)
        scratch.push_back(tensor.name);
    for (const GraphNode &node : graph.nodes)
      if (const std::string &name = graph.tensors[node.output].name;
          name == "shifted" || name == "masked" || name == "weights")
        order.push_back(name);
    using Names = std::vector<std::string>;
    EXPECT_EQ(scratch, isNewer ? Names{"delta"} : Names());
    EXPECT_EQ(order, isNewer ? (Names{"shifted", "masked", "weights"})
                             : (Names{"masked", "shifted", "weights"}));
  }
}

TEST(AttentionGraph, HasTheTypeOfTheElements) {
  AttentionArguments a;
  a.sizes = {1, 64, 64, 4, 2, 64};
  for (const auto &[element, type, other] :
       {std::tuple(AttentionElement::BF16, GraphType::BF16, GraphType::F16),
        std::tuple(AttentionElement::F16, GraphType::F16, GraphType::BF16)}) {
    a.element = element;
    for (const AttentionGraph &graph :
         {attentionGraph(a),
          attentionGradGraph(a, GradSpelling::SumsInMemory)}) {
      for (const GraphTensor &tensor : graph.tensors) {
        EXPECT_NE(tensor.type, other) << tensor.name;
        if (tensor.use && *tensor.use != AttentionUse::Logsumexp) {
          EXPECT_EQ(tensor.type, type) << tensor.name;
        }
      }
    }
  }
}

TEST(AttentionGraph, SaysWhyNot) {
  AttentionArguments a;
  a.element = AttentionElement::BF16;
  a.sizes = {1, 64, 64, 4, 4, 64};
  EXPECT_EQ(reasonAgainstAttentionGraph(a, 91501), std::nullopt);
  EXPECT_EQ(reasonAgainstAttentionGradGraph(a, 91501), std::nullopt);

  AttentionArguments other = a;
  other.element = AttentionElement::F32;
  EXPECT_EQ(reasonAgainstAttentionGraph(other, 91501),
            "its elements are not of 16 bits");
  other = a;
  for (const int64_t size : {4, 60, 136}) {
    other.sizes.headSize = size;
    EXPECT_THAT(*reasonAgainstAttentionGraph(other, 91501),
                HasSubstr("elements, not a multiple of 8 up to 128"));
  }
  other = a;
  const int32_t diagonal = 1;
  other.diagonal = &diagonal;
  EXPECT_EQ(reasonAgainstAttentionGraph(other, 91501),
            "the mask's diagonal is known in the step only");
  other = a;
  other.out.isSum = true;
  EXPECT_EQ(reasonAgainstAttentionGraph(other, 91501), "the result is of f32");
  other.keyCotangent.isSum = true;
  EXPECT_EQ(reasonAgainstAttentionGradGraph(other, 91501),
            "a result is of f32");
  other = a;
  const float memory = 0;
  other.logsumexpCotangent = &memory;
  EXPECT_EQ(reasonAgainstAttentionGradGraph(other, 91501),
            "the logsumexp has a cotangent");
  other = a;
  other.sizes.keys = 1;
  for (auto reason :
       {reasonAgainstAttentionGraph, reasonAgainstAttentionGradGraph})
    EXPECT_EQ(reason(other, 91501), "there is one key only");
}

TEST(AttentionGraph, SaysWhatVersionsDoWrong) {
  AttentionArguments a;
  a.element = AttentionElement::BF16;
  a.sizes = {1, 64, 128, 4, 4, 64};
  for (auto reason :
       {reasonAgainstAttentionGraph, reasonAgainstAttentionGradGraph}) {
    EXPECT_EQ(reason(a, 91000), "cuDNN 9.10.0 is known for errors in "
                                "attention; take 9.10.2 or later");
    EXPECT_EQ(reason(a, 91001), "cuDNN 9.10.1 is known for errors in "
                                "attention; take 9.10.2 or later");
    for (const size_t version : {90000, 90900, 91002, 91500, 91501})
      EXPECT_EQ(reason(a, version), std::nullopt) << version;
  }
  for (const int64_t keys : {64, 129, 200}) {
    a.sizes.keys = keys;
    EXPECT_EQ(reasonAgainstAttentionGraph(a, 91500), std::nullopt);
    EXPECT_EQ(reasonAgainstAttentionGradGraph(a, 91500),
              fmt::format("cuDNN 9.15.0 may access illegal addresses with {} "
                          "keys, not a multiple of 128; take 9.15.1 or later",
                          keys));
    EXPECT_EQ(reasonAgainstAttentionGradGraph(a, 91501), std::nullopt);
  }
}

} // namespace
} // namespace weft::runtime
