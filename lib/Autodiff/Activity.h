//===- Activity.h - Which values have cotangents ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value is active if it depends on an argument that is differentiated by and
// a differentiated result depends on it, both through floating-point values and
// operands that ops are not flat in. All others cost a derivative nothing.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_AUTODIFF_ACTIVITY_H
#define WEFT_LIB_AUTODIFF_ACTIVITY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

namespace weft {

class Activity {
public:
  /// `arguments` are the arguments to differentiate by, `results` those of the
  /// function that have a cotangent.
  Activity(mlir::func::FuncOp function, const llvm::SmallBitVector &arguments,
           const llvm::SmallBitVector &results);

  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// Whether the used value is active and its user passes cotangents to it.
  bool isActive(mlir::OpOperand &use) const;
  /// The ops with an active operand and an active result, in program order.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }

private:
  llvm::DenseSet<mlir::Value> active;
  llvm::SmallVector<mlir::Operation *> ops;
};

} // namespace weft

#endif // WEFT_LIB_AUTODIFF_ACTIVITY_H
