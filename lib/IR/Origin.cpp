//===- Origin.cpp - What an op is for -------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/Origin.h"

#include "weft/IR/WeftDialect.h"
#include "weft/IR/WeftOps.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace weft {

//===----------------------------------------------------------------------===//
// On ops
//===----------------------------------------------------------------------===//

OriginAttr getOrigin(Operation *op) {
  return op->getAttrOfType<OriginAttr>(WeftDialect::kOriginAttrName);
}

OriginAttr getValueOrigin(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return {};
  auto ofResults = result.getOwner()->getAttrOfType<ArrayAttr>(
      WeftDialect::kResultOriginsAttrName);
  return ofResults ? dyn_cast<OriginAttr>(ofResults[result.getResultNumber()])
                   : getOrigin(result.getOwner());
}

void setOrigin(Operation *op, OriginAttr origin) {
  if (origin)
    op->setAttr(WeftDialect::kOriginAttrName, origin);
  else
    op->removeAttr(WeftDialect::kOriginAttrName);
}

void setFusedOrigin(Operation *op, ArrayRef<Operation *> parts,
                    ArrayRef<Value> results) {
  OriginAttr all;
  for (Operation *part : parts)
    all = joinOrigins(all, withoutGradient(getOrigin(part)));
  setOrigin(op, all);
  MLIRContext *context = op->getContext();
  auto ofResults = llvm::map_to_vector(results, [&](Value result) {
    OriginAttr origin = getValueOrigin(result);
    return origin ? Attribute(origin) : Attribute(UnitAttr::get(context));
  });
  if (llvm::any_of(results,
                   [&](Value result) { return getValueOrigin(result) != all; }))
    op->setAttr(WeftDialect::kResultOriginsAttrName,
                ArrayAttr::get(context, ofResults));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool isBackward(OriginAttr origin) { return origin && origin.getBackward(); }

bool isRecomputed(OriginAttr origin) {
  return origin && origin.getRecomputed();
}

StringRef gradientOf(OriginAttr origin) {
  return origin && origin.getGradientOf() ? origin.getGradientOf().getValue()
                                          : StringRef();
}

ArrayRef<int64_t> regionsOf(OriginAttr origin) {
  return origin && origin.getRegions() ? origin.getRegions().asArrayRef()
                                       : ArrayRef<int64_t>();
}

int64_t stageOf(OriginAttr origin) { return origin ? origin.getStage() : -1; }

StagePass stagePassOf(OriginAttr origin) {
  return origin ? origin.getStagePass() : StagePass::None;
}

/// In the stage of `like`; null if nothing is said.
static OriginAttr makeOrigin(MLIRContext *context, bool backward,
                             bool recomputed, StringAttr gradient,
                             ArrayRef<int64_t> regions, OriginAttr like) {
  if (!backward && !recomputed && !gradient && regions.empty() &&
      stageOf(like) < 0)
    return {};
  auto ofRegions = regions.empty() ? DenseI64ArrayAttr()
                                   : DenseI64ArrayAttr::get(context, regions);
  return OriginAttr::get(context, backward, recomputed, gradient, ofRegions,
                         stageOf(like), stagePassOf(like));
}

static StringAttr gradientAttr(OriginAttr origin) {
  return origin ? origin.getGradientOf() : StringAttr();
}

OriginAttr withBackward(OriginAttr origin, MLIRContext *context) {
  return makeOrigin(context, true, isRecomputed(origin), gradientAttr(origin),
                    regionsOf(origin), origin);
}

OriginAttr withRecomputed(OriginAttr origin, MLIRContext *context) {
  return makeOrigin(context, isBackward(origin), true, gradientAttr(origin),
                    regionsOf(origin), origin);
}

OriginAttr withGradientOf(OriginAttr origin, StringAttr parameter) {
  return makeOrigin(parameter.getContext(), isBackward(origin),
                    isRecomputed(origin), parameter, regionsOf(origin), origin);
}

OriginAttr withoutGradient(OriginAttr origin) {
  return origin
             ? makeOrigin(origin.getContext(), isBackward(origin),
                          isRecomputed(origin), {}, regionsOf(origin), origin)
             : origin;
}

OriginAttr withRegion(OriginAttr origin, int64_t region, MLIRContext *context) {
  return makeOrigin(context, isBackward(origin), isRecomputed(origin),
                    gradientAttr(origin), region, origin);
}

OriginAttr withStage(OriginAttr origin, int64_t stage, StagePass pass,
                     MLIRContext *context) {
  return makeOrigin(
      context, isBackward(origin), isRecomputed(origin), gradientAttr(origin),
      regionsOf(origin),
      OriginAttr::get(context, false, false, {}, {}, stage, pass));
}

OriginAttr withoutStage(OriginAttr origin) {
  return origin ? makeOrigin(origin.getContext(), isBackward(origin),
                             isRecomputed(origin), gradientAttr(origin),
                             regionsOf(origin), {})
                : origin;
}

OriginAttr onlyStage(OriginAttr origin) {
  return origin ? makeOrigin(origin.getContext(), false, false, {}, {}, origin)
                : origin;
}

OriginAttr joinOrigins(OriginAttr a, OriginAttr b) {
  if (!a || !b || a == b)
    return a ? a : b;
  SmallVector<int64_t, 2> regions(regionsOf(a));
  for (int64_t region : regionsOf(b))
    if (!llvm::is_contained(regions, region))
      regions.push_back(region);
  return makeOrigin(a.getContext(), isBackward(a) || isBackward(b),
                    isRecomputed(a) || isRecomputed(b),
                    gradientAttr(a) ? gradientAttr(a) : gradientAttr(b),
                    regions, stageOf(a) >= 0 ? a : b);
}

//===----------------------------------------------------------------------===//
// What is inserted
//===----------------------------------------------------------------------===//

/// A constant is for whoever uses it, and a loop what its ops are for.
static bool hasOrigin(Operation *op) {
  return !op->hasTrait<OpTrait::ConstantLike>() && !isa<RepeatOp, YieldOp>(op);
}

void OriginListener::notifyOperationInserted(Operation *op,
                                             OpBuilder::InsertPoint) {
  if (hasOrigin(op))
    setOrigin(op, joinOrigins(getOrigin(op), origin));
}

OriginScope::OriginScope(Operation *op)
    : origin(getOrigin(op)), block(op->getBlock()), before(op->getPrevNode()),
      after(op->getNextNode()) {}

OriginScope::~OriginScope() {
  if (!origin)
    return;
  auto begin = before ? std::next(before->getIterator()) : block->begin();
  auto end = after ? after->getIterator() : block->end();
  for (Operation &inserted : llvm::make_range(begin, end))
    inserted.walk([&](Operation *op) {
      if (hasOrigin(op) && !getOrigin(op))
        setOrigin(op, origin);
    });
}

} // namespace weft
