//===- CudnnGraph.cpp - A graph as cuDNN's objects --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/attention/CudnnGraph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::runtime {

Status cudnnStatus(const Cudnn &library, cudnnStatus_t status,
                   std::string_view call) {
  if (status == CUDNN_STATUS_SUCCESS)
    return {};
  char details[512] = "";
  library.getLastErrorString(details, sizeof(details));
  return unimplemented(
      fmt::format("{}: {}{}", call, library.getErrorString(status),
                  *details ? fmt::format(" ({})", details) : ""));
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor &&other) noexcept
    : library(other.library),
      descriptor(std::exchange(other.descriptor, nullptr)) {}

CudnnDescriptor &CudnnDescriptor::operator=(CudnnDescriptor &&other) noexcept {
  std::swap(library, other.library);
  std::swap(descriptor, other.descriptor);
  return *this;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor)
    (void)library->backendDestroyDescriptor(descriptor);
}

Result<CudnnDescriptor>
CudnnDescriptor::create(const Cudnn &library,
                        cudnnBackendDescriptorType_t type) {
  CudnnDescriptor made(library);
  WEFT_RETURN_IF_ERROR(cudnnStatus(
      library, library.backendCreateDescriptor(type, &made.descriptor),
      fmt::format("cudnnBackendCreateDescriptor({})", static_cast<int>(type))));
  return made;
}

Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int64_t count,
                            const void *values) {
  return cudnnStatus(
      *library,
      library->backendSetAttribute(descriptor, name, type, count, values),
      fmt::format("cudnnBackendSetAttribute({})", static_cast<int>(name)));
}

Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                            const CudnnDescriptor &value) {
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor);
}

Status CudnnDescriptor::set(cudnnBackendAttributeName_t name, int64_t value) {
  return set(name, CUDNN_TYPE_INT64, 1, &value);
}

Status CudnnDescriptor::set(cudnnBackendAttributeName_t name, bool value) {
  return set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}

Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                            cudnnDataType_t value) {
  return set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

Status CudnnDescriptor::finalize() {
  return cudnnStatus(*library, library->backendFinalize(descriptor),
                     "cudnnBackendFinalize");
}

Result<int64_t> CudnnDescriptor::get(cudnnBackendAttributeName_t name,
                                     cudnnBackendAttributeType_t type,
                                     int64_t count, void *values) const {
  int64_t found = 0;
  WEFT_RETURN_IF_ERROR(cudnnStatus(
      *library,
      library->backendGetAttribute(descriptor, name, type, count, &found,
                                   values),
      fmt::format("cudnnBackendGetAttribute({})", static_cast<int>(name))));
  return found;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

int64_t cudnnIdOf(TensorIndex tensor) {
  return static_cast<int64_t>(tensor) + 1;
}

static cudnnDataType_t cudnnTypeOf(GraphType type) {
  switch (type) {
  case GraphType::F32:
    return CUDNN_DATA_FLOAT;
  case GraphType::BF16:
    return CUDNN_DATA_BFLOAT16;
  case GraphType::F16:
    return CUDNN_DATA_HALF;
  case GraphType::I32:
    return CUDNN_DATA_INT32;
  case GraphType::Bool:
    return CUDNN_DATA_BOOLEAN;
  }
  return CUDNN_DATA_FLOAT;
}

static bool isNarrow(GraphType type) {
  return type == GraphType::BF16 || type == GraphType::F16;
}

static Result<CudnnDescriptor> tensorOf(const Cudnn &library,
                                        const GraphTensor &tensor, int64_t id) {
  WEFT_ASSIGN_OR_RETURN(
      CudnnDescriptor made,
      CudnnDescriptor::create(library, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  WEFT_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, cudnnTypeOf(tensor.type)));
  WEFT_RETURN_IF_ERROR(made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
                                4, tensor.sizes.data()));
  WEFT_RETURN_IF_ERROR(made.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4,
                                tensor.strides.data()));
  WEFT_RETURN_IF_ERROR(made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id));
  WEFT_RETURN_IF_ERROR(made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t(16)));
  WEFT_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, tensor.isVirtual()));
  WEFT_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, tensor.number.has_value()));
  if (Status status = made.finalize(); !status.ok())
    return status.withContext(tensor.name);
  return made;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static std::optional<cudnnPointwiseMode_t>
pointwiseModeOf(GraphOperation operation) {
  switch (operation) {
  case GraphOperation::Multiply:
    return CUDNN_POINTWISE_MUL;
  case GraphOperation::Subtract:
    return CUDNN_POINTWISE_SUB;
  case GraphOperation::Add:
    return CUDNN_POINTWISE_ADD;
  case GraphOperation::Divide:
    return CUDNN_POINTWISE_DIV;
  case GraphOperation::Exp:
    return CUDNN_POINTWISE_EXP;
  case GraphOperation::Log:
    return CUDNN_POINTWISE_LOG;
  case GraphOperation::Index:
    return CUDNN_POINTWISE_GEN_INDEX;
  case GraphOperation::GreaterOrEqual:
    return CUDNN_POINTWISE_CMP_GE;
  case GraphOperation::Select:
    return CUDNN_POINTWISE_BINARY_SELECT;
  case GraphOperation::Matmul:
  case GraphOperation::ReduceSum:
  case GraphOperation::ReduceMax:
  case GraphOperation::Reshape:
    return std::nullopt;
  }
  return std::nullopt;
}

namespace {

/// Makes one operation after the other.
class OperationMaker {
public:
  OperationMaker(const Cudnn &library, const AttentionGraph &graph,
                 CudnnOperations &made)
      : library(library), graph(graph), made(made) {}

  Status add(const GraphNode &node);

private:
  Status addPointwise(const GraphNode &node, cudnnPointwiseMode_t mode);
  Status addMatmul(const GraphNode &node);
  Status addReduction(const GraphNode &node, cudnnReduceTensorOp_t mode);
  Status addReshape(const GraphNode &node);

  using Operand = std::pair<cudnnBackendAttributeName_t, TensorIndex>;
  /// An operation with these operands, and the last mode if it has one.
  Status finish(cudnnBackendDescriptorType_t type,
                std::optional<cudnnBackendAttributeName_t> mode,
                std::initializer_list<Operand> operands);

  const Cudnn &library;
  const AttentionGraph &graph;
  CudnnOperations &made;
};

} // namespace

Status OperationMaker::finish(cudnnBackendDescriptorType_t type,
                              std::optional<cudnnBackendAttributeName_t> mode,
                              std::initializer_list<Operand> operands) {
  WEFT_ASSIGN_OR_RETURN(CudnnDescriptor operation,
                        CudnnDescriptor::create(library, type));
  if (mode)
    WEFT_RETURN_IF_ERROR(operation.set(*mode, made.modes.back()));
  for (const auto &[name, tensor] : operands)
    WEFT_RETURN_IF_ERROR(operation.set(name, made.tensors[tensor]));
  WEFT_RETURN_IF_ERROR(operation.finalize());
  made.operations.push_back(std::move(operation));
  return {};
}

Status OperationMaker::addPointwise(const GraphNode &node,
                                    cudnnPointwiseMode_t mode) {
  const GraphType type = graph.tensors[node.output].type;
  WEFT_ASSIGN_OR_RETURN(
      CudnnDescriptor description,
      CudnnDescriptor::create(library, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  WEFT_RETURN_IF_ERROR(description.set(CUDNN_ATTR_POINTWISE_MODE,
                                       CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
  // Numbers are computed as floats, indices and booleans as what they are.
  WEFT_RETURN_IF_ERROR(
      description.set(CUDNN_ATTR_POINTWISE_MATH_PREC,
                      isNarrow(type) ? CUDNN_DATA_FLOAT : cudnnTypeOf(type)));
  if (node.operation == GraphOperation::Index)
    WEFT_RETURN_IF_ERROR(
        description.set(CUDNN_ATTR_POINTWISE_AXIS, int64_t(node.axis)));
  WEFT_RETURN_IF_ERROR(description.finalize());
  made.modes.push_back(std::move(description));
  const Operand x{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, node.inputs[0]};
  const Operand y{CUDNN_ATTR_OPERATION_POINTWISE_YDESC, node.output};
  constexpr auto type_ = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
  constexpr auto pointwise = CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR;
  if (node.inputs.size() == 1)
    return finish(type_, pointwise, {x, y});
  const Operand b{CUDNN_ATTR_OPERATION_POINTWISE_BDESC, node.inputs[1]};
  if (node.inputs.size() == 2)
    return finish(type_, pointwise, {x, b, y});
  const Operand t{CUDNN_ATTR_OPERATION_POINTWISE_TDESC, node.inputs[2]};
  return finish(type_, pointwise, {x, b, t, y});
}

Status OperationMaker::addMatmul(const GraphNode &node) {
  WEFT_ASSIGN_OR_RETURN(
      CudnnDescriptor description,
      CudnnDescriptor::create(library, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
  WEFT_RETURN_IF_ERROR(
      description.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT));
  WEFT_RETURN_IF_ERROR(description.finalize());
  made.modes.push_back(std::move(description));
  return finish(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
                CUDNN_ATTR_OPERATION_MATMUL_DESC,
                {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, node.inputs[0]},
                 {CUDNN_ATTR_OPERATION_MATMUL_BDESC, node.inputs[1]},
                 {CUDNN_ATTR_OPERATION_MATMUL_CDESC, node.output}});
}

Status OperationMaker::addReduction(const GraphNode &node,
                                    cudnnReduceTensorOp_t mode) {
  WEFT_ASSIGN_OR_RETURN(
      CudnnDescriptor description,
      CudnnDescriptor::create(library, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
  WEFT_RETURN_IF_ERROR(description.set(CUDNN_ATTR_REDUCTION_OPERATOR,
                                       CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1,
                                       &mode));
  WEFT_RETURN_IF_ERROR(
      description.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT));
  WEFT_RETURN_IF_ERROR(description.finalize());
  made.modes.push_back(std::move(description));
  return finish(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
                CUDNN_ATTR_OPERATION_REDUCTION_DESC,
                {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, node.inputs[0]},
                 {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, node.output}});
}

Status OperationMaker::addReshape(const GraphNode &node) {
  return finish(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, std::nullopt,
                {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, node.inputs[0]},
                 {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, node.output}});
}

Status OperationMaker::add(const GraphNode &node) {
  if (const auto mode = pointwiseModeOf(node.operation))
    return addPointwise(node, *mode);
  switch (node.operation) {
  case GraphOperation::ReduceSum:
    return addReduction(node, CUDNN_REDUCE_TENSOR_ADD);
  case GraphOperation::ReduceMax:
    return addReduction(node, CUDNN_REDUCE_TENSOR_MAX);
  case GraphOperation::Reshape:
    return addReshape(node);
  default:
    return addMatmul(node);
  }
}

Result<CudnnOperations> CudnnOperations::create(const Cudnn &library,
                                                const AttentionGraph &graph) {
  CudnnOperations made;
  for (TensorIndex i = 0; i < graph.tensors.size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(CudnnDescriptor tensor,
                          tensorOf(library, graph.tensors[i], cudnnIdOf(i)));
    made.tensors.push_back(std::move(tensor));
  }
  OperationMaker maker(library, graph, made);
  for (const GraphNode &node : graph.nodes)
    if (Status status = maker.add(node); !status.ok())
      return status.withContext(graph.tensors[node.output].name);
  return made;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// What cuDNN's heuristics propose, the most promising first.
static Result<std::vector<CudnnDescriptor>>
proposalsFor(const Cudnn &library, const CudnnDescriptor &graph) {
  constexpr int64_t most = 16;
  WEFT_ASSIGN_OR_RETURN(
      CudnnDescriptor heuristic,
      CudnnDescriptor::create(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  WEFT_RETURN_IF_ERROR(
      heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  WEFT_RETURN_IF_ERROR(heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE,
                                     CUDNN_TYPE_HEUR_MODE, 1, &mode));
  WEFT_RETURN_IF_ERROR(heuristic.finalize());
  std::vector<CudnnDescriptor> proposals;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < most; ++i) {
    WEFT_ASSIGN_OR_RETURN(
        CudnnDescriptor proposal,
        CudnnDescriptor::create(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    handles.push_back(proposal.handle());
    proposals.push_back(std::move(proposal));
  }
  WEFT_ASSIGN_OR_RETURN(const int64_t found,
                        heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, most,
                                      handles.data()));
  proposals.erase(proposals.begin() + std::clamp<int64_t>(found, 0, most),
                  proposals.end());
  return proposals;
}

static Result<bool> isDeterministic(const Cudnn &library,
                                    const CudnnDescriptor &proposal) {
  WEFT_ASSIGN_OR_RETURN(
      CudnnDescriptor engine,
      CudnnDescriptor::create(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  cudnnBackendDescriptor_t handle = engine.handle();
  WEFT_RETURN_IF_ERROR(proposal
                           .get(CUDNN_ATTR_ENGINECFG_ENGINE,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle)
                           .status());
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  WEFT_ASSIGN_OR_RETURN(const int64_t found,
                        engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                   CUDNN_TYPE_NUMERICAL_NOTE,
                                   CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes));
  return std::find(notes, notes + found,
                   CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) == notes + found;
}

Result<CudnnPlan> CudnnPlan::create(const Cudnn &library, cudnnHandle_t handle,
                                    AttentionGraph graph,
                                    size_t workspaceLimit) {
  WEFT_ASSIGN_OR_RETURN(const CudnnOperations operations,
                        CudnnOperations::create(library, graph));
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const CudnnDescriptor &operation : operations.operations)
    handles.push_back(operation.handle());
  WEFT_ASSIGN_OR_RETURN(CudnnDescriptor whole,
                        CudnnDescriptor::create(
                            library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  WEFT_RETURN_IF_ERROR(whole.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
                                 CUDNN_TYPE_HANDLE, 1, &handle));
  WEFT_RETURN_IF_ERROR(
      whole.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                static_cast<int64_t>(handles.size()), handles.data()));
  WEFT_RETURN_IF_ERROR(whole.finalize());
  WEFT_ASSIGN_OR_RETURN(const std::vector<CudnnDescriptor> proposals,
                        proposalsFor(library, whole));

  Status last = unimplemented("cuDNN has no engine for it");
  for (const CudnnDescriptor &proposal : proposals) {
    const Result<bool> suits = isDeterministic(library, proposal);
    if (!suits.ok() || !*suits) {
      last = suits.ok()
                 ? unimplemented("cuDNN has only engines whose results differ "
                                 "from run to run")
                 : suits.status();
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(
        CudnnDescriptor plan,
        CudnnDescriptor::create(library,
                                CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
    WEFT_RETURN_IF_ERROR(plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                  CUDNN_TYPE_HANDLE, 1, &handle));
    WEFT_RETURN_IF_ERROR(
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, proposal));
    if (last = plan.finalize(); !last.ok())
      continue;
    int64_t bytes = 0;
    WEFT_RETURN_IF_ERROR(plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                  CUDNN_TYPE_INT64, 1, &bytes)
                             .status());
    const auto own = static_cast<size_t>(bytes);
    CudnnPlan made(library, graph, std::move(plan), own);
    const size_t wanted = std::max(own, made.workspaceBytes());
    if (wanted <= workspaceLimit)
      return made;
    last = unimplemented(
        fmt::format("cuDNN wants {} bytes of workspace, more than {}", wanted,
                    workspaceLimit));
  }
  return last;
}

CudnnPlan::CudnnPlan(const Cudnn &library, AttentionGraph wanted,
                     CudnnDescriptor plan, size_t own)
    : library(&library), graph(std::move(wanted)), plan(std::move(plan)),
      workspace(own) {
  constexpr size_t alignment = 256;
  for (TensorIndex i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor &tensor = graph.tensors[i];
    if (!tensor.isScratch)
      continue;
    workspace = (workspace + alignment - 1) / alignment * alignment;
    offsets[i] = workspace;
    size_t elements = 1;
    for (const int64_t size : tensor.sizes)
      elements *= static_cast<size_t>(size);
    workspace += elements * (isNarrow(tensor.type) ? 2 : sizeof(float));
  }
}

Result<CudnnDescriptor> CudnnPlan::bind(const AttentionArguments &arguments,
                                        void *workspace) const {
  std::vector<int64_t> ids;
  std::vector<void *> addresses;
  for (TensorIndex i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor &tensor = graph.tensors[i];
    if (tensor.isVirtual())
      continue;
    ids.push_back(cudnnIdOf(i));
    addresses.push_back(tensor.isScratch ? static_cast<std::byte *>(workspace) +
                                               offsets.at(i)
                        : tensor.use ? addressOf(*tensor.use, arguments)
                                     : const_cast<float *>(&*tensor.number));
  }
  WEFT_ASSIGN_OR_RETURN(
      CudnnDescriptor bound,
      CudnnDescriptor::create(*library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  const auto count = static_cast<int64_t>(ids.size());
  WEFT_RETURN_IF_ERROR(bound.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                 CUDNN_TYPE_VOID_PTR, count, addresses.data()));
  WEFT_RETURN_IF_ERROR(bound.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                 CUDNN_TYPE_INT64, count, ids.data()));
  WEFT_RETURN_IF_ERROR(bound.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                 CUDNN_TYPE_VOID_PTR, 1, &workspace));
  WEFT_RETURN_IF_ERROR(bound.finalize());
  return bound;
}

Status CudnnPlan::execute(cudnnHandle_t handle, const CudnnDescriptor &bound,
                          cudaStream_t stream) const {
  WEFT_RETURN_IF_ERROR(cudnnStatus(*library, library->setStream(handle, stream),
                                   "cudnnSetStream"));
  return cudnnStatus(
      *library, library->backendExecute(handle, plan.handle(), bound.handle()),
      "cudnnBackendExecute");
}

} // namespace weft::runtime
