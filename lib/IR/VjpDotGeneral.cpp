//===- VjpDotGeneral.cpp - Derivative of matmuls --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cotangent of one operand is the product of the result's cotangent with
// the other operand, summed over the other operand's free dimensions. Its
// dimensions come out in the order of a product and are transposed to that of
// the operand where they differ; the schedule makes strides of such a
// transpose.
//
// Example: r = x w with x: [b, k] and w: [k, n], so g: [b, n]
//   dx = dot(g, w) contracting [1] x [1]    [b, k]
//   dw = dot(x, g) contracting [0] x [0]    [k, n]
//
//===----------------------------------------------------------------------===//

#include "Dims.h"
#include "weft/IR/VjpBuilder.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace weft;

namespace {

/// The dimensions of one operand by their part in the product, and those of the
/// result that are its free ones.
struct Side {
  Value value;
  Dims batching, contracting, free;
  Dims freeInResult;
};

/// A factor of a product.
struct Factor {
  Value value;
  Dims batching, contracting;
};

} // namespace

static std::pair<Side, Side> sidesOf(DotGeneralOp op) {
  Dims lhsFree = op.getLhsFree(), rhsFree = op.getRhsFree();
  int64_t batch = op.getLhsBatching().size();
  Side lhs{op.getLhs(), Dims(op.getLhsBatching()), Dims(op.getLhsContracting()),
           lhsFree, dimRange(batch, lhsFree.size())};
  Side rhs{op.getRhs(), Dims(op.getRhsBatching()), Dims(op.getRhsContracting()),
           rhsFree, dimRange(batch + lhsFree.size(), rhsFree.size())};
  return {lhs, rhs};
}

/// The dimensions of `wanted` that pair with the contracted ones of `other`, in
/// the order in which these lie in `other`.
static Dims pairedDims(const Side &wanted, const Side &other) {
  Dims order = dimRange(0, other.contracting.size());
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return other.contracting[a] < other.contracting[b];
  });
  return llvm::map_to_vector(order,
                             [&](int64_t i) { return wanted.contracting[i]; });
}

/// The cotangent `g` as the product of elements of the operands' type.
static Value narrowed(Value g, Type element, VjpBuilder &b) {
  auto type = cast<RankedTensorType>(g.getType());
  if (type.getElementType() == element)
    return g;
  return arith::TruncFOp::create(b, type.clone(element), g);
}

static Value cotangentOf(DotGeneralOp op, const Side &wanted, const Side &other,
                         bool isLhs, VjpBuilder &b) {
  auto type = cast<RankedTensorType>(wanted.value.getType());
  int64_t batch = wanted.batching.size();
  Factor g{narrowed(b.getCotangent(), type.getElementType(), b),
           dimRange(0, batch), other.freeInResult};
  Factor rest{other.value, other.batching, other.free};

  // What the dimensions of the two possible products are in the operand.
  Dims paired = pairedDims(wanted, other);
  Dims gFirst = wanted.batching, restFirst = wanted.batching;
  llvm::append_range(gFirst, wanted.free);
  llvm::append_range(gFirst, paired);
  llvm::append_range(restFirst, paired);
  llvm::append_range(restFirst, wanted.free);
  Dims inOrder = dimRange(0, type.getRank());
  bool takesGFirst = gFirst == inOrder || (restFirst != inOrder && isLhs);
  const Dims &dims = takesGFirst ? gFirst : restFirst;
  const Factor &lhs = takesGFirst ? g : rest, &rhs = takesGFirst ? rest : g;

  Dims shape =
      llvm::map_to_vector(dims, [&](int64_t d) { return type.getDimSize(d); });
  // Sums are at least as wide as those of the forward product.
  TypeAttr accumulation = op.getAccumulationTypeAttr();
  Type sum = op.getType().getElementType();
  if (!accumulation && sum != type.getElementType())
    accumulation = TypeAttr::get(sum);
  Value product = DotGeneralOp::create(
      b, type.clone(shape), lhs.value, rhs.value, lhs.batching, rhs.batching,
      lhs.contracting, rhs.contracting, accumulation);
  return b.createOrFold<TransposeOp>(product, invertPermutationVector(dims));
}

void DotGeneralOp::buildVjp(VjpBuilder &b) {
  auto [lhs, rhs] = sidesOf(*this);
  if (b.wants(0))
    b.addCotangent(0, cotangentOf(*this, lhs, rhs, /*isLhs=*/true, b));
  if (b.wants(1))
    b.addCotangent(1, cotangentOf(*this, rhs, lhs, /*isLhs=*/false, b));
}
