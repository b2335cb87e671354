//===- ConvertReductions.cpp - Reductions and their regions ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attributes.h"
#include "Converters.h"
#include "Importer.h"
#include "Reducer.h"
#include "Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"

#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;
using sharding::Reduction;

/// The operands of the op of this name that makes a value; none of another op.
static Values operandsOf(Value value, StringRef name) {
  Operation *op = value.getDefiningOp();
  bool isIt = op && op->getName().getStringRef() == "stablehlo." + name.str();
  return isIt ? Values(op->getOperands()) : Values();
}

/// select(d != d, a + b, max(a, b) + log1p(exp(-abs(d)))) with d = a - b, as of
/// jnp.logaddexp.
static bool isLogAddExp(Block &block) {
  Value a = block.getArgument(0), b = block.getArgument(1);
  auto isOfBoth = [&](Value value, StringRef name) {
    Values operands = operandsOf(value, name);
    return operands.size() == 2 && operands[0] == a && operands[1] == b;
  };
  Operation &last = block.back();
  if (last.getName().getStringRef() != "stablehlo.return" ||
      last.getNumOperands() != 1)
    return false;
  Values choice = operandsOf(last.getOperand(0), "select");
  if (choice.size() != 3 || !isOfBoth(choice[1], "add"))
    return false;
  Values isNan = operandsOf(choice[0], "compare");
  Values sum = operandsOf(choice[2], "add");
  if (isNan.size() != 2 || isNan[0] != isNan[1] ||
      !isOfBoth(isNan[0], "subtract") || sum.size() != 2 ||
      !isOfBoth(sum[0], "maximum") ||
      readEnum(choice[0].getDefiningOp()->getAttr("comparison_direction"),
               "comparison_direction") != "NE")
    return false;
  Value value = sum[1];
  for (StringRef name : {"log_plus_one", "exponential", "negate", "abs"}) {
    Values operands = operandsOf(value, name);
    if (operands.size() != 1)
      return false;
    value = operands[0];
  }
  return value == isNan[0];
}

std::optional<Reducer> weft::stablehlo::matchReducer(Operation *op) {
  if (op->getNumRegions() != 1 || !llvm::hasSingleElement(op->getRegion(0)))
    return std::nullopt;
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() == 2 && isLogAddExp(block))
    return Reducer::LogAddExp;
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return std::nullopt;
  Operation &combine = block.front(), &last = block.back();
  Value a = block.getArgument(0), b = block.getArgument(1);
  bool usesBoth = combine.getNumOperands() == 2 &&
                  ((combine.getOperand(0) == a && combine.getOperand(1) == b) ||
                   (combine.getOperand(0) == b && combine.getOperand(1) == a));
  if (!usesBoth || combine.getNumResults() != 1 ||
      last.getName().getStringRef() != "stablehlo.return" ||
      !llvm::equal(last.getOperands(), combine.getResults()))
    return std::nullopt;
  return llvm::StringSwitch<std::optional<Reducer>>(
             combine.getName().getStringRef())
      .Case("stablehlo.add", Reducer::Add)
      .Case("stablehlo.multiply", Reducer::Multiply)
      .Case("stablehlo.maximum", Reducer::Max)
      .Case("stablehlo.minimum", Reducer::Min)
      .Case("stablehlo.and", Reducer::And)
      .Case("stablehlo.or", Reducer::Or)
      .Case("stablehlo.xor", Reducer::Xor)
      .Default(std::nullopt);
}

bool weft::stablehlo::subtracts(Operation *op) {
  if (op->getNumRegions() != 1 || !llvm::hasSingleElement(op->getRegion(0)))
    return false;
  Block &block = op->getRegion(0).front();
  Operation &last = block.back();
  if (block.getNumArguments() != 2 || last.getNumOperands() != 1)
    return false;
  Values operands = operandsOf(last.getOperand(0), "subtract");
  return operands.size() == 2 && operands[0] == block.getArgument(0) &&
         operands[1] == block.getArgument(1);
}

bool weft::stablehlo::replaces(Operation *op) {
  if (op->getNumRegions() != 1 || !llvm::hasSingleElement(op->getRegion(0)))
    return false;
  Block &block = op->getRegion(0).front();
  return block.getNumArguments() == 2 && block.getOperations().size() == 1 &&
         block.front().getName().getStringRef() == "stablehlo.return" &&
         block.front().getNumOperands() == 1 &&
         block.front().getOperand(0) == block.getArgument(1);
}

//===----------------------------------------------------------------------===//
// Combination of two values
//===----------------------------------------------------------------------===//

/// Of infinities their sum.
static Value logAddExp(Conversion &c, Value x, Value y) {
  Value difference = c.make<arith::SubFOp>(x, y);
  Value distance = c.make<math::AbsFOp>(difference);
  Value term = c.make<math::Log1pOp>(
      c.make<math::ExpOp>(c.make<arith::NegFOp>(distance)));
  Value isNan =
      c.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, difference, difference);
  return c.make<arith::SelectOp>(
      isNan, c.make<arith::AddFOp>(x, y),
      c.make<arith::AddFOp>(c.make<arith::MaximumFOp>(x, y), term));
}

Value weft::stablehlo::combine(Conversion &c, Reducer reducer, Value x,
                               Value y) {
  Type element = typeOf(x).getElementType();
  bool isFloat = isa<FloatType>(element), isUnsigned = c.isUnsigned(0);
  switch (reducer) {
  case Reducer::Add:
    if (element.isInteger(1))
      return c.make<arith::OrIOp>(x, y);
    return isFloat ? c.make<arith::AddFOp>(x, y) : c.make<arith::AddIOp>(x, y);
  case Reducer::Multiply:
    if (element.isInteger(1))
      return c.make<arith::AndIOp>(x, y);
    return isFloat ? c.make<arith::MulFOp>(x, y) : c.make<arith::MulIOp>(x, y);
  case Reducer::Max:
    if (isFloat)
      return c.make<arith::MaximumFOp>(x, y);
    return isUnsigned ? c.make<arith::MaxUIOp>(x, y)
                      : c.make<arith::MaxSIOp>(x, y);
  case Reducer::Min:
    if (isFloat)
      return c.make<arith::MinimumFOp>(x, y);
    return isUnsigned ? c.make<arith::MinUIOp>(x, y)
                      : c.make<arith::MinSIOp>(x, y);
  case Reducer::And:
    return c.make<arith::AndIOp>(x, y);
  case Reducer::Or:
    return c.make<arith::OrIOp>(x, y);
  case Reducer::Xor:
    return c.make<arith::XOrIOp>(x, y);
  case Reducer::LogAddExp:
    return logAddExp(c, x, y);
  }
  llvm_unreachable("all reducers are covered");
}

static double neutralFloat(Reducer reducer) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return reducer == Reducer::Add        ? 0.0
         : reducer == Reducer::Multiply ? 1.0
         : reducer == Reducer::Min      ? infinity
                                        : -infinity;
}

static APInt neutralInteger(Reducer reducer, unsigned width, bool isUnsigned) {
  switch (reducer) {
  case Reducer::Add:
  case Reducer::Or:
  case Reducer::Xor:
    return APInt::getZero(width);
  case Reducer::Multiply:
    return APInt(width, 1);
  case Reducer::And:
    return APInt::getAllOnes(width);
  case Reducer::Max:
    return isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  case Reducer::Min:
    return isUnsigned ? APInt::getAllOnes(width)
                      : APInt::getSignedMaxValue(width);
  case Reducer::LogAddExp:
    break;
  }
  llvm_unreachable("a function of floating-point numbers");
}

TypedAttr weft::stablehlo::neutralFor(Conversion &c, Reducer reducer,
                                      Type element) {
  if (isa<FloatType>(element))
    return c.builder.getFloatAttr(element, neutralFloat(reducer));
  return cast<TypedAttr>(c.builder.getIntegerAttr(
      element, neutralInteger(reducer, element.getIntOrFloatBitWidth(),
                              c.isUnsigned(0))));
}

bool weft::stablehlo::isNeutral(Conversion &c, Reducer reducer, Value init) {
  TypedAttr attr = getSplat(init);
  if (isa_and_nonnull<FloatAttr>(attr))
    return isFloat(attr, neutralFloat(reducer));
  auto integer = dyn_cast_or_null<IntegerAttr>(attr);
  return integer && reducer != Reducer::LogAddExp &&
         integer.getValue() == neutralInteger(reducer,
                                              integer.getValue().getBitWidth(),
                                              c.isUnsigned(0));
}

//===----------------------------------------------------------------------===//
// Reduction of a tensor
//===----------------------------------------------------------------------===//

/// The sum along dimensions in which all elements of a broadcast are equal is a
/// product with their number, as for XLA: a mean of equal numbers is exact.
/// Nothing where the type does not have the number.
static Value sumOfEqual(Conversion &c, BroadcastOp x, ArrayRef<int64_t> dims) {
  Shape shape, kept, along;
  int64_t count = 1;
  for (int64_t dim = 0; dim < x.getType().getRank(); ++dim) {
    const int64_t size = x.getType().getDimSize(dim);
    const bool isSummed = llvm::is_contained(dims, dim);
    const auto *from = llvm::find(x.getDims(), dim);
    if (from == x.getDims().end() && isSummed) {
      count *= size;
      continue;
    }
    if (from != x.getDims().end())
      kept.push_back(int64_t(shape.size()));
    if (isSummed)
      along.push_back(int64_t(shape.size()));
    shape.push_back(size);
  }
  auto element = dyn_cast<FloatType>(x.getType().getElementType());
  bool isInexact = true;
  if (element)
    (void)APFloat(double(count))
        .convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &isInexact);
  if (isInexact || count == 1)
    return {};
  Value rest = c.broadcast(x.getOperand(), shape, kept);
  Value sum = along.empty() ? rest
                            : c.make<ReduceOp>(c.type().clone(element),
                                               Reduction::Sum, rest, along);
  return c.make<arith::MulFOp>(sum, c.splat(typeOf(sum), double(count)));
}

Value weft::stablehlo::reduce(Conversion &c, Reducer reducer, Value x,
                              ArrayRef<int64_t> dims) {
  auto along = [&](Value operand, Reduction kind) {
    return c.make<ReduceOp>(c.type().clone(typeOf(operand).getElementType()),
                            kind, operand, dims);
  };
  Type element = typeOf(x).getElementType();
  if (element.isInteger(1)) {
    bool isAny = reducer == Reducer::Or || reducer == Reducer::Max ||
                 reducer == Reducer::Add;
    return along(x, isAny ? Reduction::Max : Reduction::Min);
  }
  if (reducer == Reducer::Add) {
    auto broadcast = x.getDefiningOp<BroadcastOp>();
    Value product = broadcast ? sumOfEqual(c, broadcast, dims) : Value();
    return product ? product : along(x, Reduction::Sum);
  }
  Reduction kind = reducer == Reducer::Max ? Reduction::Max : Reduction::Min;
  if (isa<FloatType>(element) || !c.isUnsigned(0))
    return along(x, kind);
  // With the first bit flipped, integers without sign are ordered as those
  // with one.
  unsigned width = element.getIntOrFloatBitWidth();
  auto flip = [&](Value value) {
    if (!value)
      return Value();
    Value bit =
        c.splat(typeOf(value), cast<TypedAttr>(c.builder.getIntegerAttr(
                                   element, APInt::getSignMask(width))));
    return c.make<arith::XOrIOp>(value, bit);
  };
  return flip(along(flip(x), kind));
}

/// Half with half until one element is left: reductions that a graph has no op
/// for. A tensor that is split along one of the dimensions is moved.
static Value reduceByHalves(Conversion &c, Reducer reducer, Value x,
                            ArrayRef<int64_t> dims) {
  for (int64_t dim : dims)
    while (x && typeOf(x).getDimSize(dim) > 1) {
      Shape starts(typeOf(x).getRank(), 0), limits(typeOf(x).getShape());
      int64_t size = limits[dim], half = size / 2;
      auto piece = [&](int64_t start, int64_t limit) {
        starts[dim] = start;
        limits[dim] = limit;
        return c.slice(x, starts, limits);
      };
      Value rest = size % 2 ? piece(2 * half, size) : Value();
      Value halves = combine(c, reducer, piece(0, half), piece(half, 2 * half));
      x = rest ? c.concat({halves, rest}, dim) : halves;
    }
  return x ? c.reshape(x, c.shape()) : Value();
}

/// In another type of floats.
static Value withFloats(Conversion &c, Value x, Type element) {
  if (!x || typeOf(x).getElementType() == element)
    return x;
  auto type = typeOf(x).clone(element);
  bool widens = element.getIntOrFloatBitWidth() >
                typeOf(x).getElementType().getIntOrFloatBitWidth();
  return widens ? c.make<arith::ExtFOp>(type, x)
                : c.make<arith::TruncFOp>(type, x);
}

/// What numbers are combined in: as in JAX's own sums, 16 bits would lose too
/// much on the way.
static Type wideTypeOf(Conversion &c, Type element) {
  bool isNarrow =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Type(c.builder.getF32Type()) : element;
}

static Value reduceAny(Conversion &c, Reducer reducer, Value x,
                       ArrayRef<int64_t> dims) {
  Type element = typeOf(x).getElementType();
  bool isBitwise = reducer == Reducer::And || reducer == Reducer::Or;
  bool isInGraph = element.isInteger(1)
                       ? reducer != Reducer::Xor
                       : !isBitwise && reducer != Reducer::Xor &&
                             reducer != Reducer::Multiply &&
                             reducer != Reducer::LogAddExp;
  if (isInGraph)
    return reduce(c, reducer, x, dims);
  if (isa<FloatType>(element))
    x = withFloats(c, x, wideTypeOf(c, element));
  Value result = reduceByHalves(c, reducer, x, dims);
  return isa<FloatType>(element) ? withFloats(c, result, element) : result;
}

static Value convertReduce(Conversion &c) {
  Operation *op = c.getSource();
  if (!c.hasOperands(2))
    return {};
  Value x = c.operand(0), init = c.operand(1);
  Dims dims = c.integers("dimensions");
  if (c.hasFailed())
    return {};
  llvm::sort(dims);
  if (typeOf(init).getRank() != 0 ||
      typeOf(init).getElementType() != typeOf(x).getElementType())
    return c.malformed("its initial value must be a scalar of the elements' "
                       "type");
  std::optional<Reducer> reducer = matchReducer(op);
  if (!reducer)
    return c.unsupported("with another function than add, multiply, maximum, "
                         "minimum, and, or, xor");
  Value result = dims.empty() ? x : reduceAny(c, *reducer, x, dims);
  if (!result || isNeutral(c, *reducer, init))
    return result;
  return combine(c, *reducer, result,
                 c.broadcastScalar(init, typeOf(result).getShape()));
}

//===----------------------------------------------------------------------===//
// Reduction of windows
//===----------------------------------------------------------------------===//

namespace {
/// Windows that hold all elements up to each index of a dimension, as those of
/// cumsum, or all from it on.
struct RunningWindow {
  int64_t dim;
  bool isReversed;
};
} // namespace

static std::optional<RunningWindow> matchRunningWindow(Conversion &c,
                                                       ArrayRef<int64_t> shape,
                                                       ArrayRef<int64_t> sizes,
                                                       ArrayRef<int64_t> pads) {
  for (StringRef name :
       {"window_strides", "base_dilations", "window_dilations"})
    if (c.getSource()->hasAttr(name) &&
        !llvm::all_of(c.integers(name), [](int64_t n) { return n == 1; }))
      return std::nullopt;
  std::optional<RunningWindow> found;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    ArrayRef<int64_t> pad = pads.slice(2 * dim, 2);
    if (sizes[dim] == 1 && pad[0] == 0 && pad[1] == 0)
      continue;
    bool isForward = pad[0] == size - 1 && pad[1] == 0;
    bool isReversed = pad[0] == 0 && pad[1] == size - 1;
    if (found || sizes[dim] != size || !(isForward || isReversed))
      return std::nullopt;
    found = RunningWindow{static_cast<int64_t>(dim), isReversed};
  }
  return found;
}

/// Each element and the one at a distance before it (after it), which is `init`
/// where there is none.
static Value shiftRunning(Conversion &c, Value x, Value init, int64_t distance,
                          RunningWindow window) {
  Shape shape(typeOf(x).getShape());
  Shape starts(shape.size(), 0), limits = shape, edge = shape;
  edge[window.dim] = distance;
  (window.isReversed ? starts[window.dim] = distance
                     : limits[window.dim] = shape[window.dim] - distance);
  Value rest = c.slice(x, starts, limits);
  Value neutral = c.broadcastScalar(init, edge);
  return window.isReversed ? c.concat({rest, neutral}, window.dim)
                           : c.concat({neutral, rest}, window.dim);
}

/// Combines each element with all before it (after it): at a distance of 1, 2,
/// 4, ..., which takes as many steps as the size has bits.
static Value combineSteps(Conversion &c, Reducer reducer, Value x, Value init,
                          RunningWindow window) {
  int64_t size = typeOf(x).getDimSize(window.dim);
  for (int64_t distance = 1; x && distance < size; distance *= 2)
    x = combine(c, reducer, x, shiftRunning(c, x, init, distance, window));
  return x;
}

/// The same in blocks, as many as the dimension may have shards: the steps
/// within a block stay on a device, and devices exchange what their blocks
/// combine to, one element each.
///
///   [1, 1, 1 | 1, 1, 1]   within blocks [1, 2, 3 | 1, 2, 3]
///   of blocks [3 | 3], before each of them [0 | 3]
///   together [1, 2, 3 | 4, 5, 6]
static Value combineRunning(Conversion &c, Reducer reducer, Value x, Value init,
                            RunningWindow window) {
  Shape shape(typeOf(x).getShape());
  if (shape.empty())
    return x;
  int64_t size = shape[window.dim];
  int64_t blocks = c.getImporter().getMeshes().countShards(size);
  if (blocks == 1 || blocks == size)
    return combineSteps(c, reducer, x, init, window);
  Shape split = shape;
  split[window.dim] = blocks;
  split.insert(split.begin() + window.dim + 1, size / blocks);
  RunningWindow within{window.dim + 1, window.isReversed};
  Value blockwise = combineSteps(c, reducer, c.reshape(x, split), init, within);
  if (!blockwise)
    return {};
  Shape starts(split.size(), 0), limits = split, totalShape = shape;
  starts[within.dim] = window.isReversed ? 0 : size / blocks - 1;
  limits[within.dim] = starts[within.dim] + 1;
  totalShape[window.dim] = blocks;
  Value totals = c.reshape(c.slice(blockwise, starts, limits), totalShape);
  Value before = shiftRunning(c, combineSteps(c, reducer, totals, init, window),
                              init, 1, window);
  if (!before)
    return {};
  Shape dims;
  for (int64_t dim = 0; dim < static_cast<int64_t>(split.size()); ++dim)
    if (dim != within.dim)
      dims.push_back(dim);
  Value combined =
      combine(c, reducer, c.broadcast(before, split, dims), blockwise);
  return c.reshape(combined, shape);
}

static Value convertReduceWindow(Conversion &c) {
  if (!c.hasOperands(2))
    return {};
  Value x = c.operand(0), init = c.operand(1);
  Dims sizes = c.integers("window_dimensions"), pads(2 * sizes.size(), 0);
  if (Attribute attr = c.getSource()->getAttr("padding")) {
    auto dense = dyn_cast<DenseIntElementsAttr>(attr);
    if (dense && dense.getElementType().isInteger(64))
      pads = Dims(dense.getValues<int64_t>());
    else
      c.malformedAttribute("padding");
  }
  if (c.hasFailed())
    return {};
  ArrayRef<int64_t> shape = typeOf(x).getShape();
  if (sizes.size() != shape.size() || pads.size() != 2 * shape.size() ||
      typeOf(init).getRank() != 0)
    return c.malformed("its windows and initial value must fit its operand");
  std::optional<Reducer> reducer = matchReducer(c.getSource());
  std::optional<RunningWindow> window =
      matchRunningWindow(c, shape, sizes, pads);
  if (!reducer || !window || !isNeutral(c, *reducer, init)) {
    Value result = reduceWindows(c, reducer, x);
    if (!result || isNeutral(c, *reducer, init))
      return result;
    return combine(c, *reducer, result,
                   c.broadcastScalar(init, typeOf(result).getShape()));
  }
  Type element = typeOf(x).getElementType(), wide = wideTypeOf(c, element);
  if (wide == element)
    return combineRunning(c, *reducer, x, init, *window);
  Value sum = combineRunning(c, *reducer, withFloats(c, x, wide),
                             withFloats(c, init, wide), *window);
  return withFloats(c, sum, element);
}

/// Reductions of one tensor, and argmax and argmin, of two.
static Values convertAnyReduce(Conversion &c) {
  return c.numOperands() == 4 ? convertArgReduce(c) : Values{convertReduce(c)};
}

std::vector<Converter> weft::stablehlo::reductionConverters() {
  return {{"stablehlo.reduce", convertAnyReduce, {"dimensions"}},
          {"stablehlo.reduce_window",
           single(convertReduceWindow),
           {"window_dimensions", "window_strides", "base_dilations",
            "window_dilations", "padding"}}};
}
