//===- Directives.h - Custom parts of assembly formats ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsers and printers of the `custom<...>` directives in the ops' assembly
// formats. Included by WeftDialect's op definitions only.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IR_DIRECTIVES_H
#define WEFT_LIB_IR_DIRECTIVES_H

#include "weft/IR/WeftAttrs.h"

namespace weft {

/// Reduction: the bare keyword `sum`, `max` or `min`.
mlir::ParseResult parseReduction(mlir::OpAsmParser &parser,
                                 ReductionAttr &kind);
void printReduction(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                    ReductionAttr kind);

/// Dim: an integer with no type.
mlir::ParseResult parseDim(mlir::OpAsmParser &parser, mlir::IntegerAttr &dim);
void printDim(mlir::OpAsmPrinter &printer, mlir::Operation *op,
              mlir::IntegerAttr dim);

/// Batching: `batching = [0] x [0]`; absent when empty.
mlir::ParseResult parseBatching(mlir::OpAsmParser &parser,
                                mlir::DenseI64ArrayAttr &operandDims,
                                mlir::DenseI64ArrayAttr &indicesDims);
void printBatching(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   mlir::DenseI64ArrayAttr operandDims,
                   mlir::DenseI64ArrayAttr indicesDims);

/// DotDims: `batching = [0] x [0] contracting = [2] x [1]`; the batching clause
/// is absent when empty.
mlir::ParseResult parseDotDims(mlir::OpAsmParser &parser,
                               mlir::DenseI64ArrayAttr &lhsBatching,
                               mlir::DenseI64ArrayAttr &rhsBatching,
                               mlir::DenseI64ArrayAttr &lhsContracting,
                               mlir::DenseI64ArrayAttr &rhsContracting);
void printDotDims(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                  mlir::DenseI64ArrayAttr lhsBatching,
                  mlir::DenseI64ArrayAttr rhsBatching,
                  mlir::DenseI64ArrayAttr lhsContracting,
                  mlir::DenseI64ArrayAttr rhsContracting);

} // namespace weft

#endif // WEFT_LIB_IR_DIRECTIVES_H
