//===- ShardyAttributes.h - Meshes and shardings of Shardy ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The syntax of Shardy's shardings is that of Weft's, except that a mesh may be
// written out where a sharding names it.
//
// Example:
//
//   #sdy.mesh<["data"=4, "model"=2]>
//   #sdy.sharding<@mesh, [{"data"}, {"model", ?}p1], unreduced={"x"}>
//   #sdy.sharding<mesh<["data"=4]>, [{"data"}, {}]>
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_SHARDYATTRIBUTES_H
#define WEFT_LIB_IMPORT_SHARDYATTRIBUTES_H

#include "weft/IR/WeftAttrs.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::stablehlo {

/// A mesh as written.
struct ShardyMesh {
  llvm::SmallVector<MeshAxisAttr> axes;
  llvm::SmallVector<int64_t> deviceIds;

  bool operator==(const ShardyMesh &other) const = default;
};
std::optional<ShardyMesh> readMesh(mlir::Attribute attr);

/// A sharding as written; its mesh is given by name or in place.
struct ShardySharding {
  std::string meshName;
  ShardyMesh mesh;
  llvm::SmallVector<DimShardingAttr> dims;
  llvm::SmallVector<AxisRefAttr> replicated, unreduced;
  sharding::Reduction unreducedKind = sharding::Reduction::Sum;
};
/// `#sdy.sharding<...>`
std::optional<ShardySharding> readSharding(mlir::Attribute attr);
/// One for each result: `#sdy.sharding_per_value<[<...>, <...>]>`, or a single
/// sharding.
std::optional<std::vector<ShardySharding>> readShardings(mlir::Attribute attr);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_SHARDYATTRIBUTES_H
