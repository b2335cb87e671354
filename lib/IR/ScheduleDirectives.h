//===- ScheduleDirectives.h - Syntax of the schedule ops --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsers and printers of the `custom<...>` directives in the assembly formats
// of form 4. Included by the op definitions only.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IR_SCHEDULEDIRECTIVES_H
#define WEFT_LIB_IR_SCHEDULEDIRECTIVES_H

#include "weft/IR/ScheduleTypes.h"
#include "weft/IR/WeftAttrs.h"

namespace weft {

/// CollectiveKind: the bare keyword, as in the name of the op of form 3.
mlir::ParseResult parseCollectiveKind(mlir::OpAsmParser &parser,
                                      CollectiveKindAttr &kind);
void printCollectiveKind(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                         CollectiveKindAttr kind);

/// CollectiveDetails: what follows the operand, by kind.
///   all_reduce       sum over <@mesh, {"a"}>
///   all_gather       dim = 0 over <@mesh, {"a"}>
///   reduce_scatter   sum dim = 0 over <@mesh, {"a"}>
///   all_to_all       split = 0 concat = 1 over <@mesh, {"a"}>
///   permute          from <@mesh, {"a"}> to <@mesh, {"b"}>
///   exchange         dim = 0 over <@mesh, {"a"}> map <[4] to [2], ...>
mlir::ParseResult
parseCollectiveDetails(mlir::OpAsmParser &parser, CollectiveKindAttr kind,
                       ReductionAttr &reduction, mlir::IntegerAttr &dim,
                       mlir::IntegerAttr &concat, AxesAttr &axes, AxesAttr &to,
                       ElementMapAttr &map);
void printCollectiveDetails(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                            CollectiveKindAttr kind, ReductionAttr reduction,
                            mlir::IntegerAttr dim, mlir::IntegerAttr concat,
                            AxesAttr axes, AxesAttr to, ElementMapAttr map);

} // namespace weft

#endif // WEFT_LIB_IR_SCHEDULEDIRECTIVES_H
