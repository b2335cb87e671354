//===- KernelLibrary.h - The compiled kernels of a plan ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the shared object that a plan carries, without a file on disk, and
// resolves the symbols of all its kernels at once.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_KERNELLIBRARY_H
#define WEFT_RUNTIME_SRC_EXECUTOR_KERNELLIBRARY_H

#include "weft/runtime/Status.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <vector>

namespace weft::runtime {

/// The signature of every kernel (table Launch of plan.fbs).
using KernelFunction = void (*)(void *const *buffers, const int64_t *positions,
                                int64_t part, int64_t parts);

class KernelLibrary {
public:
  KernelLibrary() = default;
  KernelLibrary(KernelLibrary &&other) noexcept;
  KernelLibrary &operator=(KernelLibrary &&other) noexcept;
  ~KernelLibrary();

  /// Loads the object of a plan, if it names kernels.
  static Result<KernelLibrary> load(const plan::Plan &plan);

  KernelFunction kernel(uint32_t index) const { return functions[index]; }

private:
  Status open(const plan::Plan &plan);
  Status resolve(const plan::Plan &plan);

  /// Kept while the library is loaded: the loader recognises libraries by
  /// path, and the path names this descriptor.
  int file = -1;
  void *handle = nullptr;
  std::vector<KernelFunction> functions;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_KERNELLIBRARY_H
