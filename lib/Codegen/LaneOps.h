//===- LaneOps.h - Scalar operations on lanes -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalar operations of a linalg region, applied to lanes.
//
// A value in an emitted kernel is either one number (the same for all lanes) or
// a vector of `width` numbers. LaneOps clones an operation at the width of its
// operands, spreads numbers where it meets vectors, computes bf16 and f16 in
// f32, expands transcendental functions and makes integer operations total.
//
// `index` is carried as i64, bf16 and f16 as the i16 of their bits: LLVM must
// not compute with them, for it would form operations on them (such as `fabs`
// from `and`) that x86 can only carry out by calling a library. GPUs have
// instructions that convert them, which `convertsNarrowFloats` asks for; what
// these make of a NaN is 0x7fff, without its sign.

#ifndef WEFT_LIB_CODEGEN_LANEOPS_H
#define WEFT_LIB_CODEGEN_LANEOPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace weft {

class MathCalls;

/// Numbers a vector of a CPU holds. Fixed for every processor, because the
/// order in which a row is summed depends on it.
inline constexpr int64_t laneCount = 16;

class LaneOps {
public:
  LaneOps(mlir::OpBuilder &builder, mlir::Location loc,
          int64_t width = laneCount)
      : width(width), b(builder), loc(loc) {}

  /// Numbers that a vector holds, a power of two. It may change between values
  /// that are not used together.
  int64_t width;
  /// Whether the machine converts bf16 and f16, and has registers of two.
  bool convertsNarrowFloats = false;
  /// Where the functions are that are called; null if all are inlined.
  MathCalls *calls = nullptr;

  /// Fails with a diagnostic if kernels cannot contain `op`.
  static mlir::LogicalResult check(mlir::Operation *op);

  /// The value of `op` for these operands. Defined for all of them, and so in
  /// lanes that are off, too.
  mlir::Value apply(mlir::Operation *op, mlir::ValueRange operands);
  /// The same for an op that may have several results.
  llvm::SmallVector<mlir::Value> applyAll(mlir::Operation *op,
                                          mlir::ValueRange operands);

  /// `value` in every lane, if it is not a vector already.
  mlir::Value spread(mlir::Value value);

  /// The type of the values that stand for numbers of type `element`.
  static mlir::Type carrier(mlir::Type element);
  static mlir::TypedAttr carry(mlir::TypedAttr number);

  /// The constant `value` as it is carried, in every lane if `lanes`.
  mlir::Value constant(mlir::TypedAttr value, bool lanes = false);
  mlir::Value i64(int64_t value);
  /// The vector 0, 1, 2, ... of i64.
  mlir::Value laneNumbers();

  /// mask ? x : y, spread as needed; x if mask is null.
  mlir::Value select(mlir::Value mask, mlir::Value x, mlir::Value y);

  /// Reduces the lanes to one number by halving: lane i is combined with lane
  /// i + width / 2, then with i + width / 4, and so on.
  mlir::Value reduceLanes(mlir::Operation *combiner, mlir::Value lanes);

  static bool isLanes(mlir::Value value) {
    return llvm::isa<mlir::VectorType>(value.getType());
  }

private:
  /// The number in f32 that stands for one of 16 bits, and the other way.
  mlir::Value widen(mlir::Value value, mlir::Type element);
  mlir::Value narrow(mlir::Value value, mlir::Type element);
  mlir::Value narrowByMachine(mlir::Value value, mlir::Type element);
  mlir::Value extendBf16(mlir::Value value);
  mlir::Value extendBf16Pairs(mlir::Value value);
  mlir::Value truncateToBf16(mlir::Value value);
  mlir::Value cloneAt(mlir::Operation *op, mlir::ValueRange operands,
                      mlir::Type element);
  mlir::Value castInteger(mlir::Value value, mlir::Type element, bool isSigned);
  mlir::Type shaped(mlir::Type element, bool lanes) {
    return lanes ? mlir::VectorType::get({width}, element) : element;
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_LANEOPS_H
