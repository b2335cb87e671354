//===- KernelLibrary.cpp - The compiled kernels of a plan -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/KernelLibrary.h"

#include "plan/Text.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace weft::runtime {

KernelLibrary::KernelLibrary(KernelLibrary &&other) noexcept
    : file(std::exchange(other.file, -1)),
      handle(std::exchange(other.handle, nullptr)),
      functions(std::move(other.functions)) {}

KernelLibrary &KernelLibrary::operator=(KernelLibrary &&other) noexcept {
  std::swap(file, other.file);
  std::swap(handle, other.handle);
  std::swap(functions, other.functions);
  return *this;
}

KernelLibrary::~KernelLibrary() {
  if (handle)
    dlclose(handle);
  if (file >= 0)
    close(file);
}

/// A file without a name: in memory, or unlinked where memory files are
/// forbidden.
static int openAnonymousFile() {
  if (int file = memfd_create("weft-kernels", MFD_CLOEXEC); file >= 0)
    return file;
  std::error_code error;
  std::string path =
      std::filesystem::temp_directory_path(error) / "weft-kernels-XXXXXX";
  const int file = mkostemp(path.data(), 0);
  if (file >= 0)
    unlink(path.c_str());
  return file;
}

static bool writeAll(int file, const uint8_t *data, size_t bytes) {
  while (bytes != 0) {
    const ssize_t written = write(file, data, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    data += written;
    bytes -= written;
  }
  return true;
}

Status KernelLibrary::open(const plan::Plan &plan) {
  file = openAnonymousFile();
  if (file < 0 || !writeAll(file, plan.object()->data(), plan.object()->size()))
    return unavailable(fmt::format("cannot write the kernels to an anonymous "
                                   "file: {}",
                                   std::strerror(errno)));
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return failedPrecondition(
        fmt::format("cannot load the kernels of the plan: {}", dlerror()));
  return {};
}

Status KernelLibrary::resolve(const plan::Plan &plan) {
  for (const plan::Kernel *kernel : *plan.kernels()) {
    void *symbol = dlsym(handle, kernel->symbol()->c_str());
    if (!symbol)
      return failedPrecondition(
          fmt::format("the plan's object does not define kernel \"{}\"",
                      escaped(view(kernel->symbol()))));
    functions.push_back(reinterpret_cast<KernelFunction>(symbol));
  }
  return {};
}

Result<KernelLibrary> KernelLibrary::load(const plan::Plan &plan) {
  KernelLibrary library;
  if (plan.kernels()->size() == 0)
    return library;
  WEFT_RETURN_IF_ERROR(library.open(plan));
  WEFT_RETURN_IF_ERROR(library.resolve(plan));
  return library;
}

} // namespace weft::runtime
