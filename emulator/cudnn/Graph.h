//===- Graph.h - A graph of operations on tensors ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computed operation by operation, as their names say: sums are floats, and a
// tensor between operations is rounded to its type.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_CUDNN_GRAPH_H
#define WEFT_EMULATOR_CUDNN_GRAPH_H

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weft::emulator {

/// Of four dimensions.
struct Tensor {
  using Extents = std::array<int64_t, 4>;

  int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Extents sizes{}, strides{};
  /// Between operations only.
  bool isVirtual = false;
  /// One number, in memory of the host.
  bool isByValue = false;

  int64_t count() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  /// Elements of memory from the first to the last.
  int64_t extent() const;
};

struct Node {
  enum class Kind : uint8_t { Matmul, Pointwise, Reduction, Reshape };

  Kind kind = Kind::Matmul;
  cudnnPointwiseMode_t pointwise = CUDNN_POINTWISE_ADD;
  /// Of an index.
  int64_t axis = 0;
  cudnnReduceTensorOp_t reduction = CUDNN_REDUCE_TENSOR_ADD;
  std::vector<Tensor> inputs;
  Tensor output;
};

/// Addresses by the numbers of tensors.
using Addresses = std::map<int64_t, void *>;

struct Graph {
  std::vector<Node> nodes;

  /// Why there is no engine for it, or nothing.
  std::string problem() const;
  /// Why it cannot run there, or nothing. The workspace is the engine's own: no
  /// tensor may lie in it.
  std::string problemOf(const Addresses &addresses,
                        std::span<const std::byte> workspace) const;
  /// Throws Fault when a tensor leaves its allocation.
  void checkMemory(const Addresses &addresses) const;
  /// `numbers`: tensors by value.
  void compute(const Addresses &addresses,
               const std::map<int64_t, float> &numbers) const;

  /// Calls `visit` with each tensor, inputs before what is made of them.
  template <typename Visit> void forTensors(Visit visit) const {
    for (const Node &node : nodes) {
      for (const Tensor &input : node.inputs)
        visit(input);
      visit(node.output);
    }
  }
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_CUDNN_GRAPH_H
