//===- ConvolutionAsMatmul.cpp - Convolutions as matmuls ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
// A convolution is a matmul of the kernel with the windows of lhs, laid out
// behind each other. These are slices of it: one for each place in the kernel,
// which has an element of each window, or one for each place of the result,
// which is a window. Where the kernel is that of a derivative, the result has
// fewer places than the kernel.
//
// Example: 3x3 over x: [b, 8, 8, i], no padding; w: [3, 3, i, o]
//   of width   3 slices [b, 8, 6, i]     -> [b, 8, 6, 3, i]
//   of height  3 slices [b, 6, 6, 3, i]  -> [b, 6, 6, 3, 3, i]
//   contracting [3, 4, 5] x [0, 1, 2]    -> [b, 6, 6, o]
// Plans for CPUs have an instruction instead for f32, which lays nothing out.
//
//===----------------------------------------------------------------------===//

#include "Dims.h"
#include "weft/IR/NarrowFloats.h"
#include "weft/IR/WindowOps.h"

#include <numeric>

using namespace mlir;
using namespace weft;
using sharding::Reduction;

namespace {

/// Of the result and of the kernel: products of their spatial dimensions.
struct Places {
  int64_t result, kernel;
  bool isByResult() const { return result < kernel; }
};

/// What comes first: laying out windows, or products, with all of a kernel or
/// with one place of it.
enum class Way { Matmul, ProductsFirst, Products };

} // namespace

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

static Places placesOf(ConvolutionOp op) {
  size_t rank = op.getStrides().size();
  return {product(op.getType().getShape().slice(1, rank)),
          product(op.getRhs().getType().getShape().take_front(rank))};
}

static Way wayOf(ConvolutionOp op) {
  /// More products than these would make kernels that take long to compile.
  constexpr int64_t maxProducts = 64;
  size_t rank = op.getStrides().size();
  int64_t groups = op.getGroups(),
          inputFeatures = op.getRhs().getType().getDimSize(rank),
          outputFeatures = op.getType().getDimSize(rank + 1) / groups;
  Places places = placesOf(op);
  int64_t numSlices = std::min(places.result, places.kernel);
  bool isNarrow = groups > 1 && (outputFeatures == 1 ||
                                 (inputFeatures == 1 && !places.isByResult()));
  if (isNarrow && numSlices <= maxProducts)
    return Way::Products;
  // Adding up costs more than laying out.
  bool isSmaller =
      2 * product(op.getLhs().getType().getShape().slice(1, rank)) *
          outputFeatures <=
      places.result * inputFeatures;
  if (groups == 1 && !places.isByResult() && numSlices > 1 && isSmaller)
    return Way::ProductsFirst;
  return Way::Matmul;
}

namespace {

/// How a tensor is walked along one spatial dimension: `outer` slices, whose
/// first elements are `outerStep` apart, of `inner` elements.
struct Walk {
  int64_t first, outer, outerStep, inner, innerStep;
};

class Decomposition {
public:
  Decomposition(ConvolutionOp op, TensorBuilder &b);

  Value run();

private:
  Value reshape(Value x, ArrayRef<int64_t> shape) {
    return b.createOrFold<ReshapeOp>(typeOf(x).clone(shape), x);
  }
  Value transpose(Value x, ArrayRef<int64_t> dims) {
    return b.createOrFold<TransposeOp>(x, dims);
  }
  Value splitFeatures(Value x, int64_t features);
  Value padded(Value x) { return padded(x, llvm::seq<int64_t>(0, rank)); }
  Value padded(Value x, llvm::iota_range<int64_t> dims);
  Value slice(Value x, int64_t dim, const Walk &walk, int64_t index);
  Value stack(Value x);
  Value matmul(Value x, Value w);
  Value productsFirst(Value x, Value w);
  Value product(Value x, Value w);
  void addPlaces(Value x, Value w, unsigned dim,
                 SmallVectorImpl<int64_t> &place);
  Value atPlace(Value w, ArrayRef<int64_t> place);

  ConvolutionOp op;
  TensorBuilder &b;
  int64_t rank, groups, inputFeatures, outputFeatures;
  /// Whether there is a slice for each place of the result.
  bool isByResult;
  SmallVector<Walk> walks;
  /// What each place adds to the result, or has of it.
  SmallVector<Value> parts;
};

} // namespace

Decomposition::Decomposition(ConvolutionOp op, TensorBuilder &b)
    : op(op), b(b), rank(op.getStrides().size()), groups(op.getGroups()),
      inputFeatures(op.getRhs().getType().getDimSize(rank)),
      outputFeatures(op.getType().getDimSize(rank + 1) / groups) {
  ArrayRef<int64_t> kernel = op.getRhs().getType().getShape().take_front(rank),
                    result = op.getType().getShape().slice(1, rank);
  isByResult = placesOf(op).isByResult();
  for (int64_t i = 0; i < rank; ++i) {
    int64_t first = std::max<int64_t>(-op.getLow()[i], 0),
            stride = op.getStrides()[i], dilation = op.getRhsDilation()[i];
    walks.push_back(isByResult
                        ? Walk{first, result[i], stride, kernel[i], dilation}
                        : Walk{first, kernel[i], dilation, result[i], stride});
  }
}

/// x with all elements that a window may have; what is cut off in front is left
/// out by the slices.
Value Decomposition::padded(Value x, llvm::iota_range<int64_t> dims) {
  Dims low(typeOf(x).getRank(), 0), high(low), interior(low);
  for (int64_t i : dims) {
    low[i + 1] = std::max<int64_t>(op.getLow()[i], 0);
    high[i + 1] = std::max<int64_t>(op.getHigh()[i], 0);
    interior[i + 1] = op.getLhsDilation()[i] - 1;
  }
  auto zero = FloatAttr::get(typeOf(x).getElementType(), 0);
  return b.createOrFold<PadOp>(x, low, high, interior, zero);
}

/// The last dimension, which has `features` of each group, as two. Devices may
/// split the features of each group in what has just been joined to one.
Value Decomposition::splitFeatures(Value x, int64_t features) {
  Dims shape = shapeOf(x);
  shape.back() = groups;
  shape.push_back(features);
  if (auto joined = x.getDefiningOp<ReshapeOp>();
      joined && shapeOf(joined.getOperand()) == shape)
    return joined.getOperand();
  return reshape(x, shape);
}

Value Decomposition::slice(Value x, int64_t dim, const Walk &walk,
                           int64_t index) {
  Dims starts(typeOf(x).getRank(), 0), limits = shapeOf(x),
                                       strides(starts.size(), 1);
  starts[dim] = walk.first + index * walk.outerStep;
  limits[dim] = starts[dim] + dilated(walk.inner, walk.innerStep);
  strides[dim] = walk.innerStep;
  if (starts[dim] == 0 && walk.innerStep == 1 &&
      limits[dim] == typeOf(x).getDimSize(dim))
    return x;
  return SliceOp::create(b, x, starts, limits, strides);
}

/// The windows: with new dimensions, those of the slices, before the last.
Value Decomposition::stack(Value x) {
  int64_t position = typeOf(x).getRank() - 1;
  for (int64_t i = rank; i-- > 0;) {
    SmallVector<Value> slices;
    for (int64_t index = 0; index < walks[i].outer; ++index) {
      Value part = slice(x, i + 1, walks[i], index);
      Dims shape = shapeOf(part);
      shape.insert(shape.begin() + position, 1);
      slices.push_back(reshape(part, shape));
    }
    x = slices.size() == 1 ? slices.front()
                           : ConcatOp::create(b, slices, position).getResult();
  }
  return x;
}

/// x: [batch, result.., group, inputFeatures] by kernel, [inputFeatures,
/// kernel.., group, batch] by result. w: [kernel.., inputFeatures, group,
/// outputFeatures].
Value Decomposition::matmul(Value x, Value w) {
  bool hasGroups = groups > 1;
  Value windows = stack(x);
  int64_t end = typeOf(windows).getRank();
  // From the dimensions of the slices on, or up to those of the windows.
  Dims lhs =
      isByResult ? dimRange(0, rank + 1) : dimRange(end - rank - 1, rank + 1);
  Dims rhs = dimRange(0, rank + 1), batching[2];
  if (isByResult) // its first dimension is `inputFeatures`
    std::rotate(rhs.begin(), rhs.end() - 1, rhs.end());
  if (hasGroups) {
    batching[0] = {rank + 1};
    batching[1] = {rank + 1};
  }
  Type sum = op.getType().getElementType();
  Dims shape;
  auto addFree = [&](Value value, ArrayRef<int64_t> contracting) {
    for (auto [dim, size] : llvm::enumerate(typeOf(value).getShape()))
      if (!llvm::is_contained(contracting, static_cast<int64_t>(dim)) &&
          !(hasGroups && static_cast<int64_t>(dim) == rank + 1))
        shape.push_back(size);
  };
  if (hasGroups)
    shape.push_back(groups);
  addFree(windows, lhs);
  addFree(w, rhs);
  TypeAttr accumulation =
      isNarrowFloat(sum) ? TypeAttr::get(b.getF32Type()) : TypeAttr();
  Value r =
      DotGeneralOp::create(b, RankedTensorType::get(shape, sum), windows, w,
                           batching[0], batching[1], lhs, rhs, accumulation);
  // [group, batch, result.., outputFeatures] or [group, result.., batch,
  // outputFeatures]
  Dims order = dimRange(0, typeOf(r).getRank());
  int64_t front = hasGroups ? 1 : 0;
  if (isByResult)
    std::rotate(order.begin() + front, order.begin() + front + rank,
                order.begin() + front + rank + 1);
  if (hasGroups)
    std::rotate(order.begin(), order.begin() + 1, order.begin() + rank + 2);
  return transpose(r, order);
}

/// Where the result has less features than lhs, as in the derivative of a first
/// layer: each element of lhs times the whole kernel, and then, along one
/// dimension after the other, the sum of what windows have at each place.
Value Decomposition::productsFirst(Value x, Value w) {
  Type element = op.getType().getElementType();
  // Sums of 16-bit products are rounded once.
  Type sum = isNarrowFloat(element) ? Type(b.getF32Type()) : element;
  Dims shape = shapeOf(x);
  shape.pop_back();
  llvm::append_range(shape, typeOf(w).getShape().take_front(rank));
  shape.push_back(outputFeatures);
  Value r =
      DotGeneralOp::create(b, RankedTensorType::get(shape, sum), x, w, Dims(),
                           Dims(), Dims{rank + 1}, Dims{rank}, TypeAttr());
  for (int64_t i = rank; i-- > 0;) {
    int64_t position = typeOf(r).getRank() - 2;
    Value total;
    for (int64_t index = 0; index < walks[i].outer; ++index) {
      Value part = slice(r, position, {index, 1, 1, 1, 1}, 0);
      Dims rest = shapeOf(part);
      rest.erase(rest.begin() + position);
      part = slice(padded(reshape(part, rest), llvm::seq(i, i + 1)), i + 1,
                   walks[i], index);
      total = total ? b.add(total, part) : part;
    }
    r = total;
  }
  return b.convert(r, element);
}

//===----------------------------------------------------------------------===//
// Few features in a group
//===----------------------------------------------------------------------===//

/// What the kernel w: [kernel.., group, inputFeatures, outputFeatures] has at a
/// place.
Value Decomposition::atPlace(Value w, ArrayRef<int64_t> place) {
  Dims starts(typeOf(w).getRank(), 0), limits = shapeOf(w),
                                       strides(starts.size(), 1);
  for (auto [dim, index] : llvm::enumerate(place)) {
    starts[dim] = index;
    limits[dim] = index + 1;
  }
  Value part = SliceOp::create(b, w, starts, limits, strides);
  return reshape(part, ArrayRef(limits).drop_front(rank));
}

/// Appends the products at all places that begin with `place`.
void Decomposition::addPlaces(Value x, Value w, unsigned dim,
                              SmallVectorImpl<int64_t> &place) {
  if (dim < rank) {
    for (int64_t index = 0; index < walks[dim].outer; ++index) {
      place.push_back(index);
      addPlaces(slice(x, dim + 1, walks[dim], index), w, dim + 1, place);
      place.pop_back();
    }
    return;
  }
  // Both to [batch, result.., group, inputFeatures, outputFeatures], or to
  // [inputFeatures, kernel.., group, batch, outputFeatures].
  Dims shape = shapeOf(x);
  shape.back() = outputFeatures;
  Value factor = w;
  Dims dims = dimRange(0, rank + 4);
  if (!isByResult) {
    factor = atPlace(w, place);
    dims = dimRange(rank + 1, 3);
  }
  RankedTensorType type = typeOf(x).clone(shape);
  Value part =
      b.mul(b.createOrFold<BroadcastOp>(type, x, dimRange(0, rank + 4)),
            b.createOrFold<BroadcastOp>(type, factor, dims));
  if (isByResult)
    part = ReduceOp::create(b, Reduction::Sum, part, dimRange(0, rank + 1));
  parts.push_back(part);
}

/// Products element by element: a matmul for each group would have a row or a
/// column alone.
Value Decomposition::product(Value x, Value w) {
  Type wide = b.getF32Type();
  if (op.getLhs().getType().getElementType().isF64())
    wide = b.getF64Type();
  Dims shape = shapeOf(x);
  shape.push_back(1);
  // [kernel.., inputFeatures, group, outputFeatures] to that of the products.
  Dims order = dimRange(0, rank + 3);
  if (isByResult)
    std::rotate(order.begin(), order.begin() + rank, order.begin() + rank + 1);
  else
    std::swap(order[rank], order[rank + 1]);
  w = transpose(w, order);
  if (isByResult) {
    Dims sizes = shapeOf(w);
    sizes.insert(sizes.end() - 1, 1);
    w = reshape(w, sizes);
  }
  SmallVector<int64_t> place;
  addPlaces(b.convert(reshape(x, shape), wide), b.convert(w, wide), 0, place);
  Value r;
  if (!isByResult) {
    for (Value part : parts)
      r = r ? b.add(r, part) : part;
    r = ReduceOp::create(b, Reduction::Sum, r, rank + 2);
  } else {
    // Each [group, batch, outputFeatures], of which the batch comes first.
    for (Value &part : parts) {
      Dims one = shapeOf(part);
      one.insert(one.begin(), 1);
      part = reshape(part, one);
    }
    r = parts.size() == 1 ? parts.front()
                          : ConcatOp::create(b, parts, 0).getResult();
    int64_t batch = typeOf(r).getDimSize(2);
    Dims split(op.getType().getShape().slice(1, rank));
    split.append({groups, batch, outputFeatures});
    Dims order = dimRange(0, rank + 3);
    order.erase(order.begin() + rank + 1);
    order.insert(order.begin(), rank + 1);
    r = transpose(reshape(r, split), order);
  }
  return b.convert(r, op.getType().getElementType());
}

Value Decomposition::run() {
  Value x = op.getLhs(), w = op.getRhs();
  Way way = wayOf(op);
  if (way == Way::ProductsFirst)
    return productsFirst(x, w);
  if (groups > 1) {
    if (!op.hasGroupsApart())
      x = splitFeatures(x, inputFeatures);
    w = splitFeatures(w, outputFeatures);
  }
  x = padded(x);
  if (isByResult) {
    Dims order = dimRange(0, typeOf(x).getRank());
    std::swap(order.front(), order.back());
    x = transpose(x, order);
  }
  Value r = way == Way::Products ? product(x, w) : matmul(x, w);
  return reshape(r, op.getType().getShape());
}

SmallVector<Value> ConvolutionOp::decompose(TensorBuilder &b) {
  return {Decomposition(*this, b).run()};
}

/// Whether each window is an element of lhs, or all of it, which nobody moves.
static bool isMatmulOfLhs(ConvolutionOp op) {
  Places places = placesOf(op);
  for (size_t i = 0; i < op.getStrides().size(); ++i) {
    int64_t step =
        places.isByResult() ? op.getRhsDilation()[i] : op.getStrides()[i];
    if (op.getLow()[i] != 0 || op.getHigh()[i] != 0 ||
        op.getLhsDilation()[i] != 1 || step != 1)
      return false;
  }
  return std::min(places.result, places.kernel) == 1;
}

/// The runtime's tiles have many columns, so few features are better elsewhere.
static bool hasColumns(ConvolutionOp op) {
  int64_t outputFeatures = op.getType().getShape().back() / op.getGroups();
  Way way = wayOf(op);
  if (way == Way::ProductsFirst)
    return outputFeatures >= 16;
  return way == Way::Matmul &&
         (!placesOf(op).isByResult() || outputFeatures >= 8);
}

bool ConvolutionOp::isCpuInstruction() {
  for (RankedTensorType type :
       {getLhs().getType(), getRhs().getType(), getType()})
    if (!type.getElementType().isF32() || type.getNumElements() == 0)
      return false;
  return getStrides().size() <= ConvolveOp::maxSpatialDims &&
         hasColumns(*this) && !isMatmulOfLhs(*this);
}
