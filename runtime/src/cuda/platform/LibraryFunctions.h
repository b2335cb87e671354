//===- LibraryFunctions.h - What is used of CUDA's libraries ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One list a library: X(member of the table, symbol of the library). The tables
// of Libraries.h, the loader and its test are made of these lists. A library
// that lacks one of the symbols is refused, with all that are missing.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_LIBRARYFUNCTIONS_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_LIBRARYFUNCTIONS_H

/// libcudart.so.13. An emulated device needs no more than these and the next.
#define WEFT_CUDART_FUNCTIONS(X)                                               \
  X(getDeviceCount, cudaGetDeviceCount)                                        \
  X(setDevice, cudaSetDevice)                                                  \
  X(getDevice, cudaGetDevice)                                                  \
  X(deviceGetAttribute, cudaDeviceGetAttribute)                                \
  X(getDeviceProperties, cudaGetDeviceProperties)                              \
  X(driverGetVersion, cudaDriverGetVersion)                                    \
  X(runtimeGetVersion, cudaRuntimeGetVersion)                                  \
  X(getErrorString, cudaGetErrorString)                                        \
  X(getErrorName, cudaGetErrorName)                                            \
  X(getLastError, cudaGetLastError)                                            \
  X(free, cudaFree)                                                            \
  X(freeHost, cudaFreeHost)                                                    \
  X(memGetInfo, cudaMemGetInfo)                                                \
  X(memcpy, cudaMemcpy)                                                        \
  X(memcpyAsync, cudaMemcpyAsync)                                              \
  X(memcpy2DAsync, cudaMemcpy2DAsync)                                          \
  X(memset, cudaMemset)                                                        \
  X(memsetAsync, cudaMemsetAsync)                                              \
  X(streamCreateWithPriority, cudaStreamCreateWithPriority)                    \
  X(streamDestroy, cudaStreamDestroy)                                          \
  X(streamSynchronize, cudaStreamSynchronize)                                  \
  X(streamQuery, cudaStreamQuery)                                              \
  X(streamWaitEvent, cudaStreamWaitEvent)                                      \
  X(eventCreateWithFlags, cudaEventCreateWithFlags)                            \
  X(eventDestroy, cudaEventDestroy)                                            \
  X(eventRecord, cudaEventRecord)                                              \
  X(eventQuery, cudaEventQuery)                                                \
  X(eventSynchronize, cudaEventSynchronize)                                    \
  X(eventElapsedTime, cudaEventElapsedTime)                                    \
  X(streamBeginCapture, cudaStreamBeginCapture)                                \
  X(streamEndCapture, cudaStreamEndCapture)                                    \
  X(streamIsCapturing, cudaStreamIsCapturing)                                  \
  X(graphUpload, cudaGraphUpload)                                              \
  X(graphLaunch, cudaGraphLaunch)                                              \
  X(graphDestroy, cudaGraphDestroy)                                            \
  X(graphExecDestroy, cudaGraphExecDestroy)                                    \
  X(libraryLoadData, cudaLibraryLoadData)                                      \
  X(libraryUnload, cudaLibraryUnload)                                          \
  X(libraryGetKernel, cudaLibraryGetKernel)                                    \
  X(funcSetAttribute, cudaFuncSetAttribute)                                    \
  X(deviceSynchronize, cudaDeviceSynchronize)

/// Those that cuda_runtime.h, which other headers include, gives templates of
/// the same name: the third argument says which is meant.
#define WEFT_CUDART_OVERLOADED_FUNCTIONS(X)                                    \
  X(malloc, cudaMalloc, cudaError_t (*)(void **, size_t))                      \
  X(mallocHost, cudaMallocHost, cudaError_t (*)(void **, size_t))              \
  X(graphInstantiate, cudaGraphInstantiate,                                    \
    cudaError_t (*)(cudaGraphExec_t *, cudaGraph_t, unsigned long long))       \
  X(launchKernel, cudaLaunchKernel,                                            \
    cudaError_t (*)(const void *, dim3, dim3, void **, size_t, cudaStream_t))

/// libcublasLt.so.13
#define WEFT_CUBLASLT_FUNCTIONS(X)                                             \
  X(create, cublasLtCreate)                                                    \
  X(destroy, cublasLtDestroy)                                                  \
  X(getVersion, cublasLtGetVersion)                                            \
  X(getStatusString, cublasLtGetStatusString)                                  \
  X(matmul, cublasLtMatmul)                                                    \
  X(matmulDescCreate, cublasLtMatmulDescCreate)                                \
  X(matmulDescDestroy, cublasLtMatmulDescDestroy)                              \
  X(matmulDescSetAttribute, cublasLtMatmulDescSetAttribute)                    \
  X(matrixLayoutCreate, cublasLtMatrixLayoutCreate)                            \
  X(matrixLayoutDestroy, cublasLtMatrixLayoutDestroy)                          \
  X(matrixLayoutSetAttribute, cublasLtMatrixLayoutSetAttribute)                \
  X(matmulPreferenceCreate, cublasLtMatmulPreferenceCreate)                    \
  X(matmulPreferenceDestroy, cublasLtMatmulPreferenceDestroy)                  \
  X(matmulPreferenceSetAttribute, cublasLtMatmulPreferenceSetAttribute)        \
  X(matmulAlgoGetHeuristic, cublasLtMatmulAlgoGetHeuristic)                    \
  X(matmulAlgoCheck, cublasLtMatmulAlgoCheck)

/// libcudnn.so.9: the graph API in C.
#define WEFT_CUDNN_FUNCTIONS(X)                                                \
  X(getVersion, cudnnGetVersion)                                               \
  X(getErrorString, cudnnGetErrorString)                                       \
  X(getLastErrorString, cudnnGetLastErrorString)                               \
  X(create, cudnnCreate)                                                       \
  X(destroy, cudnnDestroy)                                                     \
  X(setStream, cudnnSetStream)                                                 \
  X(backendCreateDescriptor, cudnnBackendCreateDescriptor)                     \
  X(backendDestroyDescriptor, cudnnBackendDestroyDescriptor)                   \
  X(backendFinalize, cudnnBackendFinalize)                                     \
  X(backendSetAttribute, cudnnBackendSetAttribute)                             \
  X(backendGetAttribute, cudnnBackendGetAttribute)                             \
  X(backendExecute, cudnnBackendExecute)

/// libnccl.so.2, from 2.27 on
#define WEFT_NCCL_FUNCTIONS(X)                                                 \
  X(getVersion, ncclGetVersion)                                                \
  X(getErrorString, ncclGetErrorString)                                        \
  X(getLastError, ncclGetLastError)                                            \
  X(getUniqueId, ncclGetUniqueId)                                              \
  X(commInitRankConfig, ncclCommInitRankConfig)                                \
  X(commSplit, ncclCommSplit)                                                  \
  X(commFinalize, ncclCommFinalize)                                            \
  X(commDestroy, ncclCommDestroy)                                              \
  X(commAbort, ncclCommAbort)                                                  \
  X(commGetAsyncError, ncclCommGetAsyncError)                                  \
  X(commRegister, ncclCommRegister)                                            \
  X(commDeregister, ncclCommDeregister)                                        \
  X(commWindowRegister, ncclCommWindowRegister)                                \
  X(commWindowDeregister, ncclCommWindowDeregister)                            \
  X(memAlloc, ncclMemAlloc)                                                    \
  X(memFree, ncclMemFree)                                                      \
  X(allReduce, ncclAllReduce)                                                  \
  X(allGather, ncclAllGather)                                                  \
  X(reduceScatter, ncclReduceScatter)                                          \
  X(broadcast, ncclBroadcast)                                                  \
  X(send, ncclSend)                                                            \
  X(recv, ncclRecv)                                                            \
  X(groupStart, ncclGroupStart)                                                \
  X(groupEnd, ncclGroupEnd)

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_LIBRARYFUNCTIONS_H
