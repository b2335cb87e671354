//===- ObjectFolder.cpp - Kernels that other processes compiled -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ObjectFolder.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Caching.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"

#include <dlfcn.h>

using namespace llvm;

namespace weft {

static constexpr uint64_t mostBytes = uint64_t(1) << 30;
/// Of the hash behind an object in its file.
static constexpr size_t hashBytes = 32;

static std::string hashOf(StringRef object) {
  return toStringRef(SHA256::hash(arrayRefFromStringRef(object))).str();
}

std::optional<ObjectFolder> ObjectFolder::ofEnvironment() {
  auto path = sys::Process::GetEnv("WEFT_KERNEL_CACHE");
  if (!path || path->empty())
    return std::nullopt;
  return ObjectFolder(std::move(*path));
}

std::optional<std::string> ObjectFolder::find(StringRef key) const {
  SmallString<128> file(path);
  // The name that localCache gives it.
  sys::path::append(file, "llvmcache-" + key);
  auto buffer = MemoryBuffer::getFile(file, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!buffer)
    return std::nullopt;
  StringRef bytes = (*buffer)->getBuffer();
  StringRef object = bytes.drop_back(std::min(bytes.size(), hashBytes));
  if (bytes.substr(object.size()) == hashOf(object))
    return object.str();
  sys::fs::remove(file);
  return std::nullopt;
}

Error ObjectFolder::add(StringRef key, StringRef object) const {
  auto cache = localCache("kernels", "kernel", path);
  if (!cache)
    return cache.takeError();
  auto open = (*cache)(0, key, "");
  if (!open)
    return open.takeError();
  // Another process was as quick.
  if (!*open)
    return Error::success();
  auto stream = (*open)(0, "");
  if (!stream)
    return stream.takeError();
  *(*stream)->OS << object << hashOf(object);
  if (Error error = (*stream)->commit())
    return error;
  CachePruningPolicy policy;
  policy.MaxSizeBytes = mostBytes;
  pruneCache(path, policy);
  return Error::success();
}

bool ObjectFolder::addOrWarn(StringRef key, StringRef object,
                             mlir::Location location) const {
  Error error = add(key, object);
  if (!error)
    return true;
  mlir::emitWarning(location)
      << "compiled kernels are not kept for the next compilation: "
      << StringRef(toString(std::move(error))).rtrim()
      << "; WEFT_KERNEL_CACHE must name a folder that can be written";
  return false;
}

std::string compilerIdentity() {
  static const std::string identity = [] {
    Dl_info file;
    sys::fs::file_status status;
    if (!dladdr(reinterpret_cast<void *>(&compilerIdentity), &file) ||
        sys::fs::status(file.dli_fname, status))
      return std::string("unknown");
    return std::to_string(status.getSize()) + " " +
           std::to_string(
               status.getLastModificationTime().time_since_epoch().count());
  }();
  return identity;
}

} // namespace weft
