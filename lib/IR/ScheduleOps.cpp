//===- ScheduleOps.cpp - Verifiers of the schedule ops --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// launch
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  std::optional<ArrayRef<int64_t>> inPlace = getInPlace();
  if (!inPlace)
    return success();
  if (inPlace->size() != getNumResults())
    return emitOpError("in_place must have one element for each of the ")
           << getNumResults() << " results, got " << inPlace->size();
  llvm::SmallDenseSet<int64_t> taken;
  for (auto [index, operand] : llvm::enumerate(*inPlace)) {
    if (operand == -1)
      continue;
    if (operand < 0 || operand >= int64_t(getOperands().size()))
      return emitOpError("in_place of result ")
             << index << " must be -1 or an operand, got " << operand;
    if (!taken.insert(operand).second)
      return emitOpError("in_place gives the buffer of operand ")
             << operand << " to two results";
    auto from = cast<RankedTensorType>(getOperands()[operand].getType());
    auto to = cast<RankedTensorType>(getResult(index).getType());
    if (from.getElementType() != to.getElementType() ||
        from.getNumElements() != to.getNumElements())
      return emitOpError("in_place of result ")
             << index << " needs an operand with the elements of " << to
             << ", operand " << operand << " has type " << from;
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("unknown kernel @") << getKernel();
  if (!kernel->hasAttr(WeftDialect::kKernelAttrName) || !kernel.isPrivate())
    return emitOpError("@")
           << getKernel() << " must be a private function with "
           << WeftDialect::kKernelAttrName;
  SmallVector<Type> inputs(getOperandTypes());
  inputs.append(getPositions() ? getPositions()->size() : 0,
                RankedTensorType::get({}, IntegerType::get(getContext(), 32)));
  auto type = FunctionType::get(getContext(), inputs, getResultTypes());
  if (kernel.getFunctionType() != type)
    return emitOpError("needs a kernel of type ")
           << type << ", @" << getKernel() << " has type "
           << kernel.getFunctionType();
  return success();
}

//===----------------------------------------------------------------------===//
// start
//===----------------------------------------------------------------------===//

/// Number of devices in the groups that `attr` makes.
static FailureOr<int64_t> groupSize(Operation *op, AxesAttr attr) {
  MeshOp mesh = findMesh(op, attr.getMesh());
  if (!mesh)
    return op->emitOpError("unknown mesh @")
           << attr.getMesh().getValue()
           << "; declare it in the module with weft.mesh";
  FailureOr<sharding::AxisList> axes =
      attr.toAxes(mesh.getMesh().toMesh(),
                  [&](const Twine &problem) { op->emitOpError(problem); });
  if (failed(axes))
    return failure();
  if (axes->empty())
    return op->emitOpError("must be over at least one axis");
  return sharding::numShards(*axes);
}

static LogicalResult checkAttributes(StartOp op) {
  CollectiveKind kind = op.getKind();
  bool reduces = kind == CollectiveKind::AllReduce ||
                 kind == CollectiveKind::ReduceScatter;
  bool hasDim = kind == CollectiveKind::AllGather ||
                kind == CollectiveKind::ReduceScatter ||
                kind == CollectiveKind::AllToAll;
  if (reduces != op.getReduction().has_value() ||
      hasDim != op.getDim().has_value() ||
      (kind == CollectiveKind::AllToAll) != op.getConcat().has_value() ||
      (kind == CollectiveKind::Permute) != op.getTo().has_value())
    return op.emitOpError("has too few or too many attributes for ")
           << stringifyCollectiveKind(kind);
  if (op.getShift() != 0 && kind != CollectiveKind::Permute)
    return op.emitOpError("shift is for permute, not for ")
           << stringifyCollectiveKind(kind);
  if (op.getInPlace() && kind != CollectiveKind::AllReduce)
    return op.emitOpError("in_place is for all_reduce, not for ")
           << stringifyCollectiveKind(kind);
  return success();
}

/// Divides dimension `dim` of `shape` among `group` devices.
static LogicalResult splitDim(StartOp op, SmallVectorImpl<ExpectedDim> &shape,
                              int64_t dim, int64_t group) {
  if (shape[dim].size % group != 0)
    return op.emitOpError("operand dim ")
           << dim << " must be divisible by the " << group
           << " devices of the group, got " << shape[dim].size;
  shape[dim].reason = "local " + std::to_string(shape[dim].size) + " / " +
                      std::to_string(group) + " devices";
  shape[dim].size /= group;
  return success();
}

static void gatherDim(SmallVectorImpl<ExpectedDim> &shape, int64_t dim,
                      int64_t group) {
  shape[dim].reason = "local " + std::to_string(shape[dim].size) + " × " +
                      std::to_string(group) + " devices";
  shape[dim].size *= group;
}

LogicalResult StartOp::verify() {
  if (failed(checkAttributes(*this)))
    return failure();
  RankedTensorType operand = getOperand().getType();
  RankedTensorType result = getPending().getType().getTensor();
  if (operand.getElementType() != result.getElementType() ||
      operand.getRank() != result.getRank())
    return emitOpError("pending tensor must have the element type and rank of "
                       "the operand ")
           << operand << ", got " << result;
  if (getDim() && failed(verifyDimsInRange(*this, getConcat() ? "split" : "dim",
                                           *getDim(), operand.getRank())))
    return failure();
  if (getConcat() && failed(verifyDimsInRange(*this, "concat", *getConcat(),
                                              operand.getRank())))
    return failure();
  if (getConcat() && *getConcat() == *getDim())
    return emitOpError("split and concat must be different dims, both are ")
           << *getDim();

  FailureOr<int64_t> group = groupSize(*this, getAxes());
  if (failed(group))
    return failure();
  if (getTo()) {
    FailureOr<int64_t> to = groupSize(*this, *getTo());
    if (failed(to))
      return failure();
    if (*to != *group)
      return emitOpError("from and to must have one total size, got ")
             << *group << " and " << *to;
    int64_t shift = getShift();
    if (shift < 0 || shift >= *group)
      return emitOpError("shift must be at least 0 and less than the ")
             << *group << " parts, got " << shift;
  }

  auto shape = llvm::map_to_vector(operand.getShape(), [](int64_t size) {
    return ExpectedDim{size, "as the operand's"};
  });
  CollectiveKind kind = getKind();
  if (kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll)
    if (failed(splitDim(*this, shape, *getDim(), *group)))
      return failure();
  if (kind == CollectiveKind::AllGather)
    gatherDim(shape, *getDim(), *group);
  if (kind == CollectiveKind::AllToAll)
    gatherDim(shape, *getConcat(), *group);
  return verifyResultShape(*this, result, shape);
}
