//===- ConvertWindows.cpp - Convolution and pooling -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converters.h"
#include "ConvolutionDims.h"
#include "IntegerConvolutions.h"
#include "Windows.h"

#include "weft/IR/NarrowFloats.h"
#include "weft/IR/WindowOps.h"

#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;
using sharding::Reduction;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// A number for each dimension; ones where the op does not say.
static Dims integersOrOnes(Conversion &c, StringRef name, size_t rank) {
  return c.getSource()->hasAttr(name) ? c.integers(name) : Dims(rank, 1);
}

/// The amounts in front and behind of each dimension; none where the op does
/// not say.
static void readPadding(Conversion &c, size_t rank, Dims &low, Dims &high) {
  low.assign(rank, 0);
  high.assign(rank, 0);
  Attribute attr = c.getSource()->getAttr("padding");
  if (!attr)
    return;
  auto dense = dyn_cast<DenseIntElementsAttr>(attr);
  if (!dense || !dense.getElementType().isInteger(64) ||
      dense.getType().getShape() !=
          ArrayRef<int64_t>({static_cast<int64_t>(rank), 2}))
    return c.malformedAttribute("padding");
  for (auto [index, amount] : llvm::enumerate(dense.getValues<int64_t>()))
    (index % 2 == 0 ? low : high)[index / 2] = amount;
}

/// Whether amounts of padding and steps are such that sums of them are numbers.
static bool areInRange(ArrayRef<Dims> lists) {
  constexpr int64_t limit = int64_t(1) << 30;
  return llvm::all_of(lists, [&](const Dims &list) {
    return llvm::all_of(list,
                        [&](int64_t n) { return -limit <= n && n <= limit; });
  });
}

std::optional<WindowAttributes> WindowAttributes::read(Conversion &c,
                                                       size_t rank) {
  WindowAttributes window;
  window.sizes = c.integers("window_dimensions");
  window.strides = integersOrOnes(c, "window_strides", rank);
  window.baseDilations = integersOrOnes(c, "base_dilations", rank);
  window.windowDilations = integersOrOnes(c, "window_dilations", rank);
  readPadding(c, rank, window.low, window.high);
  if (c.hasFailed())
    return std::nullopt;
  for (const Dims *list : {&window.sizes, &window.strides,
                           &window.baseDilations, &window.windowDilations})
    if (list->size() != rank ||
        llvm::any_of(*list, [](int64_t n) { return n < 1; })) {
      c.malformed("its windows must have a size, a stride and dilations of at "
                  "least 1 for each dim");
      return std::nullopt;
    }
  if (!areInRange({window.sizes, window.strides, window.baseDilations,
                   window.windowDilations, window.low, window.high})) {
    c.malformed("its windows are out of range");
    return std::nullopt;
  }
  return window;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Whether windows along the dimension are of a tensor that is made before.
/// Else they say themselves what is around it.
static bool isPaddedBefore(const WindowAttributes &window, size_t dim) {
  return window.baseDilations[dim] != 1 || window.low[dim] < 0 ||
         window.high[dim] < 0;
}

/// x with `value` between its elements and around them, and without those that
/// negative amounts remove; around them everywhere, or where windows cannot say
/// it themselves.
static Value pad(Conversion &c, Value x, const WindowAttributes &window,
                 TypedAttr value, bool isEverywhere) {
  Dims low, high, interior;
  Shape starts, limits, shape;
  for (auto [dim, size] : llvm::enumerate(typeOf(x).getShape())) {
    bool isPadded = isEverywhere || isPaddedBefore(window, dim);
    low.push_back(isPadded ? std::max<int64_t>(window.low[dim], 0) : 0);
    high.push_back(isPadded ? std::max<int64_t>(window.high[dim], 0) : 0);
    interior.push_back(window.baseDilations[dim] - 1);
    shape.push_back(low[dim] + size + (size - 1) * interior[dim] + high[dim]);
    starts.push_back(isPadded ? low[dim] - window.low[dim] : 0);
    limits.push_back(shape[dim] -
                     (isPadded ? high[dim] - window.high[dim] : 0));
  }
  if (shape != typeOf(x).getShape())
    x = c.make<PadOp>(typeOf(x).clone(shape), x, low, high, interior, value);
  return x ? c.slice(x, starts, limits) : Value();
}

static Value pad(Conversion &c, Value x, const WindowAttributes &window,
                 double value) {
  return pad(c, x, window,
             c.builder.getFloatAttr(typeOf(x).getElementType(), value),
             /*isEverywhere=*/false);
}

/// x combined along one dimension; x itself where its windows have one element
/// each.
static Value reduceAlong(Conversion &c, Reduction kind, Value x,
                         const Windows &windows) {
  if (!x || (windows.size == 1 && windows.stride == 1 && windows.low == 0 &&
             windows.high == 0))
    return x;
  Shape shape(typeOf(x).getShape());
  // The verifier complains where no window fits in.
  bool fits = windows.span() <= shape[windows.dim] + windows.low + windows.high;
  shape[windows.dim] = fits ? windows.count(shape[windows.dim]) : 1;
  return c.make<ReduceWindowOp>(typeOf(x).clone(shape), kind, x, windows.dim,
                                windows.size, windows.stride, windows.dilation,
                                windows.low, windows.high);
}

static SmallVector<Windows> listWindows(const WindowAttributes &window) {
  SmallVector<Windows> all;
  for (int64_t dim = window.sizes.size(); dim-- > 0;) {
    all.push_back({dim, window.sizes[dim], window.strides[dim],
                   window.windowDilations[dim]});
    if (!isPaddedBefore(window, dim)) {
      all.back().low = window.low[dim];
      all.back().high = window.high[dim];
    }
  }
  return all;
}

/// What changes no maximum, minimum or sum.
static double neutralOf(Reduction kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return kind == Reduction::Sum   ? 0
         : kind == Reduction::Max ? -infinity
                                  : infinity;
}

static bool isOfOneElement(const WindowAttributes &window) {
  for (const Dims *ones :
       {&window.sizes, &window.strides, &window.baseDilations})
    if (llvm::any_of(*ones, [](int64_t n) { return n != 1; }))
      return false;
  for (const Dims *zeros : {&window.low, &window.high})
    if (llvm::any_of(*zeros, [](int64_t n) { return n != 0; }))
      return false;
  return true;
}

/// The zeros that JAX puts between elements, and around them, in an op of its
/// own: the windows say it themselves.
static Value takeZeros(Value x, WindowAttributes &window) {
  auto pad = x.getDefiningOp<PadOp>();
  if (!pad || !isFloat(pad.getValue(), 0))
    return x;
  WindowAttributes taken = window;
  for (size_t dim = 0; dim < window.low.size(); ++dim) {
    int64_t zeros = pad.getInterior()[dim];
    bool isPadded = zeros || pad.getLow()[dim] || pad.getHigh()[dim];
    if (isPadded && (window.sizes[dim] == 1 || window.baseDilations[dim] != 1))
      return x;
    taken.baseDilations[dim] += zeros;
    taken.low[dim] += pad.getLow()[dim];
    taken.high[dim] += pad.getHigh()[dim];
  }
  if (taken.baseDilations == window.baseDilations)
    return x;
  window = taken;
  return pad.getOperand();
}

/// The sums along dimensions with zeros between their elements: the derivative
/// of a sum of windows that are as far apart, in which each element is added to
/// what such a window covers. Those dimensions then have no windows.
static Value spread(Conversion &c, Value x, WindowAttributes &window) {
  for (size_t dim = 0; x && dim < window.sizes.size(); ++dim) {
    Windows windows = {int64_t(dim), window.sizes[dim],
                       window.baseDilations[dim], window.windowDilations[dim]};
    int64_t size = typeOf(x).getDimSize(dim), span = windows.span();
    int64_t room =
        (size - 1) * windows.stride + 1 + window.low[dim] + window.high[dim];
    if (windows.stride == 1 || windows.size == 1 || window.strides[dim] != 1 ||
        room < span)
      continue;
    Shape shape(typeOf(x).getShape());
    shape[dim] = room - span + 1;
    windows.low = span - 1 - window.low[dim];
    // What the last window reaches beyond the result, which may have more.
    int64_t beyond =
        (size - 1) * windows.stride + span - shape[dim] - windows.low;
    windows.high = std::max<int64_t>(beyond, 0);
    if (windows.low < 0 || windows.high - beyond >= windows.stride)
      continue;
    x = c.make<SpreadWindowsOp>(typeOf(x).clone(shape), x, ValueRange(),
                                windows.dim, windows.size, windows.stride,
                                windows.dilation, windows.low, windows.high);
    window.sizes[dim] = window.baseDilations[dim] =
        window.windowDilations[dim] = 1;
    window.low[dim] = window.high[dim] = 0;
  }
  return x;
}

/// What a graph has no op for: as many slices as a window has elements along a
/// dimension, combined. Null, and a problem, where they are too many.
static Value combineWindows(Conversion &c, Reducer reducer, Value x,
                            TypedAttr neutral, const WindowAttributes &window) {
  constexpr int64_t most = 128;
  x = pad(c, x, window, neutral, /*isEverywhere=*/true);
  for (Windows windows : listWindows(window)) {
    if (!x)
      return {};
    windows.low = windows.high = 0;
    if (windows.size > most)
      return c.unsupported("of more than " + Twine(most) +
                           " elements along a dim, other than sums, maxima and "
                           "minima of floating-point numbers, and running ones "
                           "along a dim, as of cumsum");
    Shape starts(typeOf(x).getRank(), 0), limits(typeOf(x).getShape()),
        strides(starts.size(), 1);
    int64_t size = limits[windows.dim];
    if (windows.span() > size)
      return c.malformed("its windows must fit in");
    strides[windows.dim] = windows.stride;
    int64_t reach = (windows.count(size) - 1) * windows.stride + 1;
    Value combined;
    for (int64_t i = 0; i < windows.size; ++i) {
      starts[windows.dim] = i * windows.dilation;
      limits[windows.dim] = starts[windows.dim] + reach;
      Value part = c.slice(x, starts, limits, strides);
      combined = i == 0 ? part : combine(c, reducer, combined, part);
    }
    x = combined;
  }
  return x;
}

/// In floats of 32 bits at least, as sums are.
static Value combineAnyWindows(Conversion &c, Reducer reducer, Value x,
                               const WindowAttributes &window) {
  Type element = typeOf(x).getElementType();
  TensorBuilder b(c.loc, c.builder);
  bool isWidened = isNarrowFloat(element);
  if (isWidened)
    x = b.convert(x, b.getF32Type());
  TypedAttr neutral = neutralFor(c, reducer, typeOf(x).getElementType());
  x = combineWindows(c, reducer, x, neutral, window);
  return x && isWidened ? b.convert(x, element) : x;
}

Value weft::stablehlo::reduceWindows(Conversion &c,
                                     std::optional<Reducer> reducer, Value x) {
  std::optional<WindowAttributes> window =
      WindowAttributes::read(c, typeOf(x).getRank());
  if (!window)
    return {};
  if (reducer && isOfOneElement(*window))
    return x;
  if (!reducer)
    return c.unsupported("with another function than add, multiply, maximum, "
                         "minimum, and, or, xor");
  if (!isa<FloatType>(typeOf(x).getElementType()) ||
      (*reducer != Reducer::Add && *reducer != Reducer::Max &&
       *reducer != Reducer::Min))
    return combineAnyWindows(c, *reducer, x, *window);
  Reduction kind = *reducer == Reducer::Add   ? Reduction::Sum
                   : *reducer == Reducer::Max ? Reduction::Max
                                              : Reduction::Min;
  Type element = typeOf(x).getElementType();
  TensorBuilder b(c.loc, c.builder);
  if (kind == Reduction::Sum)
    x = takeZeros(x, *window);
  // A sum is rounded once.
  bool isWidened = kind == Reduction::Sum && isNarrowFloat(element);
  if (isWidened)
    x = b.convert(x, b.getF32Type());
  if (kind == Reduction::Sum)
    x = spread(c, x, *window);
  if (!x)
    return {};
  x = pad(c, x, *window, neutralOf(kind));
  for (const Windows &windows : listWindows(*window))
    x = reduceAlong(c, kind, x, windows);
  return x && isWidened ? b.convert(x, element) : x;
}

//===----------------------------------------------------------------------===//
// Derivative of a pooling
//===----------------------------------------------------------------------===//

/// The order in which a region chooses between two values, such as GE.
static std::string matchSelection(Operation *op) {
  if (op->getNumRegions() != 2 || !llvm::hasSingleElement(op->getRegion(0)))
    return {};
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2 ||
      block.front().getName().getStringRef() != "stablehlo.compare" ||
      !llvm::equal(block.front().getOperands(), block.getArguments()) ||
      !llvm::equal(block.back().getOperands(), block.front().getResults()))
    return {};
  return readEnum(block.front().getAttr("comparison_direction"),
                  "comparison_direction")
      .value_or("");
}

static bool addsUp(Operation *op) {
  if (!llvm::hasSingleElement(op->getRegion(1)))
    return false;
  Block &block = op->getRegion(1).front();
  return block.getNumArguments() == 2 && block.getOperations().size() == 2 &&
         block.front().getName().getStringRef() == "stablehlo.add" &&
         llvm::equal(block.front().getOperands(), block.getArguments());
}

/// The padding of x that JAX writes apart, with what is never an extremum: the
/// windows say it themselves.
static PadOp takePadding(Value x, WindowAttributes &window, Reduction kind) {
  auto pad = x.getDefiningOp<PadOp>();
  if (!pad || !isFloat(pad.getValue(), neutralOf(kind)) ||
      llvm::any_of(pad.getInterior(), [](int64_t n) { return n != 0; }))
    return {};
  for (size_t dim = 0; dim < window.low.size(); ++dim) {
    window.low[dim] += pad.getLow()[dim];
    window.high[dim] += pad.getHigh()[dim];
  }
  return pad;
}

/// The sources where the maxima (minima) of their windows are.
static Value convertSelectAndScatter(Conversion &c) {
  if (!c.hasOperands(3))
    return {};
  Value x = c.operand(0), source = c.operand(1), init = c.operand(2);
  std::optional<WindowAttributes> window =
      WindowAttributes::read(c, typeOf(x).getRank());
  if (!window)
    return {};
  Type element = typeOf(x).getElementType();
  std::string order = matchSelection(c.getSource());
  TypedAttr first = getSplat(init);
  if ((order != "GE" && order != "LE") || !addsUp(c.getSource()) ||
      !isa<FloatType>(element) || !first || !isFloat(first, 0))
    return c.unsupported("other than the sum of floating-point numbers at "
                         "maxima or minima, as of the derivative of a pooling");
  if (typeOf(source).getElementType() != element)
    return c.malformed("its source must have the operand's type of elements");
  Reduction kind = order == "GE" ? Reduction::Max : Reduction::Min;
  PadOp padding = takePadding(x, *window, kind);
  if (padding)
    x = padding.getOperand();
  TensorBuilder b(c.loc, c.builder);
  Type wide = element.isF64() ? element : b.getF32Type();
  SmallVector<Windows> all = listWindows(*window);
  Values extrema = {pad(c, x, *window, neutralOf(kind))};
  for (const Windows &windows : all)
    extrema.push_back(reduceAlong(c, kind, extrema.back(), windows));
  if (!extrema.back())
    return {};
  if (typeOf(extrema.back()) != typeOf(source))
    return c.malformed("its source must have an element for each window");
  Value g = b.convert(source, wide);
  for (size_t i = all.size(); i-- > 0;)
    if (extrema[i] != extrema[i + 1])
      g = spreadOverWindows(b, b.convert(extrema[i], wide), g, all[i],
                            b.convert(extrema[i + 1], wide));
  g = b.convert(g, element);
  Shape starts, limits;
  for (auto [dim, size] : llvm::enumerate(typeOf(x).getShape())) {
    int64_t low = isPaddedBefore(*window, dim) ? window->low[dim] : 0;
    if (low < 0)
      return c.unsupported("with windows that lack elements of the operand");
    starts.push_back(low);
    limits.push_back(low + size);
  }
  g = c.slice(g, starts, limits);
  if (!padding)
    return g;
  return c.make<PadOp>(padding.getType(), g, padding.getLow(),
                       padding.getHigh(), padding.getInterior(),
                       cast<TypedAttr>(FloatAttr::get(element, 0)));
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// [groups * n, spatial.., f] to [n, spatial.., groups, f]
static Value batchGroupsToFeatures(Conversion &c, Value x, int64_t groups) {
  Shape shape(typeOf(x).getShape());
  if (shape.front() % groups != 0)
    return c.malformed("its batch_group_count must divide its batch");
  Shape split = shape;
  split.front() /= groups;
  split.insert(split.begin(), groups);
  Dims order = llvm::to_vector(llvm::seq<int64_t>(1, shape.size()));
  order.append({0, static_cast<int64_t>(shape.size())});
  return c.transpose(c.reshape(x, split), order);
}

/// `order` has the dimension of the source for each of the graph.
static Dims inverse(ArrayRef<int64_t> order) {
  Dims result(order.size());
  for (auto [to, from] : llvm::enumerate(order))
    result[from] = to;
  return result;
}

static Value convertConvolution(Conversion &c) {
  if (!c.hasOperands(2))
    return {};
  Value x = c.operand(0), w = c.operand(1);
  std::optional<ConvolutionDims> dims =
      c.decode<ConvolutionDims>("dimension_numbers", readConvolutionDims);
  std::optional<int64_t> groups = c.integer("feature_group_count"),
                         batchGroups = c.integer("batch_group_count");
  if (!dims || !groups || !batchGroups)
    return {};
  size_t rank = dims->lhs.size();
  for (int64_t given :
       {typeOf(x).getRank(), typeOf(w).getRank(), c.type().getRank()})
    if (given != static_cast<int64_t>(rank))
      return c.malformed("dimension_numbers must name each dim");
  WindowAttributes window;
  window.strides = integersOrOnes(c, "window_strides", rank - 2);
  window.baseDilations = integersOrOnes(c, "lhs_dilation", rank - 2);
  window.windowDilations = integersOrOnes(c, "rhs_dilation", rank - 2);
  readPadding(c, rank - 2, window.low, window.high);
  if (c.hasFailed())
    return {};
  if (!areInRange({window.strides, window.baseDilations, window.windowDilations,
                   window.low, window.high}))
    return c.malformed("its windows are out of range");
  if (*groups < 1 || *batchGroups < 1 || (*groups > 1 && *batchGroups > 1))
    return c.malformed("feature_group_count and batch_group_count must be at "
                       "least 1, and one of them 1");
  if (auto reversal = dyn_cast_or_null<DenseBoolArrayAttr>(
          c.getSource()->getAttr("window_reversal"));
      reversal && llvm::is_contained(reversal.asArrayRef(), true))
    return c.unsupported("with a window that is turned around; reverse the "
                         "kernel instead");
  Type element = c.element();
  Type left = typeOf(x).getElementType(), right = typeOf(w).getElementType();
  bool areFloats = isa<FloatType>(element);
  if (!areFloats && (isa<FloatType>(left) || isa<FloatType>(right)))
    return c.unsupported("of floating-point numbers, to integers");
  TensorBuilder b(c.loc, c.builder);
  Type factor = factorType(c, left, right);
  x = c.transpose(convertOperand(c, 0, factor), dims->lhs);
  w = c.transpose(convertOperand(c, 1, factor), dims->kernel);
  if (!x || !w)
    return {};
  if (*batchGroups > 1)
    x = batchGroupsToFeatures(c, x, *batchGroups);
  Shape shape;
  for (int64_t dim : dims->result)
    shape.push_back(c.shape()[dim]);
  Type sum = element.getIntOrFloatBitWidth() > factor.getIntOrFloatBitWidth()
                 ? element
                 : factor;
  int64_t count = std::max(*groups, *batchGroups);
  Value r = areFloats ? c.make<ConvolutionOp>(RankedTensorType::get(shape, sum),
                                              x, w, window.strides, window.low,
                                              window.high, window.baseDilations,
                                              window.windowDilations, count)
                      : convolveIntegers(c, x, w, window, count, shape);
  return r ? c.transpose(b.convert(r, element), inverse(dims->result))
           : Value();
}

std::vector<Converter> weft::stablehlo::windowConverters() {
  return {{"stablehlo.convolution",
           single(convertConvolution),
           {"dimension_numbers", "window_strides", "padding", "lhs_dilation",
            "rhs_dilation", "window_reversal", "feature_group_count",
            "batch_group_count", "precision_config"}},
          {"stablehlo.select_and_scatter",
           single(convertSelectAndScatter),
           {"window_dimensions", "window_strides", "padding"}}};
}
