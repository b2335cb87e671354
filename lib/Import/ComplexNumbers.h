//===- ComplexNumbers.h - Complex numbers as two real ones ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph has real numbers only. Before a program is read, each complex value
// inside its functions becomes two values, and each op on complex values ops on
// those; both are StableHLO.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_COMPLEXNUMBERS_H
#define WEFT_LIB_IMPORT_COMPLEXNUMBERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace weft::stablehlo {

/// The real and the imaginary part of complex numbers, of equal type.
struct Complex {
  mlir::Value real, imag;
};

/// The type of the parts of complex numbers; null for other types.
mlir::RankedTensorType partType(mlir::Type type);
inline bool isComplex(mlir::Value value) {
  return bool(partType(value.getType()));
}

/// The attributes that an op has in the text, be they properties or not.
mlir::NamedAttrList attributesOf(mlir::Operation *op);

/// Writes StableHLO ops on real numbers. Types are not checked: whatever is
/// wrong with the program is still wrong with what is written for it, and found
/// when that is read.
class RealOps {
public:
  RealOps(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value make(llvm::StringRef op, mlir::ValueRange operands,
                   mlir::Type type,
                   llvm::ArrayRef<mlir::NamedAttribute> attrs = {});
  /// An op whose result has the type of its first operand.
  mlir::Value make(llvm::StringRef op, mlir::ValueRange operands) {
    return make(op, operands, operands.front().getType());
  }
  mlir::Value constant(mlir::DenseElementsAttr value);
  mlir::Value splat(mlir::Type tensor, double value);

  Complex multiply(Complex x, Complex y);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// What an op of one result is on the parts of its operands, of real ones with
/// `imag` null; `imag` of a result that is real is null, too. None for ops that
/// have no rule, and for malformed ones.
std::optional<Complex> splitByRule(mlir::Operation &op,
                                   llvm::ArrayRef<Complex> operands,
                                   mlir::OpBuilder &builder);

/// Splits the complex values of a function. An op without a counterpart becomes
/// a `kUnreadable`. Complex arguments of public functions stay: they are a
/// problem of the signature.
void splitComplexNumbers(mlir::func::FuncOp function);

/// Stands for an op that cannot be read; its attributes `op` and `why` say
/// which and why not.
inline constexpr llvm::StringLiteral kUnreadable = "stablehlo.unreadable";

/// The results of a `stablehlo.fft` of the given operand (a real one for a
/// transform of type RFFT, as `imag` null): discrete Fourier transforms as
/// products with matrices, of long dimensions in steps (J. Cooley and J. Tukey,
/// "An algorithm for the machine calculation of complex Fourier series", 1965).
/// The imaginary part is null for IRFFT. None if the op is malformed, or a
/// length has a prime factor above `kMaxFourierFactor`.
std::optional<Complex> expandFourierTransform(mlir::Operation *op,
                                              Complex operand, RealOps &ops);
inline constexpr int64_t kMaxFourierFactor = 512;

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_COMPLEXNUMBERS_H
