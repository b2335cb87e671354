//===- Libraries.h - CUDA's libraries, opened when needed -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime links against nothing of CUDA, so that one build runs on machines
// with and without it. A plan for CUDA opens what it needs:
//
//   WEFT_ASSIGN_OR_RETURN(const Cudart cudart,
//                         loadCudart(CudaLibrarySearch::fromEnvironment()));
//   int devices = 0;
//   WEFT_RETURN_IF_ERROR(cudaStatus(
//       cudart, cudart.getDeviceCount(&devices), "cudaGetDeviceCount"));
//
// Libraries stay open for the life of the process; tables may be copied.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_LIBRARIES_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_LIBRARIES_H

#include "cuda/platform/LibraryFunctions.h"
#include "weft/runtime/Status.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#if WEFT_HAS_CUDNN
#include <cudnn.h>
#endif
#if WEFT_HAS_NCCL
#include <nccl.h>
#endif

#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

/// A member of a table of functions.
#define WEFT_LIBRARY_MEMBER(member, symbol)                                    \
  decltype(&::symbol) member = nullptr;

#define WEFT_OVERLOADED_MEMBER(member, symbol, type)                           \
  decltype(static_cast<type>(&::symbol)) member = nullptr;

struct Cudart {
  WEFT_CUDART_FUNCTIONS(WEFT_LIBRARY_MEMBER)
  WEFT_CUDART_OVERLOADED_FUNCTIONS(WEFT_OVERLOADED_MEMBER)
};
struct CublasLt {
  WEFT_CUBLASLT_FUNCTIONS(WEFT_LIBRARY_MEMBER)
};
/// Without members when the runtime was built without cuDNN's headers.
struct Cudnn {
#if WEFT_HAS_CUDNN
  WEFT_CUDNN_FUNCTIONS(WEFT_LIBRARY_MEMBER)
#endif
};
/// Without members when the runtime was built without NCCL's header.
struct Nccl {
#if WEFT_HAS_NCCL
  WEFT_NCCL_FUNCTIONS(WEFT_LIBRARY_MEMBER)
#endif
};

#undef WEFT_OVERLOADED_MEMBER
#undef WEFT_LIBRARY_MEMBER

/// Where libraries are looked for.
struct CudaLibrarySearch {
  /// If there are any, libraries are looked for in these folders only;
  /// otherwise where the system's loader looks, and then in the folder of the
  /// toolkit that the runtime was built with.
  std::vector<std::string> folders;

  /// The folders that WEFT_CUDA_LIBRARIES names, separated by colons.
  static CudaLibrarySearch fromEnvironment();
};

/// Opens libcudart.so.13. Sets CUDA_MODULE_LOADING for it: kernels are loaded
/// with their plan, and never in a step (rule C1).
Result<Cudart> loadCudart(const CudaLibrarySearch &search);
/// Opens libcublasLt.so.13, libcudnn.so.9, libnccl.so.2.
Result<CublasLt> loadCublasLt(const CudaLibrarySearch &search);
Result<Cudnn> loadCudnn(const CudaLibrarySearch &search);
Result<Nccl> loadNccl(const CudaLibrarySearch &search);

/// Success, or what CUDA says of a failed call: "cudaMalloc: out of memory
/// (cudaErrorMemoryAllocation)".
Status cudaStatus(const Cudart &cudart, cudaError_t error,
                  std::string_view call);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_LIBRARIES_H
