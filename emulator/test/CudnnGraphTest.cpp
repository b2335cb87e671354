//===- CudnnGraphTest.cpp - Graphs of operations, computed ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cudnn/Graph.h"

#include <gmock/gmock.h>

namespace weft::emulator {
namespace {

using testing::ElementsAre;
using Kind = Node::Kind;

/// Dense, of floats.
Tensor tensor(int64_t id, Tensor::Extents sizes, bool isVirtual = false) {
  Tensor made;
  made.id = id;
  made.sizes = sizes;
  made.strides = {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3],
                  1};
  made.isVirtual = isVirtual;
  return made;
}

Node node(Kind kind, std::vector<Tensor> inputs, Tensor output) {
  Node made;
  made.kind = kind;
  made.inputs = std::move(inputs);
  made.output = output;
  return made;
}

TEST(CudnnGraph, HeadsOfAFactorAreShared) {
  float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, y[] = {1, 10, 2, 20}, z[4] = {};
  const Graph graph{
      {node(Kind::Matmul, {tensor(1, {1, 4, 1, 2}), tensor(2, {1, 2, 2, 1})},
            tensor(3, {1, 4, 1, 1}))}};
  EXPECT_EQ(graph.problem(), "");
  graph.compute({{1, x}, {2, y}, {3, z}}, {});
  EXPECT_THAT(z, ElementsAre(21, 43, 130, 174));
}

TEST(CudnnGraph, AReshapeKeepsWhatLiesInMemory) {
  float x[] = {1, 2, 3, 4, 5, 6}, z[6] = {};
  Tensor transposed = tensor(2, {1, 1, 3, 2}, true);
  transposed.strides = {6, 6, 1, 3};
  Tensor one = tensor(3, {1, 1, 1, 1});
  one.isByValue = true;
  Node times =
      node(Kind::Pointwise, {transposed, one}, tensor(4, {1, 1, 3, 2}));
  times.pointwise = CUDNN_POINTWISE_MUL;
  const Graph graph{
      {node(Kind::Reshape, {tensor(1, {1, 1, 2, 3})}, transposed), times}};
  EXPECT_EQ(graph.problem(), "");
  graph.compute({{1, x}, {4, z}}, {{3, 2.0f}});
  EXPECT_THAT(z, ElementsAre(2, 8, 4, 10, 6, 12));
}

TEST(CudnnGraph, SumsAndMaximaAreOverGroups) {
  float x[] = {1, -2, 3, 4}, sums[2] = {}, largest[1] = {};
  const Tensor from = tensor(1, {1, 4, 1, 1});
  Node most = node(Kind::Reduction, {from}, tensor(3, {1, 1, 1, 1}));
  most.reduction = CUDNN_REDUCE_TENSOR_MAX;
  const Graph graph{
      {node(Kind::Reduction, {from}, tensor(2, {1, 2, 1, 1})), most}};
  graph.compute({{1, x}, {2, sums}, {3, largest}}, {});
  EXPECT_THAT(sums, ElementsAre(-1, 7));
  EXPECT_THAT(largest, ElementsAre(4));
}

TEST(CudnnGraph, SaysWhatIsWrong) {
  const Tensor a = tensor(1, {1, 1, 2, 2}), b = tensor(2, {1, 1, 2, 2}, true);
  Node exp = node(Kind::Pointwise, {b}, a);
  exp.pointwise = CUDNN_POINTWISE_EXP;
  EXPECT_EQ(Graph{{exp}}.problem(),
            "the operation that makes tensor 1 reads tensor 2 before it is "
            "made");
  exp.inputs = {tensor(3, {1, 1, 2, 2})};
  EXPECT_EQ((Graph{{exp, exp}}.problem()),
            "the operation that makes tensor 1 is not the only one");
  EXPECT_EQ((Graph{{exp}}.problemOf({{1, &exp}}, {})),
            "tensor 3 has no address");
  float memory[8] = {};
  EXPECT_EQ((Graph{{exp}}.problemOf({{1, memory}, {3, memory + 4}},
                                    std::as_bytes(std::span(memory + 7, 1)))),
            "tensor 3 lies in the workspace");
  exp.pointwise = CUDNN_POINTWISE_ERF;
  EXPECT_EQ(Graph{{exp}}.problem(),
            "the operation that makes tensor 1 has an unknown mode");
  EXPECT_EQ(
      (Graph{{node(Kind::Matmul, {a, tensor(3, {1, 1, 3, 2})}, b)}}.problem()),
      "the operation that makes tensor 2 has operands of sizes that do not "
      "fit");
  EXPECT_EQ(Graph().problem(), "there are no operations");
}

} // namespace
} // namespace weft::emulator
