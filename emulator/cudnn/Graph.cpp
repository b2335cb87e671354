//===- Graph.cpp - A graph of operations on tensors -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "cudart/Emulator.h"
#include "ptx/Half.h"

#include <cmath>
#include <set>

namespace weft::emulator {
namespace {

using Extents = Tensor::Extents;
/// In the order of dimensions, without gaps.
using Values = std::vector<float>;

size_t bytesOf(cudnnDataType_t type) {
  switch (type) {
  case CUDNN_DATA_FLOAT:
  case CUDNN_DATA_INT32:
    return 4;
  case CUDNN_DATA_HALF:
  case CUDNN_DATA_BFLOAT16:
    return 2;
  case CUDNN_DATA_BOOLEAN:
    return 1;
  default:
    return 0;
  }
}

float rounded(cudnnDataType_t type, float value) {
  if (type == CUDNN_DATA_BFLOAT16)
    return toDouble(fromDouble<BFloat>(value, Rounding::Nearest));
  if (type == CUDNN_DATA_HALF)
    return toDouble(fromDouble<Half>(value, Rounding::Nearest));
  return value;
}

template <typename Visit> void forPlaces(const Extents &sizes, Visit visit) {
  Extents at{};
  int64_t index = 0;
  for (at[0] = 0; at[0] < sizes[0]; ++at[0])
    for (at[1] = 0; at[1] < sizes[1]; ++at[1])
      for (at[2] = 0; at[2] < sizes[2]; ++at[2])
        for (at[3] = 0; at[3] < sizes[3]; ++at[3])
          visit(at, index++);
}

int64_t offsetOf(const Extents &strides, const Extents &at) {
  int64_t offset = 0;
  for (size_t i = 0; i < at.size(); ++i)
    offset += strides[i] * at[i];
  return offset;
}

/// The number of an element; a dimension of size 1 has it at all indices.
int64_t indexOf(const Extents &sizes, const Extents &at) {
  int64_t index = 0;
  for (size_t i = 0; i < at.size(); ++i)
    index = index * sizes[i] + (sizes[i] == 1 ? 0 : at[i]);
  return index;
}

Values load(const Tensor &tensor, const void *data) {
  Values values(tensor.count());
  forPlaces(tensor.sizes, [&](const Extents &at, int64_t index) {
    const int64_t offset = offsetOf(tensor.strides, at);
    values[index] = tensor.type == CUDNN_DATA_BFLOAT16
                        ? toDouble(static_cast<const BFloat *>(data)[offset])
                    : tensor.type == CUDNN_DATA_HALF
                        ? toDouble(static_cast<const Half *>(data)[offset])
                        : static_cast<const float *>(data)[offset];
  });
  return values;
}

void store(const Tensor &tensor, const Values &values, void *data) {
  forPlaces(tensor.sizes, [&](const Extents &at, int64_t index) {
    const int64_t offset = offsetOf(tensor.strides, at);
    if (tensor.type == CUDNN_DATA_BFLOAT16)
      static_cast<BFloat *>(data)[offset] =
          fromDouble<BFloat>(values[index], Rounding::Nearest);
    else if (tensor.type == CUDNN_DATA_HALF)
      static_cast<Half *>(data)[offset] =
          fromDouble<Half>(values[index], Rounding::Nearest);
    else
      static_cast<float *>(data)[offset] = values[index];
  });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Heads of the second factor are shared by groups of the first's.
Values matmul(const Node &node, const Values &x, const Values &y) {
  const Extents &a = node.inputs[0].sizes, &b = node.inputs[1].sizes;
  const int64_t rows = a[2], inner = a[3], columns = b[3];
  Values result(node.output.count(), 0);
  for (int64_t batch = 0; batch < a[0] * a[1]; ++batch) {
    const int64_t other = batch / a[1] * b[1] + batch % a[1] / (a[1] / b[1]);
    for (int64_t i = 0; i < rows; ++i) {
      float *out = &result[(batch * rows + i) * columns];
      for (int64_t k = 0; k < inner; ++k) {
        const float factor = x[(batch * rows + i) * inner + k];
        const float *from = &y[(other * inner + k) * columns];
        for (int64_t j = 0; j < columns; ++j)
          out[j] += factor * from[j];
      }
    }
  }
  return result;
}

float pointwise(const Node &node, const Extents &at, const float *in) {
  switch (node.pointwise) {
  case CUDNN_POINTWISE_MUL:
    return in[0] * in[1];
  case CUDNN_POINTWISE_SUB:
    return in[0] - in[1];
  case CUDNN_POINTWISE_ADD:
    return in[0] + in[1];
  case CUDNN_POINTWISE_DIV:
    return in[0] / in[1];
  case CUDNN_POINTWISE_EXP:
    return std::exp(in[0]);
  case CUDNN_POINTWISE_LOG:
    return std::log(in[0]);
  case CUDNN_POINTWISE_GEN_INDEX:
    return static_cast<float>(at[node.axis]);
  case CUDNN_POINTWISE_CMP_GE:
    return in[0] >= in[1];
  case CUDNN_POINTWISE_BINARY_SELECT:
    return in[2] != 0 ? in[0] : in[1];
  default:
    return NAN; // `problem` refuses it
  }
}

bool isKnown(cudnnPointwiseMode_t mode) {
  switch (mode) {
  case CUDNN_POINTWISE_MUL:
  case CUDNN_POINTWISE_SUB:
  case CUDNN_POINTWISE_ADD:
  case CUDNN_POINTWISE_DIV:
  case CUDNN_POINTWISE_EXP:
  case CUDNN_POINTWISE_LOG:
  case CUDNN_POINTWISE_GEN_INDEX:
  case CUDNN_POINTWISE_CMP_GE:
  case CUDNN_POINTWISE_BINARY_SELECT:
    return true;
  default:
    return false;
  }
}

/// Over what the result has fewer of, by groups that follow each other.
Values reduce(const Node &node, const Values &x) {
  const Extents &from = node.inputs[0].sizes, &to = node.output.sizes;
  const bool isSum = node.reduction == CUDNN_REDUCE_TENSOR_ADD;
  Values result(node.output.count(), isSum ? 0 : -HUGE_VALF);
  forPlaces(from, [&](Extents at, int64_t index) {
    for (size_t i = 0; i < at.size(); ++i)
      at[i] /= from[i] / to[i];
    float &place = result[indexOf(to, at)];
    place = isSum ? place + x[index] : std::fmax(place, x[index]);
  });
  return result;
}

/// The same elements of memory by other dimensions.
Values reshape(const Node &node, const Values &x) {
  const Tensor &input = node.inputs[0];
  Values memory(input.extent(), NAN), result(node.output.count());
  forPlaces(input.sizes, [&](const Extents &at, int64_t index) {
    memory[offsetOf(input.strides, at)] = x[index];
  });
  forPlaces(node.output.sizes, [&](const Extents &at, int64_t index) {
    result[index] = memory[offsetOf(node.output.strides, at)];
  });
  return result;
}

Values compute(const Node &node, const std::vector<const Values *> &inputs) {
  switch (node.kind) {
  case Node::Kind::Matmul:
    return matmul(node, *inputs[0], *inputs[1]);
  case Node::Kind::Reduction:
    return reduce(node, *inputs[0]);
  case Node::Kind::Reshape:
    return reshape(node, *inputs[0]);
  case Node::Kind::Pointwise:
    break;
  }
  Values result(node.output.count());
  forPlaces(node.output.sizes, [&](const Extents &at, int64_t index) {
    float in[3] = {};
    for (size_t i = 0; i < inputs.size(); ++i)
      in[i] = (*inputs[i])[indexOf(node.inputs[i].sizes, at)];
    result[index] = pointwise(node, at, in);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// What is wrong
//===----------------------------------------------------------------------===//

bool matmulFits(const Extents &a, const Extents &b, const Extents &c) {
  return a[0] == b[0] && a[1] % b[1] == 0 && a[3] == b[2] &&
         c == Extents{a[0], a[1], a[2], b[3]};
}

bool pointwiseFits(const Node &node) {
  for (const Tensor &input : node.inputs)
    for (size_t i = 0; i < input.sizes.size(); ++i)
      if (input.sizes[i] != 1 && input.sizes[i] != node.output.sizes[i])
        return false;
  return true;
}

bool fits(const Node &node) {
  const Tensor &first = node.inputs[0], &out = node.output;
  switch (node.kind) {
  case Node::Kind::Matmul:
    return matmulFits(first.sizes, node.inputs[1].sizes, out.sizes);
  case Node::Kind::Pointwise:
    return pointwiseFits(node);
  case Node::Kind::Reduction:
    for (size_t i = 0; i < out.sizes.size(); ++i)
      if (first.sizes[i] % out.sizes[i] != 0)
        return false;
    return true;
  case Node::Kind::Reshape:
    return first.count() == out.count() && first.extent() == out.extent();
  }
  return false;
}

} // namespace

int64_t Tensor::extent() const {
  Extents last = sizes;
  for (int64_t &each : last)
    --each;
  return offsetOf(strides, last) + 1;
}

std::string Graph::problem() const {
  std::set<int64_t> made;
  for (const Node &node : nodes) {
    const std::string name =
        "the operation that makes tensor " + std::to_string(node.output.id);
    for (const Tensor &input : node.inputs)
      if (input.isVirtual && !made.count(input.id))
        return name + " reads tensor " + std::to_string(input.id) +
               " before it is made";
    if (!made.insert(node.output.id).second)
      return name + " is not the only one";
    if (node.kind == Node::Kind::Pointwise && !isKnown(node.pointwise))
      return name + " has an unknown mode";
    if (node.kind == Node::Kind::Reduction &&
        node.reduction != CUDNN_REDUCE_TENSOR_ADD &&
        node.reduction != CUDNN_REDUCE_TENSOR_MAX)
      return name + " has an unknown mode";
    if (!fits(node))
      return name + " has operands of sizes that do not fit";
  }
  return nodes.empty() ? "there are no operations" : "";
}

std::string Graph::problemOf(const Addresses &addresses,
                             std::span<const std::byte> workspace) const {
  std::string problem;
  forTensors([&](const Tensor &tensor) {
    if (tensor.isVirtual)
      return;
    const std::string name = "tensor " + std::to_string(tensor.id);
    const auto found = addresses.find(tensor.id);
    if (found == addresses.end() || found->second == nullptr) {
      problem = name + " has no address";
      return;
    }
    const auto *const begin = static_cast<const std::byte *>(found->second);
    const auto *const end = begin + tensor.extent() * bytesOf(tensor.type);
    if (begin < workspace.data() + workspace.size() && workspace.data() < end)
      problem = name + " lies in the workspace";
  });
  return problem;
}

void Graph::checkMemory(const Addresses &addresses) const {
  forTensors([&](const Tensor &tensor) {
    if (!tensor.isVirtual && !tensor.isByValue)
      checkAccess(addresses.at(tensor.id),
                  tensor.extent() * bytesOf(tensor.type),
                  "tensor " + std::to_string(tensor.id));
  });
}

void Graph::compute(const Addresses &addresses,
                    const std::map<int64_t, float> &numbers) const {
  std::map<int64_t, Values> values;
  for (const Node &node : nodes) {
    std::vector<const Values *> inputs;
    for (const Tensor &input : node.inputs) {
      if (!values.count(input.id))
        values[input.id] = input.isByValue
                               ? Values{numbers.at(input.id)}
                               : load(input, addresses.at(input.id));
      inputs.push_back(&values[input.id]);
    }
    Values made = emulator::compute(node, inputs);
    for (float &value : made)
      value = rounded(node.output.type, value);
    if (!node.output.isVirtual)
      store(node.output, made, addresses.at(node.output.id));
    values[node.output.id] = std::move(made);
  }
}

} // namespace weft::emulator
