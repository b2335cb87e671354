//===- VjpBuilder.h - What a derivative is written with ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passed to VjpOpInterface::buildVjp: the cotangents of the op's results, and a
// place to put those of its operands. New ops get the location "transpose of"
// the op's own.
//
// Example: r = x * y
//
//   void buildVjp(VjpBuilder &b) {
//     if (b.wants(0))
//       b.addCotangent(0, b.mul(b.getCotangent(), y));
//     if (b.wants(1))
//       b.addCotangent(1, b.mul(b.getCotangent(), x));
//   }
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_VJPBUILDER_H
#define WEFT_IR_VJPBUILDER_H

#include "weft/IR/TensorBuilder.h"

#include "llvm/ADT/SmallBitVector.h"

namespace weft {

/// Whether values of the type have cotangents: its elements are numbers of a
/// floating-point type.
bool carriesCotangent(mlir::Type type);

class VjpBuilder : public TensorBuilder {
public:
  /// `cotangents` has an entry for each result, null where it is zero; `wanted`
  /// has a bit for each operand.
  VjpBuilder(mlir::OpBuilder &builder, mlir::Location loc,
             llvm::ArrayRef<mlir::Value> cotangents,
             const llvm::SmallBitVector &wanted)
      : TensorBuilder(loc, builder), results(cotangents),
        operands(wanted.size()), wanted(wanted) {}

  /// The cotangent of a result; null where it is zero, which it is not if the
  /// op has one result.
  mlir::Value getCotangent(unsigned result = 0) const {
    return results[result];
  }
  /// Whether an operand needs a cotangent. What is added for others is lost.
  bool wants(unsigned operand) const { return wanted.test(operand); }
  /// Adds to the cotangent of an operand, which is zero at first.
  void addCotangent(unsigned operand, mlir::Value cotangent);
  /// The sums so far, null for zero.
  llvm::ArrayRef<mlir::Value> getOperandCotangents() const { return operands; }

  /// `x`, a forward value, to compute others from once more: behind a barrier,
  /// so that they are not taken for those of the forward pass, which would then
  /// be kept in memory in between.
  mlir::Value recomputeFrom(mlir::Value x);

private:
  llvm::ArrayRef<mlir::Value> results;
  llvm::SmallVector<mlir::Value> operands;
  const llvm::SmallBitVector &wanted;
};

} // namespace weft

#endif // WEFT_IR_VJPBUILDER_H
