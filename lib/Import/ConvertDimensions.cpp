//===- ConvertDimensions.cpp - Ops that move elements ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converters.h"
#include "Updates.h"

#include "weft/IR/GroupedOps.h"
#include "weft/IR/NarrowFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

static Value convertBroadcast(Conversion &c) {
  Value x = c.operand(0);
  Dims dims = c.integers("broadcast_dimensions");
  if (!x || c.hasFailed())
    return {};
  if (dims.size() != static_cast<size_t>(typeOf(x).getRank()))
    return c.malformed("broadcast_dimensions must name a dim of the result for "
                       "each dim of the operand");
  // A broadcast of a graph keeps the order of dimensions.
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(dims.size())));
  llvm::stable_sort(order,
                    [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  llvm::sort(dims);
  return c.broadcast(c.transpose(x, order), c.shape(), dims);
}

static Value convertReshape(Conversion &c) {
  return c.reshape(c.operand(0), c.shape());
}

static Value convertTranspose(Conversion &c) {
  return c.transpose(c.operand(0), c.integers("permutation"));
}

static Value convertSlice(Conversion &c) {
  Dims starts = c.integers("start_indices"),
       limits = c.integers("limit_indices"), strides = c.integers("strides");
  Value x = c.operand(0);
  if (!x || c.hasFailed())
    return {};
  size_t rank = typeOf(x).getRank();
  if (starts.size() != rank || limits.size() != rank || strides.size() != rank)
    return c.malformed("start_indices, limit_indices and strides must have a "
                       "number for each dim");
  if (llvm::any_of(strides, [](int64_t stride) { return stride != 1; }))
    return c.slice(x, starts, limits, strides);
  return sliceUpdated(c, x, starts, limits);
}

static Value convertConcatenate(Conversion &c) {
  std::optional<int64_t> dim = c.integer("dimension");
  if (!dim)
    return {};
  return c.concat(c.getOperands(), *dim);
}

static Value convertIota(Conversion &c) {
  std::optional<int64_t> dim = c.integer("iota_dimension");
  if (!dim)
    return {};
  return c.iota(c.shape(), c.element(), *dim);
}

/// Takes the elements of a dimension from the last to the first.
static Value convertReverse(Conversion &c) {
  Value x = c.operand(0);
  for (int64_t dim : c.integers("dimensions")) {
    if (!x || c.hasFailed())
      return {};
    if (dim < 0 || dim >= typeOf(x).getRank())
      return c.malformed("dimensions names dim " + Twine(dim));
    int64_t size = typeOf(x).getDimSize(dim);
    sharding::ElementMap map{{size}, {size}, {{size - 1, 0, size, -1}}};
    x = c.make<RearrangeOp>(typeOf(x), x, dim,
                            ElementMapAttr::get(c.builder.getContext(), map),
                            TypedAttr());
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

namespace {
struct Padding {
  Dims low, high, interior;
};
} // namespace

/// Cuts off what negative amounts remove, before anything is added where that
/// is possible: with no padding between elements. Null if nothing is left.
static Value cutBefore(Conversion &c, Value x, Padding &padding) {
  Shape starts, limits;
  for (auto [dim, size] : llvm::enumerate(typeOf(x).getShape())) {
    bool isDense = padding.interior[dim] == 0;
    int64_t fromLow = isDense ? std::max<int64_t>(-padding.low[dim], 0) : 0;
    int64_t fromHigh = isDense ? std::max<int64_t>(-padding.high[dim], 0) : 0;
    if (fromLow + fromHigh >= size)
      return {};
    starts.push_back(fromLow);
    limits.push_back(size - fromHigh);
    padding.low[dim] += fromLow;
    padding.high[dim] += fromHigh;
  }
  return c.slice(x, starts, limits);
}

/// `x` with amounts that are not negative added and negative ones removed.
static Value pad(Conversion &c, Value x, Padding padding, TypedAttr value) {
  Value cut = cutBefore(c, x, padding);
  if (!cut)
    return c.splat(typeOf(x).clone(c.shape()), value);
  Padding added = padding;
  Shape starts, shape;
  for (auto [dim, size] : llvm::enumerate(typeOf(cut).getShape())) {
    added.low[dim] = std::max<int64_t>(padding.low[dim], 0);
    added.high[dim] = std::max<int64_t>(padding.high[dim], 0);
    starts.push_back(added.low[dim] - padding.low[dim]);
    shape.push_back(added.low[dim] + added.high[dim] + size +
                    (size - 1) * padding.interior[dim]);
  }
  Value padded = shape == typeOf(cut).getShape()
                     ? cut
                     : c.make<PadOp>(typeOf(x).clone(shape), cut, added.low,
                                     added.high, added.interior, value);
  Shape limits(starts);
  for (auto [limit, size] : llvm::zip_equal(limits, c.shape()))
    limit += size;
  return padded ? c.slice(padded, starts, limits) : Value();
}

static Value convertPad(Conversion &c) {
  if (!c.hasOperands(2))
    return {};
  Value x = c.operand(0), value = c.operand(1);
  Padding padding = {c.integers("edge_padding_low"),
                     c.integers("edge_padding_high"),
                     c.integers("interior_padding")};
  if (c.hasFailed())
    return {};
  for (const Dims *amounts : {&padding.low, &padding.high, &padding.interior})
    if (amounts->size() != static_cast<size_t>(typeOf(x).getRank()))
      return c.malformed("it must have an amount of padding for each dim");
  for (auto [low, high, interior, before, after] :
       llvm::zip_equal(padding.low, padding.high, padding.interior,
                       typeOf(x).getShape(), c.shape())) {
    constexpr int64_t limit = int64_t(1) << 40;
    if (std::abs(low) > limit || std::abs(high) > limit || interior < 0 ||
        interior > limit || before > limit)
      return c.malformed("amounts of padding are out of range");
    if (low + high + before + (before - 1) * interior != after)
      return c.malformed("its result has not the size that its padding makes");
  }
  if (TypedAttr constant = getSplat(value))
    return pad(c, x, padding, constant);
  // A value that is computed goes where no element is.
  Value padded =
      pad(c, x, padding, cast<TypedAttr>(c.builder.getZeroAttr(c.element())));
  Value everywhere = c.splat(typeOf(x).clone(c.builder.getI1Type()), 1);
  Value isElement = pad(c, everywhere, padding,
                        cast<TypedAttr>(c.builder.getBoolAttr(false)));
  return c.make<arith::SelectOp>(isElement, padded,
                                 c.broadcastScalar(value, c.shape()));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// `x` with elements of a wider type of floats.
static Value widen(Conversion &c, Value x, Type element) {
  Type type = typeOf(x).clone(element);
  return type == x.getType() ? x : c.make<arith::ExtFOp>(type, x);
}

Value weft::stablehlo::convertOperand(Conversion &c, unsigned index,
                                      Type element) {
  Value x = c.operand(index);
  Type type = typeOf(x).clone(element);
  if (type == x.getType())
    return x;
  if (isa<FloatType>(typeOf(x).getElementType()))
    return widen(c, x, element);
  if (isa<FloatType>(element))
    return c.isUnsigned(index) ? c.make<arith::UIToFPOp>(type, x)
                               : c.make<arith::SIToFPOp>(type, x);
  return c.isUnsigned(index) ? c.make<arith::ExtUIOp>(type, x)
                             : c.make<arith::ExtSIOp>(type, x);
}

Type weft::stablehlo::factorType(Conversion &c, Type left, Type right) {
  auto width = [](Type type) { return type.getIntOrFloatBitWidth(); };
  Type wider = width(left) >= width(right) ? left : right;
  bool areFloats = isa<FloatType>(left) && isa<FloatType>(right);
  // A graph has matmuls of integers of 32 and 64 bits. The lower bits of a sum
  // are those of the sum in a wider type.
  if (!isa<FloatType>(c.element()))
    return c.builder.getIntegerType(
        std::max({32u, width(wider), width(c.element())}));
  return areFloats ? wider : c.element();
}

static Value convertDotGeneral(Conversion &c) {
  if (!c.hasOperands(2))
    return {};
  Value lhs = c.operand(0), rhs = c.operand(1);
  std::optional<DotDims> dims =
      c.decode<DotDims>("dot_dimension_numbers", readDotDims);
  if (!dims)
    return {};
  Type left = typeOf(lhs).getElementType(),
       right = typeOf(rhs).getElementType();
  if ((isa<FloatType>(left) || isa<FloatType>(right)) &&
      !isa<FloatType>(c.element()))
    return c.unsupported("of floating-point numbers, to integers");
  // The factors have one type in a graph; it holds all of both.
  Type factor = factorType(c, left, right);
  lhs = convertOperand(c, 0, factor);
  rhs = convertOperand(c, 1, factor);
  // As XLA does, sums of 16-bit floats are formed in f32.
  Type accumulation =
      isNarrowFloat(c.element()) ? c.builder.getF32Type() : Type();
  Type result = c.element();
  bool isNarrowed =
      result.getIntOrFloatBitWidth() < factor.getIntOrFloatBitWidth();
  Value product = c.make<DotGeneralOp>(
      c.type().clone(isNarrowed ? factor : result), lhs, rhs, dims->lhsBatching,
      dims->rhsBatching, dims->lhsContracting, dims->rhsContracting,
      accumulation && !isNarrowed ? TypeAttr::get(accumulation) : TypeAttr());
  if (!isNarrowed)
    return product;
  if (result.isInteger(1))
    return c.make<arith::CmpIOp>(arith::CmpIPredicate::ne, product,
                                 c.splatLike(product, 0));
  return isa<FloatType>(result) ? c.make<arith::TruncFOp>(c.type(), product)
                                : c.make<arith::TruncIOp>(c.type(), product);
}

/// x with a first dimension of size 1.
static Value asBatch(Conversion &c, Value x) {
  RankedTensorType type = typeOf(x);
  Dims shape(type.getShape());
  shape.insert(shape.begin(), 1);
  return c.make<ReshapeOp>(type.clone(shape), x);
}

/// Rows of groups times matrices, or the sums over the rows of each group; no
/// other groups, and no batches.
static Value convertRaggedDot(Conversion &c) {
  if (!c.hasOperands(3))
    return {};
  std::optional<RaggedDotDims> dims = c.decode<RaggedDotDims>(
      "ragged_dot_dimension_numbers", readRaggedDotDims);
  if (!dims)
    return {};
  bool isPlain = dims->lhsBatching.empty() && dims->rhsBatching.empty() &&
                 dims->lhsRagged == Dims{0} &&
                 typeOf(c.operand(0)).getRank() == 2 &&
                 typeOf(c.operand(2)).getRank() == 1;
  bool isByRows =
      dims->rhsGroup == Dims{0} && dims->lhsContracting == Dims{1} &&
      (dims->rhsContracting == Dims{1} || dims->rhsContracting == Dims{2});
  bool isSum = dims->rhsGroup.empty() && dims->lhsContracting == Dims{0} &&
               dims->rhsContracting == Dims{0};
  if (!isPlain || !(isByRows || isSum) || !isa<FloatType>(c.element()))
    return c.unsupported("of other groups than those of the rows of a matrix "
                         "of floating-point numbers");
  Value lhs = asBatch(c, widen(c, c.operand(0), c.element()));
  Value rhs = widen(c, c.operand(1), c.element()), sizes = c.operand(2);
  auto counts = typeOf(sizes).clone(c.builder.getI32Type());
  if (sizes.getType() != counts)
    sizes = c.make<arith::TruncIOp>(counts, sizes);
  sizes = asBatch(c, sizes);
  if (isSum)
    return c.make<GroupedOuterOp>(c.type(), lhs, asBatch(c, rhs), sizes);
  Dims shape(c.shape());
  shape.insert(shape.begin(), 1);
  Value result = c.make<GroupedDotOp>(c.type().clone(shape), lhs, rhs, sizes,
                                      dims->rhsContracting == Dims{2});
  return c.make<ReshapeOp>(c.type(), result);
}

std::vector<Converter> weft::stablehlo::dimensionConverters() {
  return {
      {"stablehlo.broadcast_in_dim",
       single(convertBroadcast),
       {"broadcast_dimensions"}},
      {"stablehlo.reshape", single(convertReshape)},
      {"stablehlo.transpose", single(convertTranspose), {"permutation"}},
      {"stablehlo.slice",
       single(convertSlice),
       {"start_indices", "limit_indices", "strides"}},
      {"stablehlo.concatenate", single(convertConcatenate), {"dimension"}},
      {"stablehlo.iota", single(convertIota), {"iota_dimension"}},
      {"stablehlo.reverse", single(convertReverse), {"dimensions"}},
      {"stablehlo.pad",
       single(convertPad),
       {"edge_padding_low", "edge_padding_high", "interior_padding"}},
      {"stablehlo.dot_general",
       single(convertDotGeneral),
       {"dot_dimension_numbers", "precision_config"}},
      {"chlo.ragged_dot",
       single(convertRaggedDot),
       {"ragged_dot_dimension_numbers", "precision_config"}},
  };
}
