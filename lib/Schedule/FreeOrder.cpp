//===- FreeOrder.cpp - Rows whose order does not matter -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FreeOrder.h"

#include "CutRules.h"

#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;

namespace {

class FreeOrder {
public:
  /// Of the whole rows, or of those that a member has.
  explicit FreeOrder(bool isWhole) : isWhole(isWhole) {}

  bool follow(Operation *collective);
  llvm::DenseSet<Operation *> take() { return std::move(collectives); }

private:
  bool makesRows(Operation *op) const;
  bool takesRows(Operation *op) const;
  bool add(Operation *collective);
  bool acceptDefinition(Value value);
  bool acceptUse(OpOperand &use);
  bool treatsRowsAlike(Operation *op);
  bool sumsOverRows(OpOperand &use);

  const bool isWhole;
  llvm::SetVector<Value> values;
  llvm::DenseSet<Operation *> collectives;
  Attribute axes;
};

} // namespace

static bool gathersRows(Operation *op) {
  auto collective = dyn_cast<CommunicationOpInterface>(op);
  auto dim = collective ? collective.getGatheredDim() : std::nullopt;
  return dim && dim == cutDimOf(op->getOperand(0));
}

static bool scattersRows(Operation *op) {
  auto collective = dyn_cast<CommunicationOpInterface>(op);
  auto dim = collective ? collective.getScatteredDim() : std::nullopt;
  return dim && dim == cutDimOf(op->getResult(0));
}

bool FreeOrder::makesRows(Operation *op) const {
  return isWhole ? gathersRows(op) : scattersRows(op);
}

bool FreeOrder::takesRows(Operation *op) const {
  return isWhole ? scattersRows(op) : gathersRows(op);
}

/// An op whose rows are computed from the same rows of operands: those and its
/// results are followed.
bool FreeOrder::treatsRowsAlike(Operation *op) {
  auto isCut = findCutOperands(op);
  if (!isCut)
    return false;
  if (isa<ReshapeOp>(op)) {
    auto rows = [](Value value) {
      auto dim = cutDimOf(value);
      return dim ? typeOf(value).getDimSize(*dim) : 1;
    };
    if (rows(op->getOperand(0)) != rows(op->getResult(0)))
      return false;
  }
  for (OpOperand &operand : op->getOpOperands())
    if ((*isCut)[operand.getOperandNumber()] && !isOnlyWaitedFor(operand))
      values.insert(operand.get());
  for (Value result : op->getResults())
    values.insert(result);
  return true;
}

/// All have the members of the same groups.
bool FreeOrder::add(Operation *collective) {
  Attribute own = cast<CommunicationOpInterface>(collective).getAxes();
  if (!axes)
    axes = own;
  collectives.insert(collective);
  return axes == own;
}

bool FreeOrder::acceptDefinition(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return makesRows(op) ? add(op) : treatsRowsAlike(op);
}

/// Sums over rows have the same terms.
bool FreeOrder::sumsOverRows(OpOperand &use) {
  int64_t rows = *cutDimOf(use.get());
  if (auto reduce = dyn_cast<ReduceOp>(use.getOwner()))
    return llvm::is_contained(reduce.getDims(), rows);
  auto dot = dyn_cast<DotGeneralOp>(use.getOwner());
  if (!dot)
    return false;
  for (auto [lhs, rhs] :
       llvm::zip_equal(dot.getLhsContracting(), dot.getRhsContracting()))
    if (cutDimOf(dot.getLhs()) == lhs && cutDimOf(dot.getRhs()) == rhs) {
      values.insert(dot.getLhs());
      values.insert(dot.getRhs());
      return true;
    }
  return false;
}

bool FreeOrder::acceptUse(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isOnlyWaitedFor(use))
    return true;
  if (op->getBlock() != use.get().getParentBlock() ||
      op->hasTrait<OpTrait::IsTerminator>())
    return false;
  if (takesRows(op))
    return add(op);
  auto isCut = findCutOperands(op);
  if (isCut && (*isCut)[use.getOperandNumber()])
    return treatsRowsAlike(op);
  return sumsOverRows(use);
}

bool FreeOrder::follow(Operation *collective) {
  add(collective);
  if (takesRows(collective))
    values.insert(collective->getOperand(0));
  else if (makesRows(collective))
    values.insert(collective->getResult(0));
  else
    return false;
  for (size_t i = 0; i < values.size(); ++i) {
    Value value = values[i];
    if (!acceptDefinition(value))
      return false;
    // What all have is the same in any order.
    if (isa<arith::ConstantOp>(value.getDefiningOp()))
      continue;
    if (!llvm::all_of(value.getUses(),
                      [&](OpOperand &use) { return acceptUse(use); }))
      return false;
  }
  return true;
}

bool weft::findFreeOrder(Operation *collective, bool ofWhole,
                         llvm::DenseSet<Operation *> &found) {
  FreeOrder rows(ofWhole);
  const bool isFree = rows.follow(collective);
  found = rows.take();
  return isFree;
}
