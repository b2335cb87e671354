//===- MachineCodeCache.h - Kernels compiled before -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans of one model for several layouts, meshes or schedules have most of
// their kernels in common, and so do those of a search over them. A process
// compiles each kernel once.

#ifndef WEFT_LIB_CODEGEN_MACHINECODECACHE_H
#define WEFT_LIB_CODEGEN_MACHINECODECACHE_H

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace weft {

/// Relocatable objects by the texts that they were made of. Threads may share
/// it.
class MachineCodeCache {
public:
  using Object = std::shared_ptr<const std::string>;

  /// Forgets all objects when they take more than `maxBytes`.
  explicit MachineCodeCache(size_t maxBytes) : maxBytes(maxBytes) {}

  /// That of all compilations of this process.
  static MachineCodeCache &ofProcess();

  /// Stands for a text: its SHA-256.
  using Key = std::array<uint8_t, 32>;
  static Key keyOf(llvm::StringRef text);

  /// The object, or null.
  Object find(const Key &key);
  Object add(const Key &key, std::string object);

private:
  const size_t maxBytes;
  std::mutex mutex;
  size_t bytes = 0;
  std::map<Key, Object> objects;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_MACHINECODECACHE_H
