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

namespace weft {

/// Warns of large tensors that nobody asked to be whole on every device.
class LargeTensorWarnings {
public:
  /// Tensors of at least `bytes` are large; none is if that is 0.
  LargeTensorWarnings(const sharding::Mesh &mesh, int64_t bytes)
      : mesh(mesh), bytes(bytes) {}

  /// A reshard of `source` for `use`: warns if it gathers a large tensor whole
  /// and the use is not that of a constraint.
  void check(mlir::OpOperand &use, mlir::Value source,
             const sharding::Sharding &from, const sharding::Sharding &to);

  /// A large result that is whole on every device although an axis of the mesh
  /// divides one of its dimensions.
  void checkResult(mlir::Value value, const sharding::Sharding &sharding);

private:
  bool isLarge(mlir::Value value) const;

  const sharding::Mesh &mesh;
  int64_t bytes;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_LARGETENSORS_H
