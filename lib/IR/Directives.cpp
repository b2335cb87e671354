//===- Directives.cpp - Custom parts of assembly formats ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Directives.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

ParseResult weft::parseReduction(OpAsmParser &parser, ReductionAttr &kind) {
  sharding::Reduction value;
  if (parseReduction(static_cast<AsmParser &>(parser), value))
    return failure();
  kind = ReductionAttr::get(parser.getContext(), value);
  return success();
}

void weft::printReduction(OpAsmPrinter &printer, Operation *,
                          ReductionAttr kind) {
  printer << stringifyReduction(kind.getValue());
}

ParseResult weft::parseDim(OpAsmParser &parser, IntegerAttr &dim) {
  int64_t value;
  if (parser.parseInteger(value))
    return failure();
  dim = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}

void weft::printDim(OpAsmPrinter &printer, Operation *, IntegerAttr dim) {
  printer << dim.getInt();
}

/// `[0, 1] x [0, 2]`.
static ParseResult parseDimPair(OpAsmParser &parser, DenseI64ArrayAttr &lhs,
                                DenseI64ArrayAttr &rhs) {
  auto parseDims = [&](DenseI64ArrayAttr &dims) -> ParseResult {
    SmallVector<int64_t> values;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
          return parser.parseInteger(values.emplace_back());
        }))
      return failure();
    dims = parser.getBuilder().getDenseI64ArrayAttr(values);
    return success();
  };
  return failure(parser.parseEqual() || parseDims(lhs) ||
                 parser.parseKeyword("x") || parseDims(rhs));
}

static void printDimPair(OpAsmPrinter &printer, StringRef keyword,
                         DenseI64ArrayAttr lhs, DenseI64ArrayAttr rhs) {
  printer << keyword << " = [";
  llvm::interleaveComma(lhs.asArrayRef(), printer);
  printer << "] x [";
  llvm::interleaveComma(rhs.asArrayRef(), printer);
  printer << "]";
}

ParseResult weft::parseBatching(OpAsmParser &parser,
                                DenseI64ArrayAttr &operandDims,
                                DenseI64ArrayAttr &indicesDims) {
  operandDims = indicesDims = parser.getBuilder().getDenseI64ArrayAttr({});
  if (failed(parser.parseOptionalKeyword("batching")))
    return success();
  return parseDimPair(parser, operandDims, indicesDims);
}

void weft::printBatching(OpAsmPrinter &printer, Operation *,
                         DenseI64ArrayAttr operandDims,
                         DenseI64ArrayAttr indicesDims) {
  if (!operandDims.empty() || !indicesDims.empty())
    printDimPair(printer, "batching", operandDims, indicesDims);
}

ParseResult weft::parseDotDims(OpAsmParser &parser,
                               DenseI64ArrayAttr &lhsBatching,
                               DenseI64ArrayAttr &rhsBatching,
                               DenseI64ArrayAttr &lhsContracting,
                               DenseI64ArrayAttr &rhsContracting) {
  return failure(parseBatching(parser, lhsBatching, rhsBatching) ||
                 parser.parseKeyword("contracting") ||
                 parseDimPair(parser, lhsContracting, rhsContracting));
}

void weft::printDotDims(OpAsmPrinter &printer, Operation *op,
                        DenseI64ArrayAttr lhsBatching,
                        DenseI64ArrayAttr rhsBatching,
                        DenseI64ArrayAttr lhsContracting,
                        DenseI64ArrayAttr rhsContracting) {
  printBatching(printer, op, lhsBatching, rhsBatching);
  if (!lhsBatching.empty() || !rhsBatching.empty())
    printer << " ";
  printDimPair(printer, "contracting", lhsContracting, rhsContracting);
}
