//===- Meshes.h - The mesh of an imported program ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Shardy program may declare several meshes and write others in place; a
// graph has one, which is made for the first sharding that names one. Those
// that differ in name only are the same.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_MESHES_H
#define WEFT_LIB_IMPORT_MESHES_H

#include "Problems.h"
#include "ShardyAttributes.h"

#include "weft/IR/WeftOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace weft::stablehlo {

class Meshes {
public:
  /// Reads the declarations of the module.
  Meshes(mlir::ModuleOp module, Problems &problems);

  /// The sharding for a graph. Null if it says nothing there: that of a value
  /// on a single device; null, and a problem, if its mesh is not that of the
  /// shardings before it.
  ShardingAttr convert(mlir::Location loc, const ShardySharding &sharding);
  /// As above, for an attribute as it stands in the text.
  ShardingAttr convert(mlir::Location loc, mlir::Attribute attr);

  /// `[{"data"}, {}]`, for messages.
  std::string describe(ShardingAttr sharding);

  /// The number of the most shards that a dimension of this size is split into
  /// evenly, over axes of the mesh: that of the shardings so far, or else of
  /// the first declaration.
  int64_t countShards(int64_t size) const;

  /// Makes the mesh of the first declaration if no sharding has named one.
  void finish();

private:
  /// Whether `mesh` is the mesh of the program, which it becomes if there is
  /// none yet.
  bool unify(mlir::Location loc, llvm::StringRef name, const ShardyMesh &mesh);
  void choose(mlir::Location loc, llvm::StringRef name, const ShardyMesh &mesh);
  /// Those of the chosen mesh, if it lists any.
  void setDevices(mlir::Location loc);

  mlir::ModuleOp module;
  Problems &problems;
  struct Declaration {
    std::string name;
    ShardyMesh mesh;
    mlir::Location loc;
  };
  std::vector<Declaration> declarations;
  std::optional<ShardyMesh> chosen;
  /// Null if the chosen one is not legal.
  MeshOp meshOp;
};

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_MESHES_H
