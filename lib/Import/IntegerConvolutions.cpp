//===- IntegerConvolutions.cpp - Convolutions by matmuls ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerConvolutions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// x with its last dimension as [groups, rest], the groups in front.
static Value groupsInFront(Conversion &c, Value x, int64_t groups) {
  if (!x)
    return {};
  Shape shape(typeOf(x).getShape());
  int64_t rank = shape.size();
  shape.back() /= groups;
  shape.insert(shape.end() - 1, groups);
  Dims order = {rank - 1};
  for (int64_t dim = 0; dim <= rank; ++dim)
    if (dim != rank - 1)
      order.push_back(dim);
  return c.transpose(c.reshape(x, shape), order);
}

/// Zeros between the elements of the spatial dimensions, and around them.
static Value padImages(Conversion &c, Value x, const WindowAttributes &window) {
  Shape starts(1, 0), limits(1, typeOf(x).getDimSize(0)), shape = limits;
  Dims low(1, 0), high(1, 0), interior(1, 0);
  for (size_t i = 0; i < window.strides.size(); ++i) {
    low.push_back(std::max<int64_t>(window.low[i], 0));
    high.push_back(std::max<int64_t>(window.high[i], 0));
    interior.push_back(window.baseDilations[i] - 1);
    int64_t size = typeOf(x).getDimSize(i + 1);
    shape.push_back(low.back() + size + (size - 1) * interior.back() +
                    high.back());
    starts.push_back(low.back() - window.low[i]);
    limits.push_back(shape.back() - (high.back() - window.high[i]));
  }
  for (Dims *amounts : {&low, &high, &interior})
    amounts->push_back(0);
  for (Shape *sizes : {&limits, &shape})
    sizes->push_back(typeOf(x).getShape().back());
  starts.push_back(0);
  auto zero =
      cast<TypedAttr>(c.builder.getZeroAttr(typeOf(x).getElementType()));
  if (shape != typeOf(x).getShape())
    x = c.make<PadOp>(typeOf(x).clone(shape), x, low, high, interior, zero);
  return c.slice(x, starts, limits);
}

Value weft::stablehlo::convolveIntegers(Conversion &c, Value x, Value w,
                                        const WindowAttributes &window,
                                        int64_t groups,
                                        ArrayRef<int64_t> shape) {
  constexpr int64_t most = 256;
  int64_t spatial = window.strides.size();
  ArrayRef<int64_t> sizes = typeOf(w).getShape().take_front(spatial);
  int64_t count = llvm::product_of(sizes);
  if (count > most)
    return c.unsupported("of integers, with windows of more than " +
                         Twine(most) + " elements");
  if (typeOf(x).getShape().back() % groups != 0 ||
      typeOf(w).getShape().back() % groups != 0)
    return c.malformed("feature_group_count must divide its features");
  x = padImages(c, x, window);
  // [groups, n, spatial.., f] and [groups, spatial.., f, o]
  x = groupsInFront(c, x, groups);
  w = groupsInFront(c, w, groups);
  if (!x || !w)
    return {};
  Shape result = {groups};
  llvm::append_range(result, shape.drop_back());
  result.push_back(shape.back() / groups);
  Value sum;
  for (int64_t number = 0; number < count; ++number) {
    Shape starts(spatial + 3, 0), limits(typeOf(x).getShape()),
        strides(spatial + 3, 1), from(spatial + 3, 0), to(typeOf(w).getShape());
    for (int64_t dim = spatial, rest = number; dim-- > 0;) {
      int64_t at = rest % sizes[dim];
      rest /= sizes[dim];
      from[dim + 1] = at;
      to[dim + 1] = at + 1;
      starts[dim + 2] = at * window.windowDilations[dim];
      strides[dim + 2] = window.strides[dim];
      limits[dim + 2] =
          starts[dim + 2] + (shape[dim + 1] - 1) * window.strides[dim] + 1;
      if (limits[dim + 2] > typeOf(x).getDimSize(dim + 2))
        return c.malformed("its windows must fit in");
    }
    Value matrix = c.reshape(c.slice(w, from, to),
                             {groups, to[spatial + 1], to[spatial + 2]});
    Value product = c.make<DotGeneralOp>(
        typeOf(x).clone(result), c.slice(x, starts, limits, strides), matrix,
        ArrayRef<int64_t>(0), ArrayRef<int64_t>(0),
        ArrayRef<int64_t>(spatial + 2), ArrayRef<int64_t>(1), TypeAttr());
    sum = number == 0 ? product : c.make<arith::AddIOp>(sum, product);
  }
  Dims order = llvm::to_vector(llvm::seq<int64_t>(1, spatial + 2));
  order.append({0, spatial + 2});
  sum = c.reshape(c.transpose(sum, order), shape);
  // The lower bits of a sum are those of the sum in a wider type.
  RankedTensorType type = RankedTensorType::get(shape, c.element());
  return !sum || sum.getType() == type ? sum
                                       : c.make<arith::TruncIOp>(type, sum);
}
