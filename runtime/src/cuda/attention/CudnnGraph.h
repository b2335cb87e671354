//===- CudnnGraph.h - A graph as cuDNN's objects ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes an execution plan of a graph through cuDNN's backend API. Only engines
// that give the same numbers in every run are taken. Plans may be compiled when
// they are made, so this is for load time (rule C7); nothing is kept between
// processes.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_ATTENTION_CUDNNGRAPH_H
#define WEFT_RUNTIME_SRC_CUDA_ATTENTION_CUDNNGRAPH_H

#include "cuda/attention/AttentionGraph.h"
#include "cuda/platform/Libraries.h"

#include <map>
#include <memory>
#include <span>

namespace weft::runtime {

/// An object of the backend API, destroyed at the end.
class CudnnDescriptor {
public:
  static Result<CudnnDescriptor> create(const Cudnn &library,
                                        cudnnBackendDescriptorType_t type);
  CudnnDescriptor(CudnnDescriptor &&other) noexcept;
  CudnnDescriptor &operator=(CudnnDescriptor &&other) noexcept;
  ~CudnnDescriptor();

  Status set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
             int64_t count, const void *values);
  /// One value.
  Status set(cudnnBackendAttributeName_t name, const CudnnDescriptor &value);
  Status set(cudnnBackendAttributeName_t name, int64_t value);
  Status set(cudnnBackendAttributeName_t name, bool value);
  Status set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  Status finalize();

  /// The number of values that there are; at most `count` are written.
  Result<int64_t> get(cudnnBackendAttributeName_t name,
                      cudnnBackendAttributeType_t type, int64_t count,
                      void *values) const;

  cudnnBackendDescriptor_t handle() const { return descriptor; }

private:
  explicit CudnnDescriptor(const Cudnn &library) : library(&library) {}

  const Cudnn *library;
  cudnnBackendDescriptor_t descriptor = nullptr;
};

/// Success, or "cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED (...)".
Status cudnnStatus(const Cudnn &library, cudnnStatus_t status,
                   std::string_view call);

/// The tensors and operations of a graph; needs no device.
struct CudnnOperations {
  static Result<CudnnOperations> create(const Cudnn &library,
                                        const AttentionGraph &graph);

  std::vector<CudnnDescriptor> tensors;
  /// Modes of operations.
  std::vector<CudnnDescriptor> modes;
  std::vector<CudnnDescriptor> operations;
};

/// The number by which a graph's tensor is known to cuDNN.
int64_t cudnnIdOf(TensorIndex tensor);

class CudnnPlan {
public:
  /// The first plan that can be made and wants at most so much workspace, the
  /// graph's scratch tensors included.
  static Result<CudnnPlan> create(const Cudnn &library, cudnnHandle_t handle,
                                  AttentionGraph graph, size_t workspaceLimit);

  /// cuDNN's own workspace, and behind it the scratch tensors.
  size_t workspaceBytes() const { return workspace; }

  /// What `execute` takes: the memory of a call, the workspace aligned to 256
  /// bytes. Numbers are those of the graph, so the plan outlives it.
  Result<CudnnDescriptor> bind(const AttentionArguments &arguments,
                               void *workspace) const;
  Status execute(cudnnHandle_t handle, const CudnnDescriptor &bound,
                 cudaStream_t stream) const;

private:
  /// `own`: bytes of workspace of cuDNN itself.
  CudnnPlan(const Cudnn &library, AttentionGraph graph, CudnnDescriptor plan,
            size_t own);

  const Cudnn *library;
  AttentionGraph graph;
  CudnnDescriptor plan;
  /// Of the scratch tensors in the workspace.
  std::map<TensorIndex, size_t> offsets;
  size_t workspace;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_ATTENTION_CUDNNGRAPH_H
