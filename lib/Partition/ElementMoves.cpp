//===- ElementMoves.cpp - What ops move along dimensions ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementMoves.h"

#include "weft/IR/TensorTypes.h"

using namespace mlir;
using namespace weft;
using sharding::ElementMap;

SmallVector<int32_t, 2>
ElementMove::operandFactors(const sharding::ShardingRule &rule) const {
  if (windows)
    return {rule.operands.front()[dim].front()};
  SmallVector<int32_t, 2> factors;
  for (const sharding::TensorFactors &operand : rule.operands)
    factors.push_back(operand[dim].front());
  return factors;
}

bool ElementMove::isDivisibleBy(int64_t members) const {
  return windows ? windows->exchange(members).has_value()
                 : map.isDivisibleBy(members);
}

int64_t ElementMove::mostSent(int64_t members) const {
  return windows ? windows->mostSent(members)
                 : map.dividedBy(members).mostSent(members);
}

static ElementMove moveOf(SliceOp op, RankedTensorType type, int64_t dim) {
  int64_t size = op.getType().getDimSize(dim);
  return {dim,
          {{type.getDimSize(dim)},
           {size},
           {{op.getStarts()[dim], 0, size, op.getStrides()[dim]}}}};
}

SmallVector<ElementMove, 1> weft::findMoves(Operation *op) {
  return findMoves(op, llvm::map_to_vector(op->getOperands(), typeOf));
}

SmallVector<ElementMove, 1>
weft::findMoves(Operation *op, ArrayRef<RankedTensorType> operands) {
  SmallVector<ElementMove, 1> moves;
  if (auto rearrange = dyn_cast<RearrangeOp>(op))
    return {{static_cast<int64_t>(rearrange.getDim()),
             rearrange.getMap().toMap(), rearrange.getValueAttr()}};
  if (auto concat = dyn_cast<ConcatOp>(op); concat && operands.size() > 1) {
    auto dim = static_cast<int64_t>(concat.getDim());
    int64_t size = concat.getType().getDimSize(dim);
    ElementMove &move =
        moves.emplace_back(ElementMove{dim, {{}, {size}, {{0, 0, size}}}});
    for (RankedTensorType type : operands)
      move.map.from.push_back(type.getDimSize(dim));
    return moves;
  }
  if (!isa<SliceOp, PadOp>(op)) {
    if (op->getNumResults() == 1)
      for (WindowSplit &split :
           findWindowSplits(op, operands, typeOf(op->getResult(0)))) {
        moves.push_back(
            {split.dim, {{split.windows.size}, {split.windows.count}, {}}});
        moves.back().windows = split;
      }
    return moves;
  }
  RankedTensorType from = operands.front();
  RankedTensorType to = typeOf(op->getResult(0));
  for (int64_t dim = 0; dim < to.getRank(); ++dim) {
    int64_t size = from.getDimSize(dim);
    if (size == to.getDimSize(dim))
      continue;
    if (auto slice = dyn_cast<SliceOp>(op))
      moves.push_back(moveOf(slice, from, dim));
    if (auto pad = dyn_cast<PadOp>(op); pad && pad.getInterior()[dim] == 0)
      moves.push_back(
          {dim,
           {{size}, {to.getDimSize(dim)}, {{0, pad.getLow()[dim], size}}},
           pad.getValue()});
  }
  return moves;
}

std::optional<ElementMove> weft::findSlice(Operation *op,
                                           RankedTensorType operand) {
  if (!isa<SliceOp, RearrangeOp>(op) || op->getNumOperands() != 1)
    return std::nullopt;
  SmallVector<ElementMove, 1> moves = findMoves(op, operand);
  if (moves.size() != 1 || moves.front().value ||
      moves.front().map.runs.size() != 1)
    return std::nullopt;
  return moves.front();
}

SmallVector<Operation *> weft::findSlices(Value value, RankedTensorType type,
                                          int64_t dim) {
  SmallVector<Operation *> slices;
  for (Operation *user : value.getUsers())
    if (std::optional<ElementMove> move = findSlice(user, type);
        move && move->dim == dim)
      slices.push_back(user);
  llvm::sort(slices,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return slices;
}

ElementMove weft::joinSlices(ArrayRef<Operation *> slices,
                             RankedTensorType type) {
  ElementMove all = *findSlice(slices.front(), type);
  int64_t end = all.map.to.front();
  for (Operation *slice : slices.drop_front()) {
    ElementMap map = findSlice(slice, type)->map;
    map.runs.front().to += end;
    end += map.to.front();
    all.map.to.push_back(map.to.front());
    all.map.runs.push_back(map.runs.front());
  }
  return all;
}
