//===- Rows.cpp - Numbers of rows of a tensor -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft;
using sharding::Reduction;

Rows::Rows(TensorBuilder &builder, RankedTensorType type,
           ArrayRef<int64_t> dims)
    : b(builder), type(type), dims(dims) {
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      rest.push_back(dim);
}

Value Rows::reduce(Reduction kind, Value x, ArrayRef<int64_t> along) {
  return along.empty() ? x : ReduceOp::create(b, kind, x, along).getResult();
}

Value Rows::broadcast(Value x, ArrayRef<int64_t> to) {
  auto from = cast<RankedTensorType>(x.getType());
  RankedTensorType result = type.clone(from.getElementType());
  // So that no product with the derivative of the loss by itself is left.
  if (SplatElementsAttr splat; matchPattern(x, m_Constant(&splat)))
    return arith::ConstantOp::create(b, splat.resizeSplat(result));
  return b.createOrFold<BroadcastOp>(result, x, to);
}

Value Rows::sum(Value x) { return reduce(Reduction::Sum, x, dims); }

Value Rows::max(Value x) { return reduce(Reduction::Max, x, dims); }

Value Rows::mean(Value x) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= type.getDimSize(dim);
  Value total = sum(x);
  return b.div(total, b.constant(count, total));
}

Value Rows::spread(Value numbers) { return broadcast(numbers, rest); }

Value Rows::sumOverRows(Value x) { return reduce(Reduction::Sum, x, rest); }

Value Rows::spreadOverRows(Value places) { return broadcast(places, dims); }

Type weft::computationTypeOf(Operation *op) {
  bool isDouble = llvm::any_of(op->getOperandTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getElementType().isF64();
  });
  Builder builder(op->getContext());
  return isDouble ? builder.getF64Type() : builder.getF32Type();
}
