//===- DialectVerify.cpp - Attributes on any op ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the discardable attributes `weft.*` on functions, their
// arguments and results, and on ops of any dialect.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ValueSharding.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace weft;

/// Reports every problem of `attr` as the sharding of a value of `type`.
static LogicalResult verifySharding(Operation *op, const Twine &what,
                                    Attribute attr, Type type) {
  auto sharding = dyn_cast<ShardingAttr>(attr);
  if (!sharding)
    return op->emitError() << "sharding of " << what
                           << " must be a #weft.sharding, got " << attr;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitError() << what << " has a sharding but its type " << type
                           << " is not a ranked tensor";
  std::vector<std::string> problems =
      checkShardingAttr(op, sharding, tensor.getRank());
  for (const std::string &problem : problems)
    op->emitError() << "sharding of " << what << ": " << problem;
  return success(problems.empty());
}

/// `local` is the type of the argument or result itself.
static LogicalResult verifyGlobalType(Operation *op, const Twine &what,
                                      Attribute attr, Type local) {
  auto typeAttr = dyn_cast<TypeAttr>(attr);
  auto global = typeAttr ? dyn_cast<RankedTensorType>(typeAttr.getValue())
                         : RankedTensorType();
  if (!global || !global.hasStaticShape())
    return op->emitError() << WeftDialect::kGlobalTypeAttrName << " of " << what
                           << " must be a static ranked tensor type, got "
                           << attr;
  auto tensor = dyn_cast<RankedTensorType>(local);
  if (!tensor || tensor.getRank() != global.getRank() ||
      tensor.getElementType() != global.getElementType())
    return op->emitError() << WeftDialect::kGlobalTypeAttrName << " of " << what
                           << " must have the rank and element type of "
                           << local << ", got " << global;
  return success();
}

/// Attributes that arguments and results have in common.
static LogicalResult verifyValueAttribute(Operation *op, const Twine &what,
                                          NamedAttribute attr, Type type) {
  StringRef name = attr.getName();
  if (name == WeftDialect::kShardingAttrName)
    return verifySharding(op, what, attr.getValue(), type);
  if (name == WeftDialect::kGlobalTypeAttrName)
    return verifyGlobalType(op, what, attr.getValue(), type);
  if (name == WeftDialect::kNameAttrName) {
    auto text = dyn_cast<StringAttr>(attr.getValue());
    if (!text || text.empty())
      return op->emitError() << name << " of " << what
                             << " must be a string with at least one character";
    return success();
  }
  if (name == WeftDialect::kShardingsAttrName)
    return op->emitError() << name << " is for ops; " << what
                           << " takes weft.sharding";
  return success();
}

LogicalResult WeftDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned index,
                                                    NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyValueAttribute(op, "argument " + Twine(index), attr,
                              function.getArgumentTypes()[index]);
}

LogicalResult WeftDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                       unsigned index,
                                                       NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyValueAttribute(op, "result " + Twine(index), attr,
                              function.getResultTypes()[index]);
}

/// One sharding for each result of the op.
static LogicalResult verifyShardings(Operation *op, Attribute attr) {
  auto shardings = dyn_cast<ArrayAttr>(attr);
  if (!shardings)
    return op->emitError() << WeftDialect::kShardingsAttrName
                           << " must be an array of #weft.sharding, got "
                           << attr;
  if (shardings.size() != op->getNumResults())
    return op->emitError() << WeftDialect::kShardingsAttrName
                           << " must have one sharding for each of the op's "
                           << op->getNumResults() << " results, got "
                           << shardings.size();
  bool legal = true;
  for (auto [index, sharding] : llvm::enumerate(shardings))
    legal &= succeeded(verifySharding(op, "result " + Twine(index), sharding,
                                      op->getResult(index).getType()));
  return success(legal);
}

LogicalResult WeftDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kShardingsAttrName)
    return verifyShardings(op, attr.getValue());
  if (name == kShardingAttrName || name == kGlobalTypeAttrName ||
      name == kNameAttrName)
    return op->emitError()
           << name << " is for arguments and results of functions, not for ops";
  if (name == kKernelAttrName && !isa<FunctionOpInterface>(op))
    return op->emitError() << name << " is for functions";
  return success();
}
