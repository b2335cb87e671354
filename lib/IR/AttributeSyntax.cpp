//===- AttributeSyntax.cpp - Parsers and printers of attributes -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/WeftAttrs.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace weft;
using sharding::Reduction;

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

StringRef weft::stringifyReduction(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return "sum";
  case Reduction::Max:
    return "max";
  case Reduction::Min:
    return "min";
  }
  llvm_unreachable("all reductions are covered");
}

std::optional<Reduction> weft::symbolizeReduction(StringRef name) {
  for (Reduction r : {Reduction::Sum, Reduction::Max, Reduction::Min})
    if (name == stringifyReduction(r))
      return r;
  return std::nullopt;
}

ParseResult weft::parseReduction(AsmParser &parser, Reduction &reduction) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (failed(parser.parseOptionalKeyword(&keyword)))
    return parser.emitError(loc, "expected a reduction: sum, max or min");
  std::optional<Reduction> found = symbolizeReduction(keyword);
  if (!found)
    return parser.emitError(loc)
           << "expected a reduction: sum, max or min, got \"" << keyword
           << "\"";
  reduction = *found;
  return success();
}

Attribute ReductionAttr::parse(AsmParser &parser, Type) {
  Reduction value;
  if (parser.parseLess() || parseReduction(parser, value) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), value);
}

void ReductionAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyReduction(getValue()) << ">";
}

//===----------------------------------------------------------------------===//
// Collective kind
//===----------------------------------------------------------------------===//

ParseResult weft::parseCollectiveKind(AsmParser &parser,
                                      cost::CollectiveKind &kind) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (failed(parser.parseOptionalKeyword(&keyword)))
    return parser.emitError(loc, "expected a kind of collective");
  std::optional<cost::CollectiveKind> found = cost::findCollectiveKind(keyword);
  if (!found)
    return parser.emitError(loc)
           << "unknown collective '" << keyword
           << "'; expected all_reduce, all_gather, reduce_scatter, all_to_all, "
              "permute or exchange";
  kind = *found;
  return success();
}

Attribute CollectiveKindAttr::parse(AsmParser &parser, Type) {
  cost::CollectiveKind value;
  if (parser.parseLess() || parseCollectiveKind(parser, value) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), value);
}

void CollectiveKindAttr::print(AsmPrinter &printer) const {
  printer << "<" << StringRef(cost::nameOf(getValue())) << ">";
}

//===----------------------------------------------------------------------===//
// Element map
//===----------------------------------------------------------------------===//

/// `[16, 16]`
static ParseResult parseParts(AsmParser &parser,
                              SmallVectorImpl<int64_t> &parts) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(parts.emplace_back());
  });
}

/// `0 to 0 for 192 by -1`
static ParseResult parseRun(AsmParser &parser, SmallVectorImpl<int64_t> &runs) {
  int64_t from, to, length, step = 1;
  if (parser.parseInteger(from) || parser.parseKeyword("to") ||
      parser.parseInteger(to) || parser.parseKeyword("for") ||
      parser.parseInteger(length) ||
      (succeeded(parser.parseOptionalKeyword("by")) &&
       parser.parseInteger(step)))
    return failure();
  runs.append({from, to, length, step});
  return success();
}

Attribute ElementMapAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> from, to, runs;
  if (parser.parseLess() || parseParts(parser, from) ||
      parser.parseKeyword("to") || parseParts(parser, to))
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parseRun(parser, runs))
      return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), from, to, runs);
}

void ElementMapAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getFrom(), printer);
  printer << "] to [";
  llvm::interleaveComma(getTo(), printer);
  printer << "]";
  for (const sharding::ElementRun &run : toMap().runs) {
    printer << ", " << run.from << " to " << run.to << " for " << run.length;
    if (run.step != 1)
      printer << " by " << run.step;
  }
  printer << ">";
}

ElementMapAttr ElementMapAttr::get(MLIRContext *context,
                                   const sharding::ElementMap &map) {
  SmallVector<int64_t> runs;
  for (const sharding::ElementRun &run : map.runs)
    runs.append({run.from, run.to, run.length, run.step});
  return get(context, map.from, map.to, runs);
}

sharding::ElementMap ElementMapAttr::toMap() const {
  sharding::ElementMap map{getFrom().vec(), getTo().vec(), {}};
  for (size_t i = 0; i + 3 < getRuns().size(); i += 4) {
    ArrayRef<int64_t> run = getRuns().slice(i, 4);
    map.runs.push_back({run[0], run[1], run[2], run[3]});
  }
  return map;
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  SMLoc loc = parser.getCurrentLocation();
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    int64_t size;
    if (parser.parseString(&name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    axes.push_back(MeshAxisAttr::get(parser.getContext(), name, size));
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    ArrayRef<MeshAxisAttr>(axes));
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer, [&](MeshAxisAttr axis) {
    printer.printString(axis.getName());
    printer << "=" << axis.getSize();
  });
  printer << "]>";
}

//===----------------------------------------------------------------------===//
// Lists of axes
//===----------------------------------------------------------------------===//

/// `"x"` or `"x":(2)4`.
static ParseResult parseAxisRef(AsmParser &parser,
                                SmallVectorImpl<AxisRefAttr> &axes) {
  std::string name;
  if (parser.parseString(&name))
    return failure();
  int64_t pre = 1, size = 0;
  if (succeeded(parser.parseOptionalColon())) {
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseInteger(pre) ||
        parser.parseRParen() || parser.parseInteger(size))
      return failure();
    if (pre < 1 || size < 1)
      return parser.emitError(loc)
             << "both numbers of a sub-axis must be at least 1, got (" << pre
             << ")" << size;
  }
  axes.push_back(AxisRefAttr::get(parser.getContext(), name, pre, size));
  return success();
}

static void printAxisRef(AsmPrinter &printer, AxisRefAttr axis) {
  printer.printString(axis.getName());
  if (!axis.isFullAxis())
    printer << ":(" << axis.getPre() << ")" << axis.getSize();
}

/// `{"x", "y"}`.
static ParseResult parseAxisList(AsmParser &parser,
                                 SmallVectorImpl<AxisRefAttr> &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Braces, [&] { return parseAxisRef(parser, axes); });
}

static void printAxisList(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes) {
  printer << "{";
  llvm::interleaveComma(axes, printer,
                        [&](AxisRefAttr axis) { printAxisRef(printer, axis); });
  printer << "}";
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<AxisRefAttr> axes;
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() || parseAxisList(parser, axes) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), mesh, axes);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", ";
  printAxisList(printer, getAxes());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// The `p1` after a dimension, if any.
static ParseResult parsePriority(AsmParser &parser,
                                 std::optional<int64_t> &priority) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (failed(parser.parseOptionalKeyword(&keyword)))
    return success();
  int64_t value;
  if (!keyword.consume_front("p") || keyword.getAsInteger(10, value))
    return parser.emitError(loc, "expected a priority such as p1");
  priority = value;
  return success();
}

/// `{"a", "b", ?}p1`.
static ParseResult parseDim(AsmParser &parser,
                            SmallVectorImpl<DimShardingAttr> &dims) {
  SmallVector<AxisRefAttr> axes;
  bool closed = true;
  auto parseElement = [&]() -> ParseResult {
    if (!closed)
      return parser.emitError(parser.getCurrentLocation(),
                              "expected '?' to be last in its dimension");
    if (succeeded(parser.parseOptionalQuestion())) {
      closed = false;
      return success();
    }
    return parseAxisRef(parser, axes);
  };
  std::optional<int64_t> priority;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                     parseElement) ||
      parsePriority(parser, priority))
    return failure();
  dims.push_back(
      DimShardingAttr::get(parser.getContext(), axes, closed, priority));
  return success();
}

static void printDim(AsmPrinter &printer, DimShardingAttr dim) {
  printer << "{";
  llvm::ListSeparator separator;
  for (AxisRefAttr axis : dim.getAxes()) {
    printer << StringRef(separator);
    printAxisRef(printer, axis);
  }
  if (!dim.getIsClosed())
    printer << StringRef(separator) << "?";
  printer << "}";
  if (dim.getPriority())
    printer << "p" << *dim.getPriority();
}

/// `, replicated={...}, unreduced=max{...}`, both optional.
static ParseResult parseClauses(AsmParser &parser,
                                SmallVectorImpl<AxisRefAttr> &replicated,
                                SmallVectorImpl<AxisRefAttr> &unreduced,
                                Reduction &kind) {
  bool hasReplicated = false, hasUnreduced = false;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    if (!hasReplicated && !hasUnreduced &&
        succeeded(parser.parseOptionalKeyword("replicated"))) {
      hasReplicated = true;
      if (parser.parseEqual() || parseAxisList(parser, replicated))
        return failure();
    } else if (!hasUnreduced &&
               succeeded(parser.parseOptionalKeyword("unreduced"))) {
      hasUnreduced = true;
      if (parser.parseEqual())
        return failure();
      StringRef keyword;
      SMLoc kindLoc = parser.getCurrentLocation();
      if (succeeded(parser.parseOptionalKeyword(&keyword))) {
        std::optional<Reduction> found = symbolizeReduction(keyword);
        if (!found)
          return parser.emitError(kindLoc)
                 << "expected a reduction: sum, max or min, got \"" << keyword
                 << "\"";
        kind = *found;
      }
      if (parseAxisList(parser, unreduced))
        return failure();
    } else {
      return parser.emitError(
          loc, "expected 'replicated', then 'unreduced', each at most once");
    }
  }
  return success();
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  Reduction kind = Reduction::Sum;
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseDim(parser, dims); }) ||
      parseClauses(parser, replicated, unreduced, kind) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), mesh, dims, replicated, unreduced, kind);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer,
                        [&](DimShardingAttr dim) { printDim(printer, dim); });
  printer << "]";
  if (!getReplicated().empty()) {
    printer << ", replicated=";
    printAxisList(printer, getReplicated());
  }
  if (!getUnreduced().empty()) {
    printer << ", unreduced=";
    if (getUnreducedKind() != Reduction::Sum)
      printer << stringifyReduction(getUnreducedKind());
    printAxisList(printer, getUnreduced());
  }
  printer << ">";
}
