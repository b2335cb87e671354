//===- GroupedOps.cpp - Matmuls of groups of rows -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/GroupedOps.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/VjpBuilder.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace weft;

#define GET_OP_CLASSES
#include "weft/IR/GroupedOps.cpp.inc"

using sharding::FactorKind;
using sharding::Linearity;
using sharding::ShardingRule;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static LogicalResult verifyType(Operation *op, StringRef name, Value value,
                                ArrayRef<int64_t> shape, Type element) {
  auto want = RankedTensorType::get(shape, element);
  if (value.getType() == want)
    return success();
  return op->emitOpError() << name << " must be " << want << ", got "
                           << value.getType();
}

/// Both operands have rank 3, and `sizes` a row for each batch.
static LogicalResult verifyRanks(Operation *op) {
  RankedTensorType lhs = typeOf(op->getOperand(0)),
                   rhs = typeOf(op->getOperand(1)),
                   sizes = typeOf(op->getOperand(2));
  if (lhs.getRank() != 3 || rhs.getRank() != 3 || sizes.getRank() != 2)
    return op->emitOpError("operands must have rank 3 and sizes rank 2, got ")
           << lhs << ", " << rhs << " and " << sizes;
  if (sizes.getDimSize(0) != lhs.getDimSize(0))
    return op->emitOpError("sizes must have a row for each of ")
           << lhs.getDimSize(0) << " batches, got " << sizes;
  return success();
}

LogicalResult GroupedDotOp::verify() {
  if (failed(verifyRanks(*this)))
    return failure();
  ArrayRef<int64_t> lhs = getLhs().getType().getShape(),
                    rhs = getRhs().getType().getShape();
  int64_t groups = getSizes().getType().getDimSize(1);
  int64_t n = rhs[getTransposed() ? 1 : 2];
  SmallVector<int64_t> matrices = {groups, lhs[2], n};
  if (getTransposed())
    std::swap(matrices[1], matrices[2]);
  Type element = getLhs().getType().getElementType();
  return failure(
      failed(verifyType(*this, "rhs", getRhs(), matrices, element)) ||
      failed(verifyType(*this, "the result", getResult(), {lhs[0], lhs[1], n},
                        element)));
}

LogicalResult GroupedOuterOp::verify() {
  if (failed(verifyRanks(*this)))
    return failure();
  ArrayRef<int64_t> lhs = getLhs().getType().getShape();
  int64_t n = getRhs().getType().getDimSize(2);
  int64_t groups = getSizes().getType().getDimSize(1);
  Type element = getLhs().getType().getElementType();
  return failure(failed(verifyType(*this, "rhs", getRhs(), {lhs[0], lhs[1], n},
                                   element)) ||
                 failed(verifyType(*this, "the result", getResult(),
                                   {groups, lhs[2], n}, element)));
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

namespace {

/// The factors that both ops have.
struct GroupedFactors {
  ShardingRule rule;
  int32_t batch, rows, k, n, groups;
};

} // namespace

/// Where a group begins is known at run time only, so rows stay together, and
/// so do the matrices.
static GroupedFactors factorsOf(Operation *op, int64_t n, FactorKind batch,
                                FactorKind k) {
  ArrayRef<int64_t> lhs = typeOf(op->getOperand(0)).getShape();
  GroupedFactors f;
  f.batch = f.rule.addFactor(lhs[0], batch);
  f.rows = f.rule.addFactor(lhs[1], FactorKind::NeedReplication);
  f.k = f.rule.addFactor(lhs[2], k);
  f.n = f.rule.addFactor(n);
  f.groups = f.rule.addFactor(typeOf(op->getOperand(2)).getDimSize(1),
                              FactorKind::NeedReplication);
  return f;
}

ShardingRule GroupedDotOp::getShardingRule() {
  GroupedFactors f = factorsOf(*this, getType().getDimSize(2),
                               FactorKind::PassThrough, FactorKind::Reduction);
  sharding::TensorFactors matrices = {{f.groups}, {f.k}, {f.n}};
  if (getTransposed())
    std::swap(matrices[1], matrices[2]);
  f.rule.operands = {
      {{f.batch}, {f.rows}, {f.k}}, matrices, {{f.batch}, {f.groups}}};
  f.rule.results = {{{f.batch}, {f.rows}, {f.n}}};
  return f.rule;
}

Linearity GroupedDotOp::getLinearity() { return Linearity::LinearInFirst; }

ShardingRule GroupedOuterOp::getShardingRule() {
  GroupedFactors f = factorsOf(*this, getType().getDimSize(2),
                               FactorKind::Reduction, FactorKind::PassThrough);
  f.rule.operands = {{{f.batch}, {f.rows}, {f.k}},
                     {{f.batch}, {f.rows}, {f.n}},
                     {{f.batch}, {f.groups}}};
  f.rule.results = {{{f.groups}, {f.k}, {f.n}}};
  return f.rule;
}

Linearity GroupedOuterOp::getLinearity() { return Linearity::LinearInFirst; }

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

static Value groupedDot(VjpBuilder &b, Type type, Value lhs, Value rhs,
                        Value sizes, bool transposed) {
  return GroupedDotOp::create(b, type, lhs, rhs, sizes, transposed);
}

void GroupedDotOp::buildVjp(VjpBuilder &b) {
  Value g = b.getCotangent();
  if (b.wants(0))
    b.addCotangent(0, groupedDot(b, getLhs().getType(), g, getRhs(), getSizes(),
                                 !getTransposed()));
  if (!b.wants(1))
    return;
  Value x = getLhs();
  if (getTransposed())
    std::swap(x, g);
  b.addCotangent(
      1, GroupedOuterOp::create(b, getRhs().getType(), x, g, getSizes()));
}

void GroupedOuterOp::buildVjp(VjpBuilder &b) {
  Value g = b.getCotangent();
  if (b.wants(0))
    b.addCotangent(0, groupedDot(b, getLhs().getType(), getRhs(), g, getSizes(),
                                 /*transposed=*/true));
  if (b.wants(1))
    b.addCotangent(1, groupedDot(b, getRhs().getType(), getLhs(), g, getSizes(),
                                 /*transposed=*/false));
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// The GEMMs of groups that are alike: as many products as rows have, in as
/// many GEMMs as there are groups.
template <typename Op>
static cost::Gemm gemmOf(Op op, int64_t cost::Gemm::*ofRows, int64_t m,
                         int64_t n, int64_t k) {
  RankedTensorType sizes = op.getSizes().getType();
  int64_t rows = op.getLhs().getType().getDimSize(1);
  cost::Gemm gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.*ofRows = std::max<int64_t>(1, rows / sizes.getDimSize(1));
  gemm.batch = sizes.getNumElements();
  gemm.precision = precisionOf(op.getType().getElementType());
  return gemm;
}

cost::Gemm GroupedDotOp::getGemm() {
  return gemmOf(*this, &cost::Gemm::m, 0, getType().getDimSize(2),
                getLhs().getType().getDimSize(2));
}

cost::Gemm GroupedOuterOp::getGemm() {
  return gemmOf(*this, &cost::Gemm::k, getType().getDimSize(1),
                getType().getDimSize(2), 0);
}
