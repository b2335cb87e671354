//===- WeftAttrs.h - Mesh, sharding, axes, reduction ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes name axes as the user wrote them; the algebra numbers them. The
// conversions between the two take the mesh:
//
//   Mesh mesh = findMesh(op).getMesh().toMesh();
//   FailureOr<Sharding> s = attr.toSharding(mesh);
//   ShardingAttr back = ShardingAttr::get(ctx, attr.getMesh(), mesh, *s);
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WEFTATTRS_H
#define WEFT_IR_WEFTATTRS_H

#include "weft/Cost/CollectiveKind.h"
#include "weft/Sharding/ElementMap.h"
#include "weft/Sharding/Mesh.h"
#include "weft/Sharding/Sharding.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

#include <optional>

namespace weft {

/// `sum`, `max` or `min`.
llvm::StringRef stringifyReduction(sharding::Reduction reduction);
std::optional<sharding::Reduction> symbolizeReduction(llvm::StringRef name);
/// Parses the bare keyword; the error lists the three choices.
mlir::ParseResult parseReduction(mlir::AsmParser &parser,
                                 sharding::Reduction &reduction);
/// Parses the bare keyword; the error lists the choices.
mlir::ParseResult parseCollectiveKind(mlir::AsmParser &parser,
                                      cost::CollectiveKind &kind);

} // namespace weft

#include "weft/IR/WeftEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "weft/IR/WeftAttrs.h.inc"

#endif // WEFT_IR_WEFTATTRS_H
