//===- GemmMeasurement.cpp - The time of a GEMM -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/GemmMeasurement.h"

#include "cuda/gemm/GemmTuner.h"

#include <algorithm>
#include <array>

namespace weft::runtime {

static int64_t elementsOf(const LtMatrix &matrix, int64_t batch) {
  return (batch - 1) * matrix.batchStride +
         (matrix.columns - 1) * matrix.leading + matrix.leading;
}

Status GemmMeasurement::allocate(const LtProblem &problem) {
  const int64_t batch = problem.batch;
  WEFT_ASSIGN_OR_RETURN(
      pointers.a, memory.random(problem.a.dtype, elementsOf(problem.a, batch)));
  WEFT_ASSIGN_OR_RETURN(
      pointers.b, memory.random(problem.b.dtype, elementsOf(problem.b, batch)));
  WEFT_ASSIGN_OR_RETURN(
      pointers.d, memory.random(problem.d.dtype, elementsOf(problem.d, batch)));
  if (problem.hasAux) {
    WEFT_ASSIGN_OR_RETURN(
        pointers.aux,
        memory.random(problem.d.dtype, elementsOf(problem.d, batch)));
  }
  if (problem.hasBias) {
    WEFT_ASSIGN_OR_RETURN(
        pointers.bias,
        memory.random(problem.bias,
                      std::max(problem.d.rows, problem.d.columns)));
  }
  return {};
}

Result<std::unique_ptr<GemmMeasurement>>
GemmMeasurement::prepare(const LtProblem &problem,
                         std::shared_ptr<const LtHandle> handle,
                         size_t workspaceLimit, const CudaContext &context) {
  const Cudart &cudart = context.cudart;
  std::unique_ptr<GemmMeasurement> made(new GemmMeasurement(context));
  WEFT_RETURN_IF_ERROR(made->allocate(problem));
  WEFT_ASSIGN_OR_RETURN(made->workspace, made->memory.allocate(workspaceLimit));
  int cacheBytes = 0;
  WEFT_RETURN_IF_ERROR(
      cudaStatus(cudart,
                 cudart.deviceGetAttribute(&cacheBytes, cudaDevAttrL2CacheSize,
                                           context.device),
                 "cudaDeviceGetAttribute"));
  made->flushBytes = 2 * static_cast<size_t>(std::max(cacheBytes, 1));
  WEFT_ASSIGN_OR_RETURN(made->flush, made->memory.allocate(made->flushBytes));
  for (EventOwner *event : {&made->begin, &made->end}) {
    WEFT_ASSIGN_OR_RETURN(*event, createEvent(cudart, /*isTimed=*/true));
  }
  WEFT_ASSIGN_OR_RETURN(
      GemmDescriptors descriptors,
      GemmDescriptors::create(std::move(handle), problem, made->pointers));
  made->descriptors.emplace(std::move(descriptors));
  return made;
}

GemmMeasurement::~GemmMeasurement() {
  // A run that failed may have left its flush on the stream.
  if (!context.waitFailed)
    (void)context.synchronize("the trial of an algorithm for a GEMM");
  // The last handle of a library waits for the device when it goes.
  if (descriptors)
    context.leave(descriptors->library().shared_from_this());
}

Result<float> GemmMeasurement::timeOnce(const GemmAlgorithm &algorithm) {
  const Cudart &cudart = context.cudart;
  const cudaStream_t stream = context.compute;
  WEFT_RETURN_IF_ERROR(
      cudaStatus(cudart, cudart.memsetAsync(flush, 0, flushBytes, stream),
                 "cudaMemsetAsync"));
  WEFT_RETURN_IF_ERROR(cudaStatus(
      cudart, cudart.eventRecord(begin.get(), stream), "cudaEventRecord"));
  WEFT_RETURN_IF_ERROR(
      cublasStatus(descriptors->library().library(),
                   descriptors->run(pointers, algorithm.code, workspace,
                                    algorithm.workspaceBytes, stream),
                   "cublasLtMatmul"));
  WEFT_RETURN_IF_ERROR(cudaStatus(cudart, cudart.eventRecord(end.get(), stream),
                                  "cudaEventRecord"));
  WEFT_RETURN_IF_ERROR(
      context.synchronize("the trial of an algorithm for a GEMM"));
  float milliseconds = 0;
  WEFT_RETURN_IF_ERROR(cudaStatus(
      cudart, cudart.eventElapsedTime(&milliseconds, begin.get(), end.get()),
      "cudaEventElapsedTime"));
  return milliseconds;
}

std::optional<float>
GemmMeasurement::milliseconds(const GemmAlgorithm &algorithm) {
  // The first run loads the kernel, and is not counted.
  std::array<float, 3> times;
  for (int run = -1; run < static_cast<int>(times.size()); ++run) {
    const Result<float> taken = timeOnce(algorithm);
    if (!taken.ok()) {
      failure = taken.status();
      return std::nullopt;
    }
    if (run >= 0)
      times[run] = *taken;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

} // namespace weft::runtime
