//===- Emitter.h - Writes ops of a graph ------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A builder for input that nobody has verified: an op is made, verified, and
// folded where its operands are constants, so that the indices and conditions
// of unrolled loops are known. A null value stands for one that could not be
// made; what is made of a null value is null, so that converters need not ask.
//
// Example:
//
//   Value y = emit.make<math::ExpOp>(emit.make<arith::NegFOp>(x));
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_EMITTER_H
#define WEFT_LIB_IMPORT_EMITTER_H

#include "weft/IR/WeftOps.h"

#include "mlir/IR/Builders.h"

#include <optional>
#include <string>

namespace weft::stablehlo {

using Shape = llvm::SmallVector<int64_t>;

class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    if ((isNull(args) || ...))
      return {};
    return finish(Op::create(builder, loc, std::forward<Args>(args)...));
  }

  /// The complaint of the verifier about an op that could not be made.
  const std::string &complaint() const { return complaintText; }

  /// `value` for every element of a tensor: an integer, or a floating-point
  /// number where the type has such elements.
  mlir::Value splat(mlir::RankedTensorType type, double value);
  mlir::Value splat(mlir::RankedTensorType type, mlir::TypedAttr value);
  /// `true`, `2`, ... of a type as that of `like`.
  mlir::Value splatLike(mlir::Value like, double value);

  // Shorthands for ops along dimensions; what changes nothing is left out.
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);
  /// A scalar in every element of a tensor; other tensors as they are.
  mlir::Value broadcastScalar(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> dims);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> limits,
                    llvm::ArrayRef<int64_t> strides = {});
  mlir::Value concat(mlir::ValueRange parts, int64_t dim);
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                   int64_t dim);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  template <typename T> static bool isNull(const T &argument) {
    if constexpr (std::is_same_v<T, mlir::Value>)
      return !argument;
    else if constexpr (std::is_same_v<T, mlir::ValueRange>)
      return llvm::is_contained(argument, mlir::Value());
    else
      return false;
  }

  mlir::Value finish(mlir::Operation *op);

  std::string complaintText;
};

/// The type of a value; a null value has none.
mlir::RankedTensorType typeOf(mlir::Value value);

/// The elements of a constant; null of another value, or of none.
mlir::Attribute getConstant(mlir::Value value);
/// The element that all elements of a constant are; null if there is none.
mlir::TypedAttr getSplat(mlir::Value value);
/// As a number, for integers.
std::optional<int64_t> getSplatInteger(mlir::Value value);

/// Whether no element of the attribute is other than `value`, a zero or
/// infinity say, or the least number of an integer type.
bool isFloat(mlir::TypedAttr attr, double value);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_EMITTER_H
