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
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft {

static constexpr uint64_t mostBytes = uint64_t(1) << 30;
/// Of the files that llvm::pruneCache looks at.
static constexpr StringLiteral prefix = "llvmcache-";
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

std::string ObjectFolder::fileOf(StringRef key) const {
  SmallString<128> file(path);
  sys::path::append(file, prefix + key);
  return file.str().str();
}

std::optional<std::string> ObjectFolder::find(StringRef key) const {
  std::string file = fileOf(key);
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

/// Not by llvm::localCache, which remembers each file for the case of a signal
/// in a list that it searches.
Error ObjectFolder::add(StringRef key, StringRef object) const {
  if (std::error_code error = sys::fs::create_directories(path))
    return createFileError(path, error);
  int descriptor;
  SmallString<128> temporary;
  if (std::error_code error = sys::fs::createUniqueFile(
          path + "/" + prefix + "%%%%%%%%.part", descriptor, temporary))
    return createFileError(path, error);
  raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << object << hashOf(object);
  stream.close();
  std::error_code error = stream.error();
  stream.clear_error();
  if (!error)
    error = sys::fs::rename(temporary, fileOf(key));
  if (error) {
    sys::fs::remove(temporary);
    return createFileError(temporary, error);
  }
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

} // namespace weft
