//===- ObservedValues.h - Values left to be compared ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a program that is to be verified, values of the graph are results: what
// the ranks made of each is then compared with what one device makes of the
// same operands. An op of the graph says so in `weft.numbered`, which
// --weft-number-values sets:
//
//   %c = weft.dot_general ... {weft.numbered = {number = 3 : i64,
//       kind = "sum", terms = 512 : i64, types = [tensor<4x8xf32>]}}
//
// and a result of a function that is such a value in `weft.observed`, which
// --weft-observe-values sets:
//
//   {weft.observed = {order = 5 : i64, number = 3 : i64, kind = "sum",
//       terms = 512 : i64, name = "weft.dot_general (mlp.mlir:7)",
//       sources = array<i64: 0, 4>}}
//
// A value in another sharding has the number of the value, and the kind
// "moved". One that each micro-batch has is a result for all of them, stacked
// along a new first dimension.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_OBSERVEDVALUES_H
#define WEFT_IR_OBSERVEDVALUES_H

#include "weft/IR/Microbatches.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>
#include <string>

namespace weft {

inline constexpr llvm::StringLiteral kNumberedAttrName = "weft.numbered";
inline constexpr llvm::StringLiteral kObservedAttrName = "weft.observed";

/// How near the ranks must come to one device, with the same operands.
enum class ObservedKind : uint8_t {
  /// It is its source in another sharding: the same bits, or its partial sums
  /// added up in some order.
  Moved,
  /// Each element has a few roundings.
  Element,
  /// Each element is a sum, in any order.
  Sum,
  /// Attention, whose errors are those of its largest elements.
  Attention,
};

/// What is said of the results of an op of the graph. They have successive
/// numbers.
struct NumberedOp {
  int64_t number = 0;
  ObservedKind kind = ObservedKind::Element;
  /// Of a sum, how many are added up.
  int64_t terms = 0;
  /// Before dimensions were padded.
  llvm::SmallVector<mlir::RankedTensorType, 1> types;
};

/// What is said of a result that is a value of the graph.
struct ObservedValue {
  /// Its place among the observed values of the function, sources first.
  int64_t order = 0;
  int64_t number = 0;
  ObservedKind kind = ObservedKind::Element;
  int64_t terms = 0;
  /// The op with its line, or the cause of a movement.
  std::string name;
  /// The places of those that it is made of.
  llvm::SmallVector<int64_t> sources;
};

std::optional<NumberedOp> getNumbered(mlir::Operation *op);
void setNumbered(mlir::Operation *op, const NumberedOp &numbered);

/// The type of what each micro-batch of `loop` has in `type`, for all of them;
/// `type` itself without a loop.
mlir::RankedTensorType typeOfAll(mlir::RankedTensorType type,
                                 MicrobatchesAttr loop);
/// The value of each micro-batch of `loop`, for all of them.
mlir::Value stackAll(mlir::OpBuilder &builder, mlir::Value value,
                     MicrobatchesAttr loop);

std::optional<ObservedValue> getObserved(mlir::func::FuncOp function,
                                         unsigned result);
mlir::Attribute toAttr(const ObservedValue &value, mlir::MLIRContext *context);

/// Names of results and arguments that verification makes: of a plan the
/// observed value at a place, of its reference the value of a number, and the
/// argument that stands for it.
std::string observedName(int64_t order);
std::string valueName(int64_t number);
std::string givenName(int64_t number);

/// What is wrong with `attr` as `weft.numbered` of an op with so many results,
/// or as `weft.observed`; empty if nothing.
std::string checkNumbered(mlir::Attribute attr, unsigned results);
std::string checkObserved(mlir::Attribute attr);

} // namespace weft

#endif // WEFT_IR_OBSERVEDVALUES_H
