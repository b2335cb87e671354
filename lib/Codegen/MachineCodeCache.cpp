//===- MachineCodeCache.cpp - Kernels compiled before ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineCodeCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace weft;

MachineCodeCache &MachineCodeCache::ofProcess() {
  static MachineCodeCache cache(size_t(64) << 20);
  return cache;
}

MachineCodeCache::Key MachineCodeCache::keyOf(llvm::StringRef text) {
  return llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
}

MachineCodeCache::Object MachineCodeCache::find(const Key &key) {
  std::lock_guard lock(mutex);
  auto known = objects.find(key);
  return known == objects.end() ? nullptr : known->second;
}

MachineCodeCache::Object MachineCodeCache::add(const Key &key,
                                               std::string object) {
  std::lock_guard lock(mutex);
  if (bytes + object.size() > maxBytes) {
    objects.clear();
    bytes = 0;
  }
  Object &entry = objects[key];
  if (!entry) {
    bytes += object.size();
    entry = std::make_shared<const std::string>(std::move(object));
  }
  return entry;
}
