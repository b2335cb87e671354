//===- Origin.h - What an op is for -----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether an op belongs to a backward pass, recomputes, or makes the gradient
// of a parameter decides the type of sums, the batches of launches and the
// tables of memory. Autodiff says so in the attribute `weft.origin`
// (#weft.origin); passes keep it with an OriginScope or an OriginListener:
//
//   OriginScope scope(op);            // what is put around `op` is of its
//   origin replaceByOtherOps(op);
//
// An op that stands for several has the origin of all of them, and with
// `weft.result_origins` one for each result (unit: none).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_ORIGIN_H
#define WEFT_IR_ORIGIN_H

#include "weft/IR/WeftAttrs.h"

#include "mlir/IR/Builders.h"

namespace weft {

/// On a module whose ops have regions: for each chain the number of its regions
/// and how often it is run.
inline constexpr llvm::StringLiteral kChainsAttrName = "weft.chains";

/// On a module cut into pipeline stages: their number.
inline constexpr llvm::StringLiteral kStagesAttrName = "weft.stages";

/// The origin of an op; null for one of the forward pass.
OriginAttr getOrigin(mlir::Operation *op);
/// The origin of what makes the value: of an op that stands for several, the
/// one that makes this result. Null for an argument.
OriginAttr getValueOrigin(mlir::Value value);
void setOrigin(mlir::Operation *op, OriginAttr origin);

bool isBackward(OriginAttr origin);
bool isRecomputed(OriginAttr origin);
/// The name of the parameter that a value is the gradient of, or empty.
llvm::StringRef gradientOf(OriginAttr origin);
llvm::ArrayRef<int64_t> regionsOf(OriginAttr origin);

OriginAttr withBackward(OriginAttr origin, mlir::MLIRContext *context);
OriginAttr withRecomputed(OriginAttr origin, mlir::MLIRContext *context);
OriginAttr withGradientOf(OriginAttr origin, mlir::StringAttr parameter);
/// For what serves to make a gradient and is none.
OriginAttr withoutGradient(OriginAttr origin);
OriginAttr withRegion(OriginAttr origin, int64_t region,
                      mlir::MLIRContext *context);
/// The pipeline stage that computes an op, and -1 if none does.
int64_t stageOf(OriginAttr origin);
StagePass stagePassOf(OriginAttr origin);
OriginAttr withStage(OriginAttr origin, int64_t stage, StagePass pass,
                     mlir::MLIRContext *context);
/// Everything else.
OriginAttr withoutStage(OriginAttr origin);
/// The stage and pass alone; null if there is none.
OriginAttr onlyStage(OriginAttr origin);

/// Everything that either says; the gradient and the stage of `a`, else of `b`.
OriginAttr joinOrigins(OriginAttr a, OriginAttr b);

/// Gives an op that stands for others the origins of its parts, and its results
/// those of the values that they replace.
void setFusedOrigin(mlir::Operation *op,
                    llvm::ArrayRef<mlir::Operation *> parts,
                    llvm::ArrayRef<mlir::Value> results);

/// Adds an origin to every op that a builder inserts, but constants.
class OriginListener : public mlir::OpBuilder::Listener {
public:
  explicit OriginListener(OriginAttr origin) : origin(origin) {}

  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint previous) override;

private:
  OriginAttr origin;
};

/// Gives the ops that are inserted between the neighbours of `op` while the
/// scope lasts, and have no origin, that of `op`. The neighbours must stay.
class OriginScope {
public:
  explicit OriginScope(mlir::Operation *op);
  ~OriginScope();
  OriginScope(const OriginScope &) = delete;

private:
  OriginAttr origin;
  mlir::Block *block;
  mlir::Operation *before, *after;
};

} // namespace weft

#endif // WEFT_IR_ORIGIN_H
