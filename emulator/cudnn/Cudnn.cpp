//===- Cudnn.cpp - Exported: cuDNN's graph API ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One engine takes every graph of known operations. An object keeps what it was
// set to until it is finalised; then it is made into a value that does not need
// the objects it was made from, which may be destroyed.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "cudart/Emulator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

using namespace weft::emulator;

namespace {

struct Object {
  cudnnBackendDescriptorType_t type;
  bool isFinal = false;
  /// The values that were set.
  std::map<cudnnBackendAttributeName_t, std::vector<std::byte>> attributes;

  // What it is made into.
  Tensor tensor;
  Node node;
  std::shared_ptr<const Graph> graph;

  template <typename T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end())
      return {};
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), values.size() * sizeof(T));
    return values;
  }
  /// The first value, or zero.
  template <typename T> T one(cudnnBackendAttributeName_t name) const {
    T value = {};
    const auto found = attributes.find(name);
    if (found != attributes.end())
      std::memcpy(&value, found->second.data(),
                  std::min(sizeof(T), found->second.size()));
    return value;
  }
  /// A finalised object that was set, or null.
  const Object *object(cudnnBackendAttributeName_t name) const {
    const auto *found =
        static_cast<const Object *>(one<cudnnBackendDescriptor_t>(name));
    return found && found->isFinal ? found : nullptr;
  }
};

struct Handle {
  cudaStream_t stream = nullptr;
};

/// What a plan overwrites, to show who relies on it.
constexpr int64_t workspaceBytes = 4096;

thread_local std::string lastError;

cudnnStatus_t failed(std::string problem) {
  std::fprintf(stderr, "CUDA emulator: cuDNN: %s\n", problem.c_str());
  lastError = std::move(problem);
  return CUDNN_STATUS_NOT_SUPPORTED;
}

size_t bytesOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_DOUBLE:
    return 8;
  case CUDNN_TYPE_BOOLEAN:
    return sizeof(bool);
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return sizeof(void *);
  default:
    return sizeof(int); // an enumeration
  }
}

//===----------------------------------------------------------------------===//
// Finalisation
//===----------------------------------------------------------------------===//

cudnnStatus_t finalizeTensor(Object &object) {
  const auto sizes = object.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = object.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (sizes.size() != 4 || strides.size() != 4)
    return failed("a tensor must have 4 dimensions");
  Tensor &tensor = object.tensor;
  std::copy(sizes.begin(), sizes.end(), tensor.sizes.begin());
  std::copy(strides.begin(), strides.end(), tensor.strides.begin());
  for (const int64_t size : sizes)
    if (size < 1)
      return failed("a tensor must have sizes of at least 1");
  tensor.id = object.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  tensor.type = object.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  tensor.isVirtual = object.one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  tensor.isByValue = object.one<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  return CUDNN_STATUS_SUCCESS;
}

/// The tensors of an operation; those that are not set are left out.
cudnnStatus_t
setOperands(Object &object,
            std::initializer_list<cudnnBackendAttributeName_t> inputs,
            cudnnBackendAttributeName_t output) {
  for (const cudnnBackendAttributeName_t name : inputs)
    if (const Object *tensor = object.object(name))
      object.node.inputs.push_back(tensor->tensor);
  const Object *made = object.object(output);
  if (object.node.inputs.empty() || !made)
    return failed("an operation lacks a tensor");
  object.node.output = made->tensor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalizeMatmul(Object &object) {
  object.node.kind = Node::Kind::Matmul;
  const cudnnStatus_t status = setOperands(
      object,
      {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC},
      CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  return status == CUDNN_STATUS_SUCCESS && object.node.inputs.size() != 2
             ? failed("a matmul lacks an operand")
             : status;
}

cudnnStatus_t finalizePointwise(Object &object) {
  const Object *mode =
      object.object(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  if (!mode)
    return failed("a pointwise operation lacks its mode");
  Node &node = object.node;
  node.kind = Node::Kind::Pointwise;
  node.pointwise = mode->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  node.axis = mode->one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS);
  if (node.axis < 0 || node.axis > 3)
    return failed("a tensor has no such axis");
  return setOperands(object,
                     {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                      CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                      CUDNN_ATTR_OPERATION_POINTWISE_TDESC},
                     CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
}

cudnnStatus_t finalizeReduction(Object &object) {
  const Object *mode = object.object(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  if (!mode)
    return failed("a reduction lacks its mode");
  object.node.kind = Node::Kind::Reduction;
  object.node.reduction =
      mode->one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
  return setOperands(object, {CUDNN_ATTR_OPERATION_REDUCTION_XDESC},
                     CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
}

cudnnStatus_t finalizeReshape(Object &object) {
  object.node.kind = Node::Kind::Reshape;
  return setOperands(object, {CUDNN_ATTR_OPERATION_RESHAPE_XDESC},
                     CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
}

cudnnStatus_t finalizeGraph(Object &object) {
  Graph graph;
  for (const auto handle :
       object.list<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    const auto *operation = static_cast<const Object *>(handle);
    if (!operation->isFinal)
      return failed("an operation is not finalised");
    graph.nodes.push_back(operation->node);
  }
  if (std::string problem = graph.problem(); !problem.empty())
    return failed(std::move(problem));
  object.graph = std::make_shared<const Graph>(std::move(graph));
  return CUDNN_STATUS_SUCCESS;
}

/// Whether WEFT_EMULATOR_CUDNN_REFUSES has the number of operations.
bool isRefused(const Graph &graph) {
  const char *refused = std::getenv("WEFT_EMULATOR_CUDNN_REFUSES");
  std::istringstream list(refused ? refused : "");
  for (std::string each; std::getline(list, each, ',');)
    if (each == std::to_string(graph.nodes.size()))
      return true;
  return false;
}

/// Takes the graph of an object that was set.
cudnnStatus_t takeGraph(Object &object, cudnnBackendAttributeName_t name) {
  // Configurations are made by heuristics, and are not finalised.
  const auto *from =
      static_cast<const Object *>(object.one<cudnnBackendDescriptor_t>(name));
  if (!from || !from->graph)
    return failed("there is no graph");
  object.graph = from->graph;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalizeHeuristics(Object &object) {
  const cudnnStatus_t status =
      takeGraph(object, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  return status == CUDNN_STATUS_SUCCESS && isRefused(*object.graph)
             ? failed("no engine takes a graph of " +
                      std::to_string(object.graph->nodes.size()) +
                      " operations")
             : status;
}

cudnnStatus_t finalize(Object &object) {
  switch (object.type) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return finalizeTensor(object);
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    return finalizeMatmul(object);
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return finalizePointwise(object);
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    return finalizeReduction(object);
  case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    return finalizeReshape(object);
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    return finalizeGraph(object);
  case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    return finalizeHeuristics(object);
  case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
    return takeGraph(object, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  default:
    return CUDNN_STATUS_SUCCESS;
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// Exported
//===----------------------------------------------------------------------===//

extern "C" {

WEFT_EMULATOR_EXPORT size_t cudnnGetVersion() { return CUDNN_VERSION; }

WEFT_EMULATOR_EXPORT const char *cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS         ? "CUDNN_STATUS_SUCCESS"
         : status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
         : status == CUDNN_STATUS_BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM"
                                            : "CUDNN_STATUS_EXECUTION_FAILED";
}

WEFT_EMULATOR_EXPORT void cudnnGetLastErrorString(char *text, size_t bytes) {
  std::snprintf(text, bytes, "%s", lastError.c_str());
}

WEFT_EMULATOR_EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
  return CUDNN_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<Handle *>(handle);
  return CUDNN_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle,
                                                  cudaStream_t stream) {
  reinterpret_cast<Handle *>(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cudnnStatus_t cudnnBackendCreateDescriptor(
    cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *descriptor) {
  *descriptor = new Object{type, false, {}, {}, {}, nullptr};
  return CUDNN_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<Object *>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cudnnStatus_t cudnnBackendSetAttribute(
    cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t count, const void *values) {
  Object &object = *static_cast<Object *>(descriptor);
  if (object.isFinal || count < 1 || !values)
    return CUDNN_STATUS_BAD_PARAM;
  const auto *bytes = static_cast<const std::byte *>(values);
  object.attributes[name].assign(bytes, bytes + count * bytesOf(type));
  return CUDNN_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cudnnStatus_t
cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Object &object = *static_cast<Object *>(descriptor);
  const cudnnStatus_t status = finalize(object);
  object.isFinal = status == CUDNN_STATUS_SUCCESS;
  return status;
}

WEFT_EMULATOR_EXPORT cudnnStatus_t cudnnBackendGetAttribute(
    cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t, int64_t count, int64_t *found, void *values) {
  const Object &object = *static_cast<const Object *>(descriptor);
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS:
    // The caller has made the objects.
    *found = 1;
    if (count > 0)
      static_cast<Object *>(*static_cast<cudnnBackendDescriptor_t *>(values))
          ->graph = object.graph;
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    *found = 1;
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    *found = 0;
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    *found = 1;
    *static_cast<int64_t *>(values) = workspaceBytes;
    return CUDNN_STATUS_SUCCESS;
  default:
    return CUDNN_STATUS_BAD_PARAM;
  }
}

WEFT_EMULATOR_EXPORT cudnnStatus_t
cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t planObject,
                    cudnnBackendDescriptor_t packObject) {
  const Object &plan = *static_cast<const Object *>(planObject);
  const Object &pack = *static_cast<const Object *>(packObject);
  const auto ids = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers =
      pack.list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (!plan.isFinal || !pack.isFinal || ids.size() != pointers.size())
    return CUDNN_STATUS_BAD_PARAM;
  Addresses addresses;
  for (size_t i = 0; i < ids.size(); ++i)
    addresses[ids[i]] = pointers[i];
  auto *const workspace =
      pack.one<std::byte *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (std::string problem =
          plan.graph->problemOf(addresses, {workspace, workspaceBytes});
      !problem.empty())
    return failed(std::move(problem));
  // The host's memory is read now.
  std::map<int64_t, float> numbers;
  plan.graph->forTensors([&](const Tensor &tensor) {
    if (tensor.isByValue)
      numbers[tensor.id] = *static_cast<const float *>(addresses.at(tensor.id));
  });
  const cudaError_t error =
      enqueue(reinterpret_cast<Handle *>(handle)->stream,
              "a graph of " + std::to_string(plan.graph->nodes.size()) +
                  " operations by cuDNN",
              [graph = plan.graph, addresses, numbers, workspace] {
                graph->checkMemory(addresses);
                checkAccess(workspace, workspaceBytes, "the workspace");
                std::memset(workspace, 0xff, workspaceBytes);
                graph->compute(addresses, numbers);
              });
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS
                              : CUDNN_STATUS_EXECUTION_FAILED;
}

} // extern "C"
