//===- ScheduleDirectives.cpp - Syntax of the schedule ops ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleDirectives.h"
#include "Directives.h"

#include "weft/IR/WeftDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using cost::CollectiveKind;

#define GET_TYPEDEF_CLASSES
#include "weft/IR/ScheduleTypes.cpp.inc"

void WeftDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "weft/IR/ScheduleTypes.cpp.inc"
      >();
}

ParseResult weft::parseCollectiveKind(OpAsmParser &parser,
                                      CollectiveKindAttr &kind) {
  CollectiveKind value;
  if (parseCollectiveKind(static_cast<AsmParser &>(parser), value))
    return failure();
  kind = CollectiveKindAttr::get(parser.getContext(), value);
  return success();
}

void weft::printCollectiveKind(OpAsmPrinter &printer, Operation *,
                               CollectiveKindAttr kind) {
  printer << StringRef(cost::nameOf(kind.getValue()));
}

/// `keyword = 3`
static ParseResult parseNamedDim(OpAsmParser &parser, StringRef keyword,
                                 IntegerAttr &dim) {
  return failure(parser.parseKeyword(keyword) || parser.parseEqual() ||
                 parseDim(parser, dim));
}

/// `keyword <@mesh, {"a"}>`
static ParseResult parseNamedAxes(OpAsmParser &parser, StringRef keyword,
                                  AxesAttr &axes) {
  return failure(parser.parseKeyword(keyword) ||
                 parser.parseCustomAttributeWithFallback(axes));
}

ParseResult weft::parseCollectiveDetails(OpAsmParser &parser,
                                         CollectiveKindAttr kind,
                                         ReductionAttr &reduction,
                                         IntegerAttr &dim, IntegerAttr &concat,
                                         AxesAttr &axes, AxesAttr &to,
                                         ElementMapAttr &map) {
  switch (kind.getValue()) {
  case CollectiveKind::AllReduce:
    return failure(parseReduction(parser, reduction) ||
                   parseNamedAxes(parser, "over", axes));
  case CollectiveKind::AllGather:
    return failure(parseNamedDim(parser, "dim", dim) ||
                   parseNamedAxes(parser, "over", axes));
  case CollectiveKind::ReduceScatter:
    return failure(parseReduction(parser, reduction) ||
                   parseNamedDim(parser, "dim", dim) ||
                   parseNamedAxes(parser, "over", axes));
  case CollectiveKind::AllToAll:
    return failure(parseNamedDim(parser, "split", dim) ||
                   parseNamedDim(parser, "concat", concat) ||
                   parseNamedAxes(parser, "over", axes));
  case CollectiveKind::Permute:
    return failure(parseNamedAxes(parser, "from", axes) ||
                   parseNamedAxes(parser, "to", to));
  case CollectiveKind::Exchange:
    return failure(parseNamedDim(parser, "dim", dim) ||
                   parseNamedAxes(parser, "over", axes) ||
                   parser.parseKeyword("map") ||
                   parser.parseCustomAttributeWithFallback(map));
  }
  return failure();
}

void weft::printCollectiveDetails(OpAsmPrinter &printer, Operation *,
                                  CollectiveKindAttr kind,
                                  ReductionAttr reduction, IntegerAttr dim,
                                  IntegerAttr concat, AxesAttr axes,
                                  AxesAttr to, ElementMapAttr map) {
  if (reduction)
    printer << stringifyReduction(reduction.getValue()) << ' ';
  if (dim)
    printer << (concat ? "split = " : "dim = ") << dim.getInt() << ' ';
  if (concat)
    printer << "concat = " << concat.getInt() << ' ';
  printer << (to ? "from " : "over ");
  printer.printStrippedAttrOrType(axes);
  if (to) {
    printer << " to ";
    printer.printStrippedAttrOrType(to);
  }
  if (map) {
    printer << " map ";
    printer.printStrippedAttrOrType(map);
  }
}
