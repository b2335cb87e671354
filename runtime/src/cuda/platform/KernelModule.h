//===- KernelModule.h - Device code that was loaded -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of a cubin or of PTX, on the current device. They are all loaded
// when the module is: a kernel that the driver loads in a step may wait for the
// one that waits for it (rule C1).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_KERNELMODULE_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_KERNELMODULE_H

#include "cuda/platform/Libraries.h"

#include <string>

namespace weft::runtime {

class KernelModule {
public:
  /// `image` is a cubin, or PTX with a zero after its end.
  static Result<KernelModule> load(const Cudart &cudart, const void *image);

  KernelModule(KernelModule &&other) noexcept;
  KernelModule &operator=(KernelModule &&other) noexcept;
  ~KernelModule();

  Result<cudaKernel_t> kernel(const std::string &symbol) const;
  const Cudart &cudart() const { return *functions; }

private:
  explicit KernelModule(const Cudart &cudart) : functions(&cudart) {}

  const Cudart *functions;
  cudaLibrary_t library = nullptr;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_KERNELMODULE_H
