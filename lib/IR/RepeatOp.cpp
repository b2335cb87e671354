//===- RepeatOp.cpp - A loop of forms 3 and 4 -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  int64_t count = 0;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SmallVector<Type> types;
  if (parser.parseInteger(count))
    return failure();
  result.addAttribute(getCountAttrName(result.name),
                      builder.getI64IntegerAttr(count));
  if (succeeded(parser.parseOptionalKeyword("carry"))) {
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseAssignmentList(arguments, inits) || parser.parseColon() ||
        parser.parseLParen() || parser.parseTypeList(types) ||
        parser.parseRParen() ||
        parser.resolveOperands(inits, types, at, result.operands))
      return failure();
  }
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  result.addTypes(types);
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void RepeatOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getCount();
  if (!getInits().empty()) {
    printer << " carry (";
    llvm::interleaveComma(
        llvm::zip_equal(getBlock().getArguments(), getInits()), printer,
        [&](auto pair) {
          printer << std::get<0>(pair) << " = " << std::get<1>(pair);
        });
    printer << ") : (" << getInits().getTypes() << ')';
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getCountAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult RepeatOp::verify() {
  if (getCount() < 1)
    return emitOpError("count must be at least 1, got ") << getCount();
  if (getCount() > std::numeric_limits<int32_t>::max())
    return emitOpError("count must be at most 2147483647, got ") << getCount();
  auto check = [&](StringRef what, TypeRange types) -> LogicalResult {
    if (types == getInits().getTypes())
      return success();
    return emitOpError() << what << " must have the types of the inits, ("
                         << getInits().getTypes() << "), got (" << types << ")";
  };
  auto yield = dyn_cast<YieldOp>(getYield());
  if (!yield)
    return emitOpError("needs a block that ends with weft.yield");
  if (failed(check("results", getResultTypes())) ||
      failed(check("arguments of the block", getBlock().getArgumentTypes())))
    return failure();
  return check("values of weft.yield", yield.getOperandTypes());
}
