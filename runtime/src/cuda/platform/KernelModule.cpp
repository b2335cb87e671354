//===- KernelModule.cpp - Device code that was loaded -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/platform/KernelModule.h"

#include <fmt/format.h>

#include <utility>

namespace weft::runtime {

KernelModule::KernelModule(KernelModule &&other) noexcept
    : functions(other.functions),
      library(std::exchange(other.library, nullptr)) {}

KernelModule &KernelModule::operator=(KernelModule &&other) noexcept {
  std::swap(functions, other.functions);
  std::swap(library, other.library);
  return *this;
}

KernelModule::~KernelModule() {
  if (library)
    (void)functions->libraryUnload(library);
}

Result<KernelModule> KernelModule::load(const Cudart &cudart,
                                        const void *image) {
  KernelModule module(cudart);
  WEFT_RETURN_IF_ERROR(
      cudaStatus(cudart,
                 cudart.libraryLoadData(&module.library, image, nullptr,
                                        nullptr, 0, nullptr, nullptr, 0),
                 "cudaLibraryLoadData"));
  return module;
}

Result<cudaKernel_t> KernelModule::kernel(const std::string &symbol) const {
  cudaKernel_t kernel = nullptr;
  WEFT_RETURN_IF_ERROR(cudaStatus(
      *functions, functions->libraryGetKernel(&kernel, library, symbol.c_str()),
      fmt::format("cudaLibraryGetKernel of \"{}\"", symbol)));
  return kernel;
}

} // namespace weft::runtime
