//===- Libraries.cpp - CUDA's libraries, opened when needed -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/platform/Libraries.h"

#include <fmt/ranges.h>

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

namespace weft::runtime {
namespace {

/// An open library while its table is filled.
class SharedLibrary {
public:
  /// `remedy` says what to install.
  static Result<SharedLibrary> open(const std::string &name,
                                    const CudaLibrarySearch &search,
                                    std::string_view remedy);

  template <typename Function>
  void resolve(Function &function, const char *symbol) {
    function = reinterpret_cast<Function>(dlsym(handle, symbol));
    if (!function)
      missing.push_back(symbol);
  }
  /// Success when every symbol was there.
  Status status() const;

private:
  std::string name;
  void *handle = nullptr;
  std::vector<std::string> missing;
};

} // namespace

// In two steps, so that the name is the one that a macro of the headers gives.
#define WEFT_QUOTED(symbol) #symbol
#define WEFT_RESOLVE(member, symbol)                                           \
  library.resolve(table.member, WEFT_QUOTED(symbol));
#define WEFT_RESOLVE_OVERLOADED(member, symbol, type)                          \
  WEFT_RESOLVE(member, symbol)

CudaLibrarySearch CudaLibrarySearch::fromEnvironment() {
  CudaLibrarySearch search;
  const char *value = std::getenv("WEFT_CUDA_LIBRARIES");
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (!folder.empty())
      search.folders.emplace_back(folder);
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  return search;
}

Result<SharedLibrary> SharedLibrary::open(const std::string &name,
                                          const CudaLibrarySearch &search,
                                          std::string_view remedy) {
  std::vector<std::string> paths;
  for (const std::string &folder : search.folders)
    paths.push_back(folder + "/" + name);
  if (paths.empty())
    paths = {name, std::string(WEFT_CUDA_LIBRARY_FOLDER "/") + name};
  SharedLibrary library;
  library.name = name;
  std::string reason;
  for (const std::string &path : paths) {
    library.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle)
      return library;
    // The first reason tells most: the others say that a fallback is missing.
    if (const char *error = dlerror(); reason.empty())
      reason = error ? error : "unknown reason";
  }
  return unavailable(fmt::format(
      "cannot open {}: {}; {}, or name its folder in WEFT_CUDA_LIBRARIES", name,
      reason, remedy));
}

Status SharedLibrary::status() const {
  if (missing.empty())
    return {};
  link_map *map = nullptr;
  dlinfo(handle, RTLD_DI_LINKMAP, &map);
  return unavailable(fmt::format("{} ({}) does not define {}; it is not of the "
                                 "version that its name says",
                                 name, map ? map->l_name : "",
                                 fmt::join(missing, ", ")));
}

Result<Cudart> loadCudart(const CudaLibrarySearch &search) {
  // Read by the driver when it starts.
  setenv("CUDA_MODULE_LOADING", "EAGER", /*replace=*/1);
  WEFT_ASSIGN_OR_RETURN(SharedLibrary library,
                        SharedLibrary::open("libcudart.so.13", search,
                                            "install the runtime of CUDA 13"));
  Cudart table;
  WEFT_CUDART_FUNCTIONS(WEFT_RESOLVE)
  WEFT_CUDART_OVERLOADED_FUNCTIONS(WEFT_RESOLVE_OVERLOADED)
  WEFT_RETURN_IF_ERROR(library.status());
  return table;
}

Result<CublasLt> loadCublasLt(const CudaLibrarySearch &search) {
  WEFT_ASSIGN_OR_RETURN(SharedLibrary library,
                        SharedLibrary::open("libcublasLt.so.13", search,
                                            "install cuBLAS of CUDA 13"));
  CublasLt table;
  WEFT_CUBLASLT_FUNCTIONS(WEFT_RESOLVE)
  WEFT_RETURN_IF_ERROR(library.status());
  return table;
}

Result<Cudnn> loadCudnn(const CudaLibrarySearch &search) {
#if WEFT_HAS_CUDNN
  WEFT_ASSIGN_OR_RETURN(SharedLibrary library,
                        SharedLibrary::open("libcudnn.so.9", search,
                                            "install cuDNN 9 for CUDA 13"));
  Cudnn table;
  WEFT_CUDNN_FUNCTIONS(WEFT_RESOLVE)
  WEFT_RETURN_IF_ERROR(library.status());
  return table;
#else
  (void)search;
  return unimplemented("this runtime was built without cuDNN");
#endif
}

Result<Nccl> loadNccl(const CudaLibrarySearch &search) {
#if WEFT_HAS_NCCL
  WEFT_ASSIGN_OR_RETURN(SharedLibrary library,
                        SharedLibrary::open("libnccl.so.2", search,
                                            "install NCCL 2 for CUDA 13"));
  Nccl table;
  WEFT_NCCL_FUNCTIONS(WEFT_RESOLVE)
  WEFT_RETURN_IF_ERROR(library.status());
  return table;
#else
  (void)search;
  return unimplemented("this runtime was built without NCCL");
#endif
}

Status cudaStatus(const Cudart &cudart, cudaError_t error,
                  std::string_view call) {
  if (error == cudaSuccess)
    return {};
  const StatusCode code = error == cudaErrorMemoryAllocation
                              ? StatusCode::ResourceExhausted
                              : StatusCode::Unavailable;
  return Status(code,
                fmt::format("{}: {} ({})", call, cudart.getErrorString(error),
                            cudart.getErrorName(error)));
}

} // namespace weft::runtime
