//===- ConvertElementwise.cpp - Arithmetic, element by element ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

static bool isFloat(Value value) {
  return value && isa<FloatType>(typeOf(value).getElementType());
}

static bool isBool(Value value) {
  return value && typeOf(value).getElementType().isInteger(1);
}

//===----------------------------------------------------------------------===//
// One op for one op
//===----------------------------------------------------------------------===//

/// An op for floating-point elements only.
template <typename Float> static Value convertUnaryFloat(Conversion &c) {
  if (!c.hasOperands(1))
    return {};
  return c.make<Float>(c.operand(0));
}

namespace {
/// For an op on elements of one type that it has not.
struct None {};
} // namespace

template <typename Op>
static Value makeBinary(Conversion &c, Value x, Value y) {
  if constexpr (std::is_same_v<Op, None>)
    return c.unsupported("on elements of this type");
  else
    return c.make<Op>(x, y);
}

/// An op that is another one for floating-point numbers, integers with and
/// without sign, and booleans.
template <typename Float, typename Signed, typename Unsigned = Signed,
          typename Bool = None>
static Value convertBinary(Conversion &c) {
  if (!c.hasOperands(2))
    return {};
  Value x = c.operand(0), y = c.operand(1);
  if (isFloat(x))
    return makeBinary<Float>(c, x, y);
  if (isBool(x))
    return makeBinary<Bool>(c, x, y);
  if (c.isUnsigned(0))
    return makeBinary<Unsigned>(c, x, y);
  return makeBinary<Signed>(c, x, y);
}

//===----------------------------------------------------------------------===//
// Ops of several
//===----------------------------------------------------------------------===//

static Value convertNegate(Conversion &c) {
  Value x = c.operand(0);
  return isFloat(x) ? c.make<arith::NegFOp>(x)
                    : c.make<arith::SubIOp>(c.splatLike(x, 0), x);
}

/// Of real numbers, as those of complex ones are split before.
static Value convertReal(Conversion &c) { return c.operand(0); }
static Value convertImag(Conversion &c) { return c.splatLike(c.operand(0), 0); }

static Value convertAbs(Conversion &c) {
  Value x = c.operand(0);
  if (isFloat(x))
    return c.make<math::AbsFOp>(x);
  return c.isUnsigned(0) ? x : c.make<math::AbsIOp>(x);
}

static Value convertNot(Conversion &c) {
  return c.make<arith::XOrIOp>(c.operand(0), c.splatLike(c.operand(0), -1));
}

/// -1, 0 or 1; a NaN and a signed zero stay. Flat, at zero as well: there the
/// derivative of what is selected would be 1.
static Value convertSign(Conversion &c) {
  Value x = c.operand(0), one = c.splatLike(x, 1), zero = c.splatLike(x, 0);
  if (!isFloat(x)) {
    if (c.isUnsigned(0))
      return c.make<arith::MinUIOp>(x, one);
    return c.make<arith::MaxSIOp>(c.make<arith::MinSIOp>(x, one),
                                  c.splatLike(x, -1));
  }
  x = c.make<StopGradientOp>(x);
  Value hasSign = c.make<arith::CmpFOp>(arith::CmpFPredicate::ONE, x, zero);
  return c.make<arith::SelectOp>(hasSign, c.make<math::CopySignOp>(one, x), x);
}

static Value convertSquare(Conversion &c) {
  Value x = c.operand(0);
  return isFloat(x) ? c.make<arith::MulFOp>(x, x) : c.make<arith::MulIOp>(x, x);
}

/// The upper bits of products, as the lower ones are those of a product.
static Value convertMulHi(Conversion &c) {
  if (!c.hasOperands(2))
    return {};
  RankedTensorType type = c.type();
  unsigned width = type.getElementTypeBitWidth();
  if (!isa<IntegerType>(c.element()) || width < 8 || width > 32)
    return c.unsupported("on elements of this type");
  Type wide = type.clone(c.builder.getIntegerType(2 * width));
  auto widen = [&](Value x) {
    return c.isUnsigned(0) ? c.make<arith::ExtUIOp>(wide, x)
                           : c.make<arith::ExtSIOp>(wide, x);
  };
  Value product =
      c.make<arith::MulIOp>(widen(c.operand(0)), widen(c.operand(1)));
  product =
      c.make<arith::ShRUIOp>(product, c.splatLike(product, double(width)));
  return c.make<arith::TruncIOp>(type, product);
}

static Value convertIsFinite(Conversion &c) {
  Value size = c.make<math::AbsFOp>(c.operand(0));
  return c.make<arith::CmpFOp>(
      arith::CmpFPredicate::OLT, size,
      c.splatLike(size, std::numeric_limits<double>::infinity()));
}

static Value convertIsInfinite(Conversion &c) {
  Value size = c.make<math::AbsFOp>(c.operand(0));
  return c.make<arith::CmpFOp>(
      arith::CmpFPredicate::OEQ, size,
      c.splatLike(size, std::numeric_limits<double>::infinity()));
}

/// The operands are min, x and max; the first and the last may be scalars. An
/// op of its own for floats, which is flat at its bounds as it is in JAX: the
/// maximum of two numbers that are equal passes half of a derivative to each.
static Value convertClamp(Conversion &c) {
  if (!c.hasOperands(3))
    return {};
  Value low = c.broadcastScalar(c.operand(0), c.shape()), x = c.operand(1),
        high = c.broadcastScalar(c.operand(2), c.shape());
  if (isFloat(x))
    return c.make<math::ClampFOp>(x, low, high);
  if (c.isUnsigned(1))
    return c.make<arith::MinUIOp>(c.make<arith::MaxUIOp>(low, x), high);
  return c.make<arith::MinSIOp>(c.make<arith::MaxSIOp>(low, x), high);
}

static Value convertSelect(Conversion &c) {
  if (!c.hasOperands(3))
    return {};
  Value condition = c.operand(0);
  // Branches that a constant decides are common in the helpers of jax.numpy.
  if (std::optional<int64_t> known = getSplatInteger(condition))
    return c.operand(*known ? 1 : 2);
  return c.make<arith::SelectOp>(c.broadcastScalar(condition, c.shape()),
                                 c.operand(1), c.operand(2));
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static std::optional<arith::CmpFPredicate> floatPredicate(StringRef direction) {
  using P = arith::CmpFPredicate;
  return llvm::StringSwitch<std::optional<P>>(direction)
      .Case("EQ", P::OEQ)
      .Case("NE", P::UNE)
      .Case("LT", P::OLT)
      .Case("LE", P::OLE)
      .Case("GT", P::OGT)
      .Case("GE", P::OGE)
      .Default(std::nullopt);
}

static std::optional<arith::CmpIPredicate> integerPredicate(StringRef direction,
                                                            bool isUnsigned) {
  using P = arith::CmpIPredicate;
  return llvm::StringSwitch<std::optional<P>>(direction)
      .Case("EQ", P::eq)
      .Case("NE", P::ne)
      .Case("LT", isUnsigned ? P::ult : P::slt)
      .Case("LE", isUnsigned ? P::ule : P::sle)
      .Case("GT", isUnsigned ? P::ugt : P::sgt)
      .Case("GE", isUnsigned ? P::uge : P::sge)
      .Default(std::nullopt);
}

/// Integers in the total order of floats, -NaN the least and NaN the greatest:
/// the bits of those that are negative are ordered the other way round.
static Value bitsInOrder(Conversion &c, Value x) {
  if (x && typeOf(x).getElementTypeBitWidth() < 32)
    x = c.make<arith::ExtFOp>(typeOf(x).clone(c.builder.getF32Type()), x);
  if (!x)
    return {};
  unsigned width = typeOf(x).getElementTypeBitWidth();
  Type integer = c.builder.getIntegerType(width);
  RankedTensorType type = typeOf(x).clone(integer);
  Value bits = c.make<arith::BitcastOp>(type, x);
  Value others = c.splat(type, cast<TypedAttr>(c.builder.getIntegerAttr(
                                   integer, APInt::getSignedMaxValue(width))));
  Value sign = c.make<arith::ShRSIOp>(bits, c.splatLike(bits, width - 1));
  return c.make<arith::XOrIOp>(bits, c.make<arith::AndIOp>(sign, others));
}

static Value convertCompare(Conversion &c) {
  if (!c.hasOperands(2))
    return {};
  Value x = c.operand(0), y = c.operand(1);
  std::string direction =
      readEnum(c.getSource()->getAttr("comparison_direction"),
               "comparison_direction")
          .value_or("");
  if (isFloat(x) && readEnum(c.getSource()->getAttr("compare_type"),
                             "comparison_type") == "TOTALORDER") {
    x = bitsInOrder(c, x);
    y = bitsInOrder(c, y);
  }
  if (isFloat(x)) {
    if (auto predicate = floatPredicate(direction))
      return c.make<arith::CmpFOp>(*predicate, x, y);
  } else if (auto predicate = integerPredicate(direction, c.isUnsigned(0))) {
    return c.make<arith::CmpIOp>(*predicate, x, y);
  }
  c.malformedAttribute("comparison_direction");
  return {};
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

std::vector<Converter> weft::stablehlo::elementwiseConverters() {
  using namespace arith;
  std::vector<Converter> table = {
      {"stablehlo.add", single(convertBinary<AddFOp, AddIOp, AddIOp, OrIOp>)},
      {"stablehlo.subtract", single(convertBinary<SubFOp, SubIOp>)},
      {"stablehlo.multiply",
       single(convertBinary<MulFOp, MulIOp, MulIOp, AndIOp>)},
      {"stablehlo.divide", single(convertBinary<DivFOp, DivSIOp, DivUIOp>)},
      {"stablehlo.remainder", single(convertBinary<RemFOp, RemSIOp, RemUIOp>)},
      {"stablehlo.maximum",
       single(convertBinary<MaximumFOp, MaxSIOp, MaxUIOp, OrIOp>)},
      {"stablehlo.minimum",
       single(convertBinary<MinimumFOp, MinSIOp, MinUIOp, AndIOp>)},
      {"stablehlo.power",
       single(convertBinary<math::PowFOp, math::IPowIOp, None>)},
      {"stablehlo.atan2", single(convertBinary<math::Atan2Op, None>)},
      {"stablehlo.and", single(convertBinary<None, AndIOp, AndIOp, AndIOp>)},
      {"stablehlo.or", single(convertBinary<None, OrIOp, OrIOp, OrIOp>)},
      {"stablehlo.xor", single(convertBinary<None, XOrIOp, XOrIOp, XOrIOp>)},
      {"stablehlo.shift_left", single(convertBinary<None, ShLIOp>)},
      {"stablehlo.shift_right_logical", single(convertBinary<None, ShRUIOp>)},
      {"stablehlo.shift_right_arithmetic",
       single(convertBinary<None, ShRSIOp>)},
      {"stablehlo.exponential", single(convertUnaryFloat<math::ExpOp>)},
      {"stablehlo.exponential_minus_one",
       single(convertUnaryFloat<math::ExpM1Op>)},
      {"stablehlo.log", single(convertUnaryFloat<math::LogOp>)},
      {"stablehlo.log_plus_one", single(convertUnaryFloat<math::Log1pOp>)},
      {"stablehlo.sine", single(convertUnaryFloat<math::SinOp>)},
      {"stablehlo.cosine", single(convertUnaryFloat<math::CosOp>)},
      {"stablehlo.tan", single(convertUnaryFloat<math::TanOp>)},
      {"stablehlo.tanh", single(convertUnaryFloat<math::TanhOp>)},
      {"stablehlo.sqrt", single(convertUnaryFloat<math::SqrtOp>)},
      {"stablehlo.rsqrt", single(convertUnaryFloat<math::RsqrtOp>)},
      {"stablehlo.cbrt", single(convertUnaryFloat<math::CbrtOp>)},
      {"stablehlo.ceil", single(convertUnaryFloat<math::CeilOp>)},
      {"stablehlo.floor", single(convertUnaryFloat<math::FloorOp>)},
      {"stablehlo.round_nearest_even",
       single(convertUnaryFloat<math::RoundEvenOp>)},
      {"stablehlo.round_nearest_afz", single(convertUnaryFloat<math::RoundOp>)},
      {"stablehlo.logistic", single(convertUnaryFloat<LogisticOp>)},
      {"stablehlo.negate", single(convertNegate)},
      {"stablehlo.abs", single(convertAbs)},
      {"stablehlo.real", single(convertReal)},
      {"stablehlo.imag", single(convertImag)},
      {"stablehlo.not", single(convertNot)},
      {"stablehlo.sign", single(convertSign)},
      {"stablehlo.is_finite", single(convertIsFinite)},
      {"stablehlo.popcnt", single(convertUnaryFloat<math::CtPopOp>)},
      {"stablehlo.count_leading_zeros",
       single(convertUnaryFloat<math::CountLeadingZerosOp>)},
      {"stablehlo.clamp", single(convertClamp)},
      {"stablehlo.select", single(convertSelect)},
      {"stablehlo.compare",
       single(convertCompare),
       {"comparison_direction", "compare_type"}},
      {"chlo.sinh", single(convertUnaryFloat<math::SinhOp>)},
      {"chlo.cosh", single(convertUnaryFloat<math::CoshOp>)},
      {"chlo.asin", single(convertUnaryFloat<math::AsinOp>)},
      {"chlo.acos", single(convertUnaryFloat<math::AcosOp>)},
      {"chlo.atan", single(convertUnaryFloat<math::AtanOp>)},
      {"chlo.asinh", single(convertUnaryFloat<math::AsinhOp>)},
      {"chlo.acosh", single(convertUnaryFloat<math::AcoshOp>)},
      {"chlo.atanh", single(convertUnaryFloat<math::AtanhOp>)},
      {"chlo.square", single(convertSquare)},
      {"chlo.mulhi", single(convertMulHi)},
      {"chlo.erf", single(convertUnaryFloat<math::ErfOp>)},
      {"chlo.erfc", single(convertUnaryFloat<math::ErfcOp>)},
      {"chlo.is_inf", single(convertIsInfinite)},
  };
  // How exactly a function is to be computed.
  for (Converter &converter : table)
    converter.attributes.push_back("result_accuracy");
  return table;
}
