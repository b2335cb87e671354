//===- CountedIndices.cpp - Indices that count along a dimension ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Indexing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// The dimension of a tensor of which each element is its index along it.
static std::optional<int64_t> findCounted(Value value) {
  // Narrower numbers may not reach the end.
  if (auto iota = value.getDefiningOp<IotaOp>();
      iota && iota.getType().getElementTypeBitWidth() >= 32)
    return iota.getDim();
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    std::optional<int64_t> from = findCounted(broadcast.getOperand());
    if (!from)
      return std::nullopt;
    int64_t to = broadcast.getDims()[*from];
    bool isRepeated = broadcast.getOperand().getType().getDimSize(*from) !=
                      broadcast.getType().getDimSize(to);
    return isRepeated ? std::nullopt : std::optional(to);
  }
  // JAX lets negative numbers count from the end: i < 0 ? i + n : i.
  if (auto select = value.getDefiningOp<arith::SelectOp>()) {
    auto isNegative = select.getCondition().getDefiningOp<arith::CmpIOp>();
    if (isNegative && isNegative.getPredicate() == arith::CmpIPredicate::slt &&
        isNegative.getLhs() == select.getFalseValue() &&
        matchPattern(isNegative.getRhs(), m_Zero()))
      return findCounted(select.getFalseValue());
  }
  return std::nullopt;
}

void weft::stablehlo::batchCounted(Conversion &c, IndexingDims &dims,
                                   RankedTensorType table, Value &vectors) {
  auto numbers = vectors.getDefiningOp<ConcatOp>();
  if (!numbers || int64_t(numbers.getDim()) != dims.indexVectorDim ||
      numbers.getOperands().size() != dims.indexed.size())
    return;
  Dims indexed;
  SmallVector<Value> left;
  for (auto [number, of] :
       llvm::zip_equal(numbers.getOperands(), dims.indexed)) {
    std::optional<int64_t> along = findCounted(number);
    bool isElement = of >= 0 && of < table.getRank() &&
                     llvm::is_contained(dims.collapsed, of);
    if (!along || !isElement || *along == dims.indexVectorDim ||
        llvm::is_contained(dims.indicesBatching, *along) ||
        typeOf(number).getDimSize(*along) != table.getDimSize(of)) {
      indexed.push_back(of);
      left.push_back(number);
      continue;
    }
    llvm::erase(dims.collapsed, of);
    dims.operandBatching.push_back(of);
    dims.indicesBatching.push_back(*along);
  }
  // The last one is looked up, whatever it is.
  if (left.empty()) {
    indexed.push_back(dims.operandBatching.pop_back_val());
    dims.indicesBatching.pop_back();
    dims.collapsed.push_back(indexed.back());
    left.push_back(numbers.getOperands().back());
  }
  if (left.size() == dims.indexed.size())
    return;
  dims.indexed = indexed;
  vectors = left.size() == 1
                ? left.front()
                : c.make<ConcatOp>(ValueRange(left), dims.indexVectorDim);
}
