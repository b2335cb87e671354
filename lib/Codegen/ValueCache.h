//===- ValueCache.h - Elements that have been emitted -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of elements, by tensor and index, in scopes: what is emitted in a
// loop or a branch is not known behind it.

#ifndef WEFT_LIB_CODEGEN_VALUECACHE_H
#define WEFT_LIB_CODEGEN_VALUECACHE_H

#include "LaneIndex.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace weft {

class ValueCache {
public:
  void enterScope() { scopes.emplace_back(); }
  void leaveScope() { scopes.pop_back(); }
  /// Number of open scopes.
  size_t depth() const { return scopes.size(); }

  /// Null if it is not known.
  mlir::Value find(mlir::Value tensor, llvm::ArrayRef<LaneIndex> index) const {
    for (const auto &scope : scopes)
      if (auto it = scope.find(tensor); it != scope.end())
        for (const Known &known : it->second)
          if (index == llvm::ArrayRef<LaneIndex>(known.index))
            return known.value;
    return {};
  }
  mlir::Value add(mlir::Value tensor, llvm::ArrayRef<LaneIndex> index,
                  mlir::Value value) {
    scopes.back()[tensor].push_back({index.vec(), value});
    return value;
  }

private:
  struct Known {
    std::vector<LaneIndex> index;
    mlir::Value value;
  };
  std::vector<llvm::DenseMap<mlir::Value, std::vector<Known>>> scopes{1};
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_VALUECACHE_H
