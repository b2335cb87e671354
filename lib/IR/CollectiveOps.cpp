//===- CollectiveOps.cpp - Verifiers of the collectives -------------------===//
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
using sharding::AxisList;
using sharding::AxisRef;
using sharding::Mesh;

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

namespace {
/// A legal list of axes of a collective.
struct Group {
  Mesh mesh;
  AxisList axes;

  int64_t size() const { return sharding::numShards(axes); }

  /// `axis "x" size 4`, `axes {"x", "y"} size 8`.
  std::string describe() const {
    std::string names = axes.size() == 1 ? "axis " + mesh.print(axes.front())
                                         : "axes " + mesh.print(axes);
    return names + " size " + std::to_string(size());
  }
};
} // namespace

/// What is wrong with two axes of a list, or an empty string.
static std::string checkPair(const Mesh &mesh, const AxisRef &major,
                             const AxisRef &minor, bool neighbours) {
  std::string both = mesh.print(major) + " and " + mesh.print(minor);
  if (major == minor)
    return "axis " + mesh.print(major) + " is named twice";
  if (major.overlaps(minor))
    return "axes " + both + " overlap";
  if (!major.canCoexistWith(minor))
    return "axes " + both + " do not factor one axis";
  if (neighbours && major.canMergeWith(minor))
    return "neighbours " + both + " are one axis, " +
           mesh.print(major.mergedWith(minor));
  return {};
}

/// Every broken rule of a list of axes.
static std::vector<std::string> checkAxes(const Mesh &mesh,
                                          ArrayRef<AxisRef> axes) {
  std::vector<std::string> problems;
  for (const AxisRef &ref : axes)
    if (mesh.axisSize(ref.axis) % ref.next() != 0)
      problems.push_back("sub-axis " + mesh.print(ref) +
                         " does not factor its axis of size " +
                         std::to_string(mesh.axisSize(ref.axis)));
  for (size_t minor = 0; minor < axes.size(); ++minor)
    for (size_t major = 0; major < minor; ++major) {
      std::string problem = checkPair(mesh, axes[major], axes[minor],
                                      /*neighbours=*/major + 1 == minor);
      if (!problem.empty())
        problems.push_back(std::move(problem));
    }
  return problems;
}

/// The axes that `attr` names, or failure after an error on `op` for every
/// broken rule.
static FailureOr<Group> resolve(Operation *op, AxesAttr attr) {
  MeshOp meshOp = findMesh(op, attr.getMesh());
  if (!meshOp)
    return op->emitOpError("unknown mesh @")
           << attr.getMesh().getValue()
           << "; declare it in the module with weft.mesh";
  Group group{meshOp.getMesh().toMesh(), {}};
  std::vector<std::string> problems;
  FailureOr<AxisList> axes = attr.toAxes(
      group.mesh, [&](const Twine &text) { problems.push_back(text.str()); });
  if (succeeded(axes)) {
    group.axes = *axes;
    problems = checkAxes(group.mesh, group.axes);
  }
  for (const std::string &problem : problems)
    op->emitOpError(problem);
  if (!problems.empty())
    return failure();
  return group;
}

/// As `resolve`, for ops that would do nothing over no axes.
static FailureOr<Group> resolveNonEmpty(Operation *op, AxesAttr attr) {
  if (attr.getAxes().empty())
    return op->emitOpError("must be over at least one axis");
  return resolve(op, attr);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static SmallVector<ExpectedDim> operandShape(RankedTensorType operand) {
  return llvm::map_to_vector(operand.getShape(), [](int64_t size) {
    return ExpectedDim{size, "as the operand's"};
  });
}

/// Multiplies a dimension by the size of the group.
static void expectGathered(SmallVectorImpl<ExpectedDim> &shape, int64_t dim,
                           const Group &group) {
  shape[dim].reason =
      "local " + std::to_string(shape[dim].size) + " × " + group.describe();
  shape[dim].size *= group.size();
}

/// Divides a dimension by the size of the group.
static LogicalResult expectSplit(Operation *op,
                                 SmallVectorImpl<ExpectedDim> &shape,
                                 int64_t dim, const Group &group) {
  int64_t size = shape[dim].size;
  if (size % group.size() != 0)
    return op->emitOpError("operand dim ")
           << dim << " must be divisible by " << group.describe() << ", got "
           << size;
  shape[dim].size = size / group.size();
  shape[dim].reason =
      "local " + std::to_string(size) + " / " + group.describe();
  return success();
}

/// Verifier of ops that split one dimension.
static LogicalResult verifySplit(Operation *op, RankedTensorType operand,
                                 RankedTensorType result, int64_t dim,
                                 AxesAttr axes) {
  if (failed(verifyDimsInRange(op, "dim", dim, operand.getRank())))
    return failure();
  FailureOr<Group> group = resolveNonEmpty(op, axes);
  if (failed(group))
    return failure();
  SmallVector<ExpectedDim> shape = operandShape(operand);
  if (failed(expectSplit(op, shape, dim, *group)))
    return failure();
  return verifyResultShape(op, result, shape);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  RankedTensorType operand = getOperand().getType();
  int64_t dim = getDim();
  if (failed(verifyDimsInRange(*this, "dim", dim, operand.getRank())))
    return failure();
  FailureOr<Group> group = resolveNonEmpty(*this, getAxes());
  if (failed(group))
    return failure();
  SmallVector<ExpectedDim> shape = operandShape(operand);
  expectGathered(shape, dim, *group);
  return verifyResultShape(*this, getType(), shape);
}

LogicalResult AllSliceOp::verify() {
  return verifySplit(*this, getOperand().getType(), getType(), getDim(),
                     getAxes());
}

LogicalResult ReduceScatterOp::verify() {
  return verifySplit(*this, getOperand().getType(), getType(), getDim(),
                     getAxes());
}

LogicalResult AllReduceOp::verify() {
  return resolveNonEmpty(*this, getAxes());
}

LogicalResult AllToAllOp::verify() {
  RankedTensorType operand = getOperand().getType();
  int64_t split = getSplit(), concat = getConcat();
  if (failed(verifyDimsInRange(*this, "split", split, operand.getRank())) ||
      failed(verifyDimsInRange(*this, "concat", concat, operand.getRank())))
    return failure();
  if (split == concat)
    return emitOpError("split and concat must be different dims, both are ")
           << split;
  FailureOr<Group> group = resolveNonEmpty(*this, getAxes());
  if (failed(group))
    return failure();
  SmallVector<ExpectedDim> shape = operandShape(operand);
  if (failed(expectSplit(*this, shape, split, *group)))
    return failure();
  expectGathered(shape, concat, *group);
  return verifyResultShape(*this, getType(), shape);
}

LogicalResult PermuteOp::verify() {
  if (getFrom().getMesh() != getTo().getMesh())
    return emitOpError("from and to must be of one mesh, got @")
           << getFrom().getMesh().getValue() << " and @"
           << getTo().getMesh().getValue();
  FailureOr<Group> from = resolveNonEmpty(*this, getFrom());
  FailureOr<Group> to = resolveNonEmpty(*this, getTo());
  if (failed(from) || failed(to))
    return failure();
  if (from->size() != to->size())
    return emitOpError("from and to must have one total size, got ")
           << from->describe() << " and " << to->describe();
  int64_t shift = getShift();
  if (shift < 0 || shift >= from->size())
    return emitOpError("shift must be at least 0 and less than the ")
           << from->size() << " parts, got " << shift;
  return success();
}

LogicalResult ExchangeOp::verify() {
  RankedTensorType operand = getOperand().getType();
  int64_t dim = getDim();
  if (failed(verifyDimsInRange(*this, "dim", dim, operand.getRank())))
    return failure();
  FailureOr<Group> group = resolveNonEmpty(*this, getAxes());
  if (failed(group))
    return failure();
  return verifyElementMap(*this, getMap(), group->size(), operand, getType(),
                          dim);
}

LogicalResult PositionOp::verify() { return resolve(*this, getAxes()); }

//===----------------------------------------------------------------------===//
// Starts
//===----------------------------------------------------------------------===//

namespace {
/// What a start says beside its kind, operand and axes.
struct StartDetails {
  ReductionAttr reduction = {};
  IntegerAttr dim = {}, concat = {};
  AxesAttr to = {};
  ElementMapAttr map = {};
  uint64_t shift = 0;
};
} // namespace

template <typename Op>
static Value start(OpBuilder &builder, Op op, const StartDetails &details) {
  return StartOp::create(
      builder, op.getLoc(), PendingType::get(op.getContext(), op.getType()),
      op.getCollectiveKind(), op.getOperand(), details.reduction, details.dim,
      details.concat, op.getAxes(), details.to, details.map, /*in_place=*/false,
      op.getCauseAttr(), details.shift);
}

Value AllGatherOp::buildStart(OpBuilder &builder) {
  return start(builder, *this, {.dim = getDimAttr()});
}

Value ReduceScatterOp::buildStart(OpBuilder &builder) {
  return start(builder, *this,
               {.reduction = getKindAttr(), .dim = getDimAttr()});
}

Value AllReduceOp::buildStart(OpBuilder &builder) {
  return start(builder, *this, {.reduction = getKindAttr()});
}

Value AllToAllOp::buildStart(OpBuilder &builder) {
  return start(builder, *this,
               {.dim = getSplitAttr(), .concat = getConcatAttr()});
}

Value PermuteOp::buildStart(OpBuilder &builder) {
  return start(builder, *this, {.to = getTo(), .shift = getShift()});
}

Value ExchangeOp::buildStart(OpBuilder &builder) {
  return start(builder, *this, {.dim = getDimAttr(), .map = getMap()});
}

//===----------------------------------------------------------------------===//
// Several as one
//===----------------------------------------------------------------------===//

Value AllGatherOp::buildCombined(OpBuilder &builder, Value operand,
                                 RankedTensorType type, StringAttr cause) {
  return AllGatherOp::create(builder, getLoc(), type, operand, /*dim=*/0,
                             getAxes(), cause);
}

Value ReduceScatterOp::buildCombined(OpBuilder &builder, Value operand,
                                     RankedTensorType type, StringAttr cause) {
  return ReduceScatterOp::create(builder, getLoc(), type, getKind(), operand,
                                 /*dim=*/0, getAxes(), cause);
}

Value AllReduceOp::buildCombined(OpBuilder &builder, Value operand,
                                 RankedTensorType type, StringAttr cause) {
  return AllReduceOp::create(builder, getLoc(), type, getKind(), operand,
                             getAxes(), cause);
}
