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

#include "weft/IR/AxisProvenance.h"
#include "weft/IR/MeshDevices.h"
#include "weft/IR/ObservedValues.h"
#include "weft/IR/OperandShardings.h"
#include "weft/IR/Reasons.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace weft;

namespace {

/// An argument or result, as messages speak of it.
struct Subject {
  Operation *op;
  std::string what;
  Location loc;
  Type type;

  InFlightDiagnostic error() const { return emitError(loc); }
};

} // namespace

static std::string quotedName(DictionaryAttr attrs) {
  auto name = attrs ? attrs.getAs<StringAttr>(WeftDialect::kNameAttrName)
                    : StringAttr();
  return name && !name.empty() ? " \"" + name.str() + "\"" : "";
}

static Subject argumentOf(FunctionOpInterface function, unsigned index) {
  Location loc = function.isExternal() ? function.getLoc()
                                       : function.getArgument(index).getLoc();
  return {function,
          "argument " + std::to_string(index) +
              quotedName(function.getArgAttrDict(index)),
          loc, function.getArgumentTypes()[index]};
}

static Subject resultOf(FunctionOpInterface function, unsigned index) {
  return {function,
          "result " + std::to_string(index) +
              quotedName(function.getResultAttrDict(index)),
          function.getLoc(), function.getResultTypes()[index]};
}

/// Reports every problem of `attr` as the sharding of the subject.
static LogicalResult verifySharding(const Subject &subject, Attribute attr) {
  auto sharding = dyn_cast<ShardingAttr>(attr);
  if (!sharding)
    return subject.error() << "sharding of " << subject.what
                           << " must be a #weft.sharding, got " << attr;
  auto tensor = dyn_cast<RankedTensorType>(subject.type);
  if (!tensor)
    return subject.error() << subject.what << " has a sharding but its type "
                           << subject.type << " is not a ranked tensor";
  std::vector<std::string> problems =
      checkShardingAttr(subject.op, sharding, tensor.getRank());
  for (const std::string &problem : problems)
    subject.error() << "sharding of " << subject.what << ": " << problem;
  return success(problems.empty());
}

/// The subject's own type is the local one.
static LogicalResult verifyGlobalType(const Subject &subject, Attribute attr) {
  auto typeAttr = dyn_cast<TypeAttr>(attr);
  auto global = typeAttr ? dyn_cast<RankedTensorType>(typeAttr.getValue())
                         : RankedTensorType();
  if (!global || !global.hasStaticShape())
    return subject.error() << WeftDialect::kGlobalTypeAttrName << " of "
                           << subject.what
                           << " must be a static ranked tensor type, got "
                           << attr;
  auto tensor = dyn_cast<RankedTensorType>(subject.type);
  if (!tensor || tensor.getRank() != global.getRank() ||
      tensor.getElementType() != global.getElementType())
    return subject.error() << WeftDialect::kGlobalTypeAttrName << " of "
                           << subject.what
                           << " must have the rank and element type of "
                           << subject.type << ", got " << global;
  return success();
}

static LogicalResult verifyProvenance(const Subject &subject, Attribute attr) {
  if (std::string problem = checkProvenance(attr); !problem.empty())
    return subject.error() << kProvenanceAttrName << " of " << subject.what
                           << " " << problem;
  return success();
}

/// Names are keys: of tensors in files, and before the "=" of command lines.
static LogicalResult verifyName(const Subject &subject, StringRef name) {
  if (name == "__metadata__")
    return subject.error()
           << "weft.name of an argument or result must not be "
              "\"__metadata__\", which files of tensors reserve";
  for (unsigned char c : name)
    if (c < 0x20 || c == 0x7f || c == '=')
      return subject.error()
             << "weft.name of an argument or result must hold no \"=\" and no "
                "control characters, got 0x"
             << llvm::utohexstr(c) << " in "
             << StringAttr::get(subject.op->getContext(), name);
  return success();
}

/// Attributes that arguments and results have in common.
static LogicalResult verifyValueAttribute(const Subject &subject,
                                          NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == WeftDialect::kShardingAttrName)
    return verifySharding(subject, attr.getValue());
  if (name == WeftDialect::kGlobalTypeAttrName)
    return verifyGlobalType(subject, attr.getValue());
  if (name == kProvenanceAttrName)
    return verifyProvenance(subject, attr.getValue());
  if (name == WeftDialect::kNameAttrName) {
    auto text = dyn_cast<StringAttr>(attr.getValue());
    if (!text || text.empty())
      return subject.error() << name << " of " << subject.what
                             << " must be a string with at least one character";
    return verifyName(subject, text.getValue());
  }
  if (name == WeftDialect::kParameterAttrName) {
    if (subject.what.starts_with("result"))
      return subject.error()
             << name << " is for arguments, not for " << subject.what;
    if (!isa<UnitAttr>(attr.getValue()))
      return subject.error()
             << name << " of " << subject.what
             << " must be a unit attribute, got " << attr.getValue();
  }
  if (name == kObservedAttrName) {
    std::string problem = subject.what.starts_with("result")
                              ? checkObserved(attr.getValue())
                              : "is for results of functions";
    if (!problem.empty())
      return subject.error()
             << name << " of " << subject.what << " " << problem;
  }
  if (name == WeftDialect::kShardingsAttrName ||
      name == kOperandShardingsAttrName)
    return subject.error() << name << " is for ops; " << subject.what
                           << " takes weft.sharding";
  return success();
}

static void verifyValueAttributes(const Subject &subject,
                                  DictionaryAttr attrs) {
  if (attrs)
    for (NamedAttribute attr : attrs)
      (void)verifyValueAttribute(subject, attr);
}

// The verifier stops at the first attribute of a function that fails. So that a
// user sees all problems of a signature at once, that attribute reports those
// of the arguments and results behind it, too.

static void verifySignatureFrom(FunctionOpInterface function,
                                unsigned firstArgument, unsigned firstResult) {
  for (unsigned i = firstArgument; i < function.getNumArguments(); ++i)
    verifyValueAttributes(argumentOf(function, i), function.getArgAttrDict(i));
  for (unsigned i = firstResult; i < function.getNumResults(); ++i)
    verifyValueAttributes(resultOf(function, i), function.getResultAttrDict(i));
}

static LogicalResult verifyInSignature(FunctionOpInterface function,
                                       const Subject &subject,
                                       NamedAttribute attr,
                                       unsigned nextArgument,
                                       unsigned nextResult) {
  LogicalResult verified = verifyValueAttribute(subject, attr);
  if (failed(verified))
    verifySignatureFrom(function, nextArgument, nextResult);
  return verified;
}

LogicalResult WeftDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned index,
                                                    NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyInSignature(function, argumentOf(function, index), attr,
                           index + 1, 0);
}

LogicalResult WeftDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                       unsigned index,
                                                       NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyInSignature(function, resultOf(function, index), attr,
                           function.getNumArguments(), index + 1);
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
    legal &=
        succeeded(verifySharding({op, "result " + std::to_string(index),
                                  op->getLoc(), op->getResult(index).getType()},
                                 sharding));
  return success(legal);
}

/// One sharding for each operand of the op, or for its first ones.
static LogicalResult verifyOperandShardings(Operation *op, Attribute attr) {
  auto shardings = dyn_cast<ArrayAttr>(attr);
  if (!shardings)
    return op->emitError() << kOperandShardingsAttrName
                           << " must be an array of #weft.sharding, got "
                           << attr;
  if (shardings.size() > op->getNumOperands())
    return op->emitError() << kOperandShardingsAttrName
                           << " must have at most one sharding for each of the "
                              "op's "
                           << op->getNumOperands() << " operands, got "
                           << shardings.size();
  bool legal = true;
  for (auto [index, sharding] : llvm::enumerate(shardings))
    legal &= succeeded(
        verifySharding({op, "operand " + std::to_string(index), op->getLoc(),
                        op->getOperand(index).getType()},
                       sharding));
  return success(legal);
}

/// One provenance for each result of the op.
static LogicalResult verifyProvenances(Operation *op, Attribute attr) {
  auto all = dyn_cast<ArrayAttr>(attr);
  if (!all || all.size() != op->getNumResults())
    return op->emitError() << kProvenanceAttrName
                           << " must be an array with one dictionary for each "
                              "of the op's "
                           << op->getNumResults() << " results, got " << attr;
  for (auto [index, each] : llvm::enumerate(all))
    if (failed(verifyProvenance({op, "result " + std::to_string(index),
                                 op->getLoc(), op->getResult(index).getType()},
                                each)))
      return failure();
  return success();
}

static LogicalResult verifyReasons(Operation *op, Attribute attr) {
  if (!isa<ModuleOp>(op))
    return op->emitError() << kReasonsAttrName << " is for modules";
  if (std::string problem = checkReasons(attr); !problem.empty())
    return op->emitError() << kReasonsAttrName << ": " << problem;
  return success();
}

static LogicalResult verifyNumbered(Operation *op, Attribute attr) {
  if (std::string problem = checkNumbered(attr, op->getNumResults());
      !problem.empty())
    return op->emitError() << kNumberedAttrName << " " << problem;
  return success();
}

/// One origin, or unit, for each result of the op.
static LogicalResult verifyResultOrigins(Operation *op, Attribute attr) {
  auto origins = dyn_cast<ArrayAttr>(attr);
  if (origins && origins.size() == op->getNumResults() &&
      llvm::all_of(origins, [](Attribute each) {
        return isa<OriginAttr, UnitAttr>(each);
      }))
    return success();
  return op->emitError() << WeftDialect::kResultOriginsAttrName
                         << " must have a #weft.origin or unit for each of the "
                            "op's "
                         << op->getNumResults() << " results, got " << attr;
}

static LogicalResult verifyDevices(Operation *op, Attribute attr) {
  auto mesh = dyn_cast<MeshOp>(op);
  auto devices = dyn_cast<DenseI64ArrayAttr>(attr);
  if (!mesh)
    return op->emitError() << kDevicesAttrName << " is for meshes";
  if (!devices)
    return op->emitError() << kDevicesAttrName
                           << " must be an array of i64, got " << attr;
  const std::string problem =
      checkDevices(devices, mesh.getMesh().toMesh().numDevices());
  if (!problem.empty())
    return op->emitError() << problem;
  return success();
}

/// Pairs of an operand and a result of a kernel that have the same elements.
static LogicalResult verifyInPlace(Operation *op, Attribute attr) {
  auto kernel = dyn_cast<FunctionOpInterface>(op);
  auto pairs = dyn_cast<DenseI64ArrayAttr>(attr);
  auto error = [&] {
    return op->emitError() << WeftDialect::kInPlaceAttrName << " ";
  };
  if (!kernel || !pairs || pairs.size() % 2)
    return error() << "must be pairs of an operand and a result of a kernel, "
                      "got "
                   << attr;
  for (int64_t i = 0; i < pairs.size(); i += 2) {
    int64_t from = pairs[i], to = pairs[i + 1];
    if (from < 0 || from >= kernel.getNumArguments() || to < 0 ||
        to >= kernel.getNumResults())
      return error() << "has operand " << from << " and result " << to
                     << " of a kernel that has " << kernel.getNumArguments()
                     << " and " << kernel.getNumResults();
    auto operand = dyn_cast<RankedTensorType>(kernel.getArgumentTypes()[from]);
    auto result = dyn_cast<RankedTensorType>(kernel.getResultTypes()[to]);
    if (!operand || !result ||
        operand.getElementType() != result.getElementType() ||
        operand.getNumElements() != result.getNumElements())
      return error() << "has operand " << from << " of type "
                     << kernel.getArgumentTypes()[from] << " and result " << to
                     << " of type " << kernel.getResultTypes()[to]
                     << ", which have other elements";
  }
  return success();
}

static LogicalResult verifySegment(Operation *op, Attribute attr) {
  auto segment = dyn_cast<SegmentAttr>(attr);
  if (!segment || !isa<FunctionOpInterface>(op))
    return op->emitError() << WeftDialect::kSegmentAttrName
                           << " must be a #weft.segment of a function, got "
                           << attr;
  if (segment.getRole() < 0)
    return op->emitError() << "role of " << WeftDialect::kSegmentAttrName
                           << " must be at least 0, got " << segment.getRole();
  return success();
}

LogicalResult WeftDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kShardingsAttrName)
    return verifyShardings(op, attr.getValue());
  if (name == kOperandShardingsAttrName)
    return verifyOperandShardings(op, attr.getValue());
  if (name == kOriginAttrName && !isa<OriginAttr>(attr.getValue()))
    return op->emitError() << name << " must be a #weft.origin, got "
                           << attr.getValue();
  if (name == kInPlaceAttrName)
    return verifyInPlace(op, attr.getValue());
  if (name == kResultOriginsAttrName)
    return verifyResultOrigins(op, attr.getValue());
  if (name == kSegmentAttrName)
    return verifySegment(op, attr.getValue());
  if (name == kDevicesAttrName)
    return verifyDevices(op, attr.getValue());
  if (name == kProvenanceAttrName)
    return verifyProvenances(op, attr.getValue());
  if (name == kReasonsAttrName)
    return verifyReasons(op, attr.getValue());
  if (name == kNumberedAttrName)
    return verifyNumbered(op, attr.getValue());
  if (name == kShardingAttrName || name == kGlobalTypeAttrName ||
      name == kNameAttrName || name == kParameterAttrName)
    return op->emitError()
           << name << " is for arguments and results of functions, not for ops";
  if (name == kKernelAttrName && !isa<FunctionOpInterface>(op))
    return op->emitError() << name << " is for functions";
  return success();
}
