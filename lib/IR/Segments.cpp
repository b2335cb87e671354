//===- Segments.cpp - Entries that roles execute together -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/Segments.h"

#include "weft/IR/SourceLocation.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftDialect.h"

using namespace mlir;

namespace weft {

SegmentAttr getSegment(func::FuncOp function) {
  return function->getAttrOfType<SegmentAttr>(WeftDialect::kSegmentAttrName);
}

int64_t roleOf(func::FuncOp function) {
  SegmentAttr segment = getSegment(function);
  return segment ? segment.getRole() : -1;
}

bool canBeDeferred(func::FuncOp function) {
  SegmentAttr segment = getSegment(function);
  if (!segment)
    return false;
  StringRef action = segment.getAction().getValue();
  return action.contains("UNSHARD") || action.ends_with("REDUCE_GRAD");
}

bool isOfMicrobatch(func::FuncOp function) {
  SegmentAttr segment = getSegment(function);
  // Levels end with their number.
  return segment && !canBeDeferred(function) &&
         !llvm::isDigit(segment.getAction().getValue().back());
}

TimelineAttr getTimeline(func::FuncOp function) {
  return function->getAttrOfType<TimelineAttr>(WeftDialect::kTimelineAttrName);
}

int64_t slotsOf(DictionaryAttr attrs) {
  auto slots = attrs ? attrs.getAs<IntegerAttr>(WeftDialect::kSlotsAttrName)
                     : IntegerAttr();
  return slots ? slots.getInt() : 1;
}

std::string lineOf(func::FuncOp segment, StringRef state) {
  Block &block = segment.front();
  for (OpOperand &result : block.getTerminator()->getOpOperands())
    if (!state.empty() &&
        getResultName(segment, result.getOperandNumber()) == state)
      if (std::string line = locationText(result.get().getLoc()); !line.empty())
        return line;
  for (Operation &op : block.without_terminator())
    if (std::string line = locationText(op.getLoc());
        !line.empty() && !op.hasTrait<OpTrait::ConstantLike>())
      return line;
  return "";
}

llvm::SmallVector<func::FuncOp> findTimelines(ModuleOp module) {
  SmallVector<func::FuncOp> timelines;
  for (auto function : module.getOps<func::FuncOp>())
    if (getTimeline(function))
      timelines.push_back(function);
  return timelines;
}

} // namespace weft
