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
using cost::CollectiveKind;

//===----------------------------------------------------------------------===//
// launch
//===----------------------------------------------------------------------===//

int64_t LaunchOp::getInPlaceOperand(unsigned index) {
  if (!getInPlace())
    return -1;
  int64_t operands = getOperands().size() / getBatch();
  int64_t results = getNumResults() / getBatch();
  int64_t operand = (*getInPlace())[index % results];
  return operand < 0 ? -1 : index / results * operands + operand;
}

/// Checks `in_place` for one set of arguments.
static LogicalResult verifyInPlace(LaunchOp op, ArrayRef<int64_t> inPlace) {
  OperandRange operands = op.getSetOperands(0);
  ResultRange results = op.getSetResults(0);
  if (inPlace.size() != results.size())
    return op.emitOpError("in_place must have one element for each of the ")
           << results.size() << " results, got " << inPlace.size();
  llvm::SmallDenseSet<int64_t> taken;
  for (auto [index, operand] : llvm::enumerate(inPlace)) {
    if (operand == -1)
      continue;
    if (operand < 0 || operand >= int64_t(operands.size()))
      return op.emitOpError("in_place of result ")
             << index << " must be -1 or an operand, got " << operand;
    if (!taken.insert(operand).second)
      return op.emitOpError("in_place gives the buffer of operand ")
             << operand << " to two results";
    auto from = cast<RankedTensorType>(operands[operand].getType());
    auto to = cast<RankedTensorType>(results[index].getType());
    if (from.getElementType() != to.getElementType() ||
        from.getNumElements() != to.getNumElements())
      return op.emitOpError("in_place of result ")
             << index << " needs an operand with the elements of " << to
             << ", operand " << operand << " has type " << from;
  }
  return success();
}

/// No set reads what another one writes over.
static LogicalResult verifyApart(LaunchOp op) {
  llvm::SmallDenseMap<Value, int64_t> readers;
  int64_t size = op.getSetOperands(0).size();
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    auto [it, isNew] = readers.try_emplace(operand, index / size);
    if (!isNew && it->second != int64_t(index) / size)
      it->second = -1;
  }
  for (unsigned result = 0; result < op.getNumResults(); ++result) {
    int64_t operand = op.getInPlaceOperand(result);
    if (operand >= 0 && readers.lookup(op.getOperands()[operand]) < 0)
      return op.emitOpError("set ")
             << operand / size << " of the batch writes over its operand "
             << operand % size << ", which another set has as well";
  }
  return success();
}

LogicalResult LaunchOp::verify() {
  int64_t batch = getBatch(), operands = getOperands().size(),
          results = getNumResults();
  if (batch < 1 || operands % batch != 0 || results % batch != 0)
    return emitOpError("batch must divide the ")
           << operands << " operands and the " << results << " results, got "
           << batch;
  std::optional<ArrayRef<int64_t>> inPlace = getInPlace();
  if (!inPlace)
    return success();
  return success(succeeded(verifyInPlace(*this, *inPlace)) &&
                 succeeded(verifyApart(*this)));
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
  int64_t batch = getBatch();
  for (int64_t set = 0; set < batch; ++set) {
    SmallVector<Type> inputs(getSetOperands(set).getTypes());
    inputs.append(
        getPositions() ? getPositions()->size() : 0,
        RankedTensorType::get({}, IntegerType::get(getContext(), 32)));
    auto type =
        FunctionType::get(getContext(), inputs, getSetResults(set).getTypes());
    if (kernel.getFunctionType() == type)
      continue;
    InFlightDiagnostic error = emitOpError("needs a kernel of type ") << type;
    if (batch > 1)
      error << " for set " << set << " of the batch";
    return error << ", @" << getKernel() << " has type "
                 << kernel.getFunctionType();
  }
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
                kind == CollectiveKind::AllToAll ||
                kind == CollectiveKind::Exchange;
  if (reduces != op.getReduction().has_value() ||
      hasDim != op.getDim().has_value() ||
      (kind == CollectiveKind::AllToAll) != op.getConcat().has_value() ||
      (kind == CollectiveKind::Permute) != op.getTo().has_value() ||
      (kind == CollectiveKind::Exchange) != op.getMap().has_value())
    return op.emitOpError("has too few or too many attributes for ")
           << StringRef(nameOf(kind));
  if (op.getShift() != 0 && kind != CollectiveKind::Permute)
    return op.emitOpError("shift is for permute, not for ")
           << StringRef(nameOf(kind));
  if (op.getInPlace() && kind != CollectiveKind::AllReduce)
    return op.emitOpError("in_place is for all_reduce, not for ")
           << StringRef(nameOf(kind));
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

  if (getMap())
    return verifyElementMap(*this, *getMap(), *group, operand, result,
                            *getDim());

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
