//===- LargeTensors.h - Warnings of costly shardings ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_LARGETENSORS_H
#define WEFT_LIB_PARTITION_LARGETENSORS_H

#include "weft/Sharding/Sharding.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <optional>
#include <string>

namespace weft {

/// Warns of large tensors that nobody asked to be whole on every device: once
/// for all that are alike on one line of the source.
class LargeTensorWarnings {
public:
  /// Tensors of at least `bytes` are large; none is if that is 0.
  LargeTensorWarnings(const sharding::Mesh &mesh, int64_t bytes)
      : mesh(mesh), bytes(bytes) {}

  /// Before a reshard bypasses constraints: if the op casts the value of one,
  /// the constraint is for the cast, too.
  void expectCast(mlir::Operation *op);

  /// A reshard of `source` for `use`: noted if it gathers a large tensor whole
  /// and the use is not that of a constraint.
  void check(mlir::OpOperand &use, mlir::Value source,
             const sharding::Sharding &from, const sharding::Sharding &to);

  /// A large result that is whole on every device although an axis of the mesh
  /// divides one of its dimensions.
  void checkResult(mlir::Value value, const sharding::Sharding &sharding);

  /// Emits what was noted, in the order of the first of each kind.
  void report() const;

private:
  struct Warning {
    std::optional<mlir::Location> loc;
    std::string fact;
    std::string remedy;
    int64_t count = 0;
  };

  bool isLarge(mlir::Value value) const;
  void note(mlir::Location loc, mlir::Value value, const std::string &fact,
            const std::string &remedy);

  const sharding::Mesh &mesh;
  const int64_t bytes;
  llvm::DenseSet<mlir::Value> expected;
  /// By size, fact and line of the source: the layers of a model come from
  /// one line.
  llvm::MapVector<std::string, Warning, std::map<std::string, unsigned>>
      warnings;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_LARGETENSORS_H
