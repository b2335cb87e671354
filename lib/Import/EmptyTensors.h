//===- EmptyTensors.h - Tensors without elements ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph computes nothing with tensors without elements, and programs do: a
// scan that halves what it is given ends with tensor<16x0x128xf32>. While a
// program is read, such a value is an empty constant, an argument too, which
// only the graph may return: an op whose results are all empty is not read, and
// what an op makes of some empty operands is something else.
//
// Example: a concatenation of tensor<0x4xf32> and tensor<3x4xf32> is the
// latter.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_EMPTYTENSORS_H
#define WEFT_LIB_IMPORT_EMPTYTENSORS_H

#include "Conversion.h"

#include "llvm/ADT/MapVector.h"

namespace weft::stablehlo {

bool isEmpty(mlir::RankedTensorType type);

/// The results of an op of which some operand is empty and no result is.
Values convertWithoutElements(Conversion &c);

/// One constant for each type.
class EmptyTensors {
public:
  mlir::Value get(mlir::RankedTensorType type, mlir::OpBuilder &builder);
  /// Erases those that are not returned.
  void clear();

private:
  llvm::MapVector<mlir::Type, mlir::Value> constants;
};

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_EMPTYTENSORS_H
