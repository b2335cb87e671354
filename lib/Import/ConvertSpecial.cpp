//===- ConvertSpecial.cpp - Special functions -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of CHLO that neither a graph nor the math dialect has, by the
// formulas that XLA computes them with. Elements of 16 bits are computed in
// f32.
//
//===----------------------------------------------------------------------===//

#include "Converters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

namespace {
/// Arithmetic on tensors of one type of floats.
struct Floats {
  Conversion &c;

  Value add(Value x, Value y) { return c.make<arith::AddFOp>(x, y); }
  Value add(Value x, double y) { return add(x, c.splatLike(x, y)); }
  Value sub(Value x, Value y) { return c.make<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return c.make<arith::MulFOp>(x, y); }
  Value mul(Value x, double y) { return mul(x, c.splatLike(x, y)); }
  Value div(Value x, Value y) { return c.make<arith::DivFOp>(x, y); }
  Value div(double x, Value y) { return div(c.splatLike(y, x), y); }
  Value div(Value x, double y) { return div(x, c.splatLike(x, y)); }
  Value neg(Value x) { return c.make<arith::NegFOp>(x); }
  Value abs(Value x) { return c.make<math::AbsFOp>(x); }
  Value log(Value x) { return c.make<math::LogOp>(x); }
  Value compare(arith::CmpFPredicate predicate, Value x, double y) {
    return c.make<arith::CmpFOp>(predicate, x, c.splatLike(x, y));
  }
  Value less(Value x, double y) {
    return compare(arith::CmpFPredicate::OLT, x, y);
  }
  Value isFinite(Value x) {
    return less(abs(x), std::numeric_limits<double>::infinity());
  }
  Value select(Value condition, Value x, Value y) {
    return c.make<arith::SelectOp>(condition, x, y);
  }
};
} // namespace

/// Computes a function of elements of 16 bits in f32.
template <typename... Values>
static Value inWideType(Conversion &c, Value (*function)(Floats, Values...)) {
  if (!c.hasOperands(sizeof...(Values)) ||
      llvm::is_contained(c.getOperands(), Value()))
    return {};
  RankedTensorType type = typeOf(c.operand(0));
  if (!isa<FloatType>(type.getElementType()))
    return c.malformed("it is a function of floating-point numbers");
  std::array<Value, sizeof...(Values)> x;
  for (auto [index, value] : llvm::enumerate(x)) {
    value = c.operand(index);
    if (type.getElementTypeBitWidth() < 32)
      value = c.make<arith::ExtFOp>(type.clone(c.builder.getF32Type()), value);
  }
  Value y = std::apply(
      [&](Values... operands) { return function({c}, operands...); }, x);
  return type.getElementTypeBitWidth() < 32 ? c.make<arith::TruncFOp>(type, y)
                                            : y;
}

//===----------------------------------------------------------------------===//
// Gamma
//===----------------------------------------------------------------------===//

/// Lanczos' approximation, with g = 7 and 9 terms:
/// Gamma(z + 1) = sqrt(2 pi) t^(z + 1/2) exp(-t) sum, with t = z + g + 1/2 and
/// sum = base + coefficient[i] / (z + 1 + i) + ...
static constexpr double lanczosG = 7, lanczosBase = 0.99999999999980993;
static constexpr double lanczos[] = {
    676.520368121885098,    -1259.13921672240287,  771.323428777653079,
    -176.615029162140599,   12.5073432786869048,   -0.138571095265720117,
    9.98436957801957086e-6, 1.50563273514931156e-7};

namespace {
struct Lanczos {
  /// Whether x is on the side that is reflected to the other one.
  Value isReflected;
  Value z, t, logT;
};
} // namespace

static Lanczos lanczosOf(Floats f, Value x) {
  Lanczos of;
  of.isReflected = f.less(x, 0.5);
  of.z = f.select(of.isReflected, f.neg(x), f.add(x, -1));
  of.t = f.add(of.z, lanczosG + 0.5);
  Value part = f.div(of.z, lanczosG + 0.5);
  of.logT = f.add(f.c.make<math::Log1pOp>(part), std::log(lanczosG + 0.5));
  return of;
}

static Value logGamma(Floats f, Value x) {
  auto [isReflected, z, t, logT] = lanczosOf(f, x);
  Value sum = f.c.splatLike(x, lanczosBase);
  for (auto [i, coefficient] : llvm::enumerate(lanczos))
    sum = f.add(sum, f.div(coefficient, f.add(z, 1.0 + double(i))));
  // (z + 1/2) log(t) - t without the difference of two large numbers.
  Value exponent = f.sub(f.add(z, 0.5), f.div(t, logT));
  Value y = f.add(f.mul(exponent, logT),
                  f.add(f.log(sum), std::log(2 * std::numbers::pi) / 2));
  // Gamma(x) Gamma(1 - x) = pi / sin(pi x), of the part behind the point.
  Value part = f.abs(f.sub(x, f.c.make<math::FloorOp>(x)));
  part = f.select(f.compare(arith::CmpFPredicate::OGT, part, 0.5),
                  f.sub(f.c.splatLike(part, 1), part), part);
  Value sine = f.log(f.c.make<math::SinOp>(f.mul(part, std::numbers::pi)));
  Value reflected =
      f.sub(f.sub(f.c.splatLike(x, std::log(std::numbers::pi)), sine), y);
  reflected = f.select(f.isFinite(sine), reflected, f.neg(sine));
  Value infinity = f.c.splatLike(x, std::numeric_limits<double>::infinity());
  Value isInfinite = f.compare(arith::CmpFPredicate::OEQ, f.abs(x),
                               std::numeric_limits<double>::infinity());
  return f.select(isInfinite, infinity, f.select(isReflected, reflected, y));
}

/// The derivative of logGamma.
static Value digamma(Floats f, Value x) {
  auto [isReflected, z, t, logT] = lanczosOf(f, x);
  Value sum = f.c.splatLike(x, lanczosBase), slope = f.c.splatLike(x, 0);
  for (auto [i, coefficient] : llvm::enumerate(lanczos)) {
    Value at = f.add(z, 1.0 + double(i));
    slope = f.sub(slope, f.div(coefficient, f.mul(at, at)));
    sum = f.add(sum, f.div(coefficient, at));
  }
  Value y = f.sub(f.add(logT, f.div(slope, sum)), f.div(lanczosG, t));
  // The cotangent has period 1; near 0 its argument is exact.
  Value whole = f.abs(f.c.make<math::FloorOp>(f.add(x, 0.5)));
  Value angle = f.mul(f.add(x, whole), std::numbers::pi);
  Value cotangent = f.div(f.mul(f.c.make<math::CosOp>(angle), std::numbers::pi),
                          f.c.make<math::SinOp>(angle));
  Value result = f.select(isReflected, f.sub(y, cotangent), y);
  Value isInteger = f.c.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x,
                                            f.c.make<math::FloorOp>(x));
  Value isPole = f.c.make<arith::AndIOp>(
      isInteger, f.compare(arith::CmpFPredicate::OLE, x, 0));
  Value nan = f.c.splatLike(x, std::numeric_limits<double>::quiet_NaN());
  return f.select(isPole, nan, result);
}

//===----------------------------------------------------------------------===//
// Zeta
//===----------------------------------------------------------------------===//

/// The sum of (q + k)^-x over all k from 0 on: ten terms, and the others by the
/// formula of Euler and Maclaurin. Of negative q for integers x alone.
static Value zeta(Floats f, Value x, Value q) {
  Value power, sum, a = q;
  for (int k = 0; k <= 10; ++k) {
    a = k == 0 ? q : f.add(a, 1);
    power = f.c.make<math::PowFOp>(a, f.neg(x));
    if (k < 10)
      sum = k == 0 ? power : f.add(sum, power);
  }
  // (2k)! / B(2k), with the numbers of Bernoulli
  constexpr double divisors[] = {12.0,
                                 -720.0,
                                 30240.0,
                                 -1209600.0,
                                 47900160.0,
                                 -1892437580.3183792,
                                 74724249600.0,
                                 -2950130727918.1643,
                                 116467828143500.67,
                                 -4597978722407472.6,
                                 1.8152105401943548e17,
                                 -7.1661652561756670e18};
  Value square = f.mul(a, a), series;
  for (int k = std::size(divisors); k >= 1; --k) {
    Value next = f.c.splatLike(x, 1 / divisors[k - 1]);
    if (series)
      next = f.add(
          next,
          f.mul(f.div(f.mul(f.add(x, 2 * k - 1), f.add(x, 2 * k)), square),
                series));
    series = next;
  }
  Value rest = f.add(f.mul(f.div(x, a), series), 0.5);
  rest = f.add(f.mul(power, rest), f.div(f.mul(power, a), f.add(x, -1)));
  Value y = f.add(sum, rest);

  using P = arith::CmpFPredicate;
  auto isInteger = [&](Value value) {
    return f.c.make<arith::CmpFOp>(P::OEQ, value,
                                   f.c.make<math::FloorOp>(value));
  };
  Value infinity = f.c.splatLike(x, std::numeric_limits<double>::infinity());
  Value nan = f.c.splatLike(x, std::numeric_limits<double>::quiet_NaN());
  Value isNegative = f.compare(P::OLE, q, 0);
  // Powers of negative numbers are none, unless x is an integer.
  y = f.select(isNegative, f.select(isInteger(x), y, nan), y);
  y = f.select(f.less(x, 1), nan, y);
  Value isEven =
      f.compare(P::OEQ, f.c.make<arith::RemFOp>(x, f.c.splatLike(x, 2)), 0);
  Value atPole = f.select(isEven, infinity, nan);
  y = f.select(f.c.make<arith::AndIOp>(isNegative, isInteger(q)), atPole, y);
  return f.select(f.compare(P::OEQ, x, 1), infinity, y);
}

/// The derivative of order n of digamma: (-1)^(n + 1) n! zeta(n + 1, x).
static Value polygamma(Floats f, Value n, Value x) {
  using P = arith::CmpFPredicate;
  Value half = f.mul(n, 0.5);
  Value isEven =
      f.c.make<arith::CmpFOp>(P::OEQ, half, f.c.make<math::FloorOp>(half));
  Value next = f.add(n, 1);
  Value y = f.mul(f.c.make<math::ExpOp>(logGamma(f, next)), zeta(f, next, x));
  y = f.select(isEven, f.neg(y), y);
  y = f.select(f.compare(P::OEQ, n, 0), digamma(f, x), y);
  Value isOrder = f.c.make<arith::AndIOp>(
      f.c.make<arith::CmpFOp>(P::OEQ, n, f.c.make<math::FloorOp>(n)),
      f.compare(P::OGE, n, 0));
  return f.select(isOrder, y,
                  f.c.splatLike(y, std::numeric_limits<double>::quiet_NaN()));
}

//===----------------------------------------------------------------------===//
// Bessel
//===----------------------------------------------------------------------===//

/// A sum of Chebyshev polynomials of x / 2, the highest first.
static Value chebyshev(Floats f, Value x, ArrayRef<double> coefficients) {
  Value b0 = f.c.splatLike(x, 0), b1 = b0, b2 = b0;
  for (double coefficient : coefficients) {
    b2 = b1;
    b1 = b0;
    b0 = f.add(f.sub(f.mul(x, b1), b2), coefficient);
  }
  return f.mul(f.sub(b0, b2), 0.5);
}

/// exp(-|x|) I1(x), with the coefficients of Cephes for single precision.
static Value besselI1e(Floats f, Value x) {
  Value size = f.abs(x);
  Value inner = f.mul(
      size, chebyshev(f, f.add(f.mul(size, 0.5), -2),
                      {9.38153738649577178388e-9, -4.44505912879632808065e-8,
                       2.00329475355213526229e-7, -8.56872026469545474066e-7,
                       3.47025130813767847674e-6, -1.32731636560394358279e-5,
                       4.78156510755005422638e-5, -1.61760815825896745588e-4,
                       5.12285956168575772895e-4, -1.51357245063125314899e-3,
                       4.15642294431288815669e-3, -1.05640848946261981558e-2,
                       2.47264490306265168283e-2, -5.29459812080949914269e-2,
                       1.02643658689847095384e-1, -1.76416518357834055153e-1,
                       2.52587186443633654823e-1}));
  Value outer =
      f.div(chebyshev(f, f.add(f.div(32, size), -2),
                      {-3.83538038596423702205e-9, -2.63146884688951950684e-8,
                       -2.51223623787020892529e-7, -3.88256480887769039346e-6,
                       -1.10588938762623716291e-4, -9.76109749136146840777e-3,
                       7.78576235018280120474e-1}),
            f.c.make<math::SqrtOp>(size));
  Value isInner = f.compare(arith::CmpFPredicate::OLE, size, 8);
  Value y = f.select(isInner, inner, outer);
  return f.select(f.less(x, 0), f.neg(y), y);
}

static Value convertBesselI1e(Conversion &c) {
  if (c.element().isF64())
    return c.unsupported("on elements of type f64");
  return inWideType(c, besselI1e);
}

//===----------------------------------------------------------------------===//
// The inverse of erf
//===----------------------------------------------------------------------===//

/// c[0] x^(n-1) + ... + c[n-1]
static Value polynomial(Floats f, Value x, ArrayRef<double> coefficients) {
  Value sum = f.c.splatLike(x, coefficients.front());
  for (double next : coefficients.drop_front())
    sum = f.add(f.mul(sum, x), next);
  return sum;
}

/// In single precision, of w = -log(1 - x^2); without the factor x.
static Value erfInvSingle(Floats f, Value w) {
  Value isCentral = f.less(w, 5);
  Value central = polynomial(f, f.add(w, -2.5),
                             {2.81022636e-08, 3.43273939e-07, -3.5233877e-06,
                              -4.39150654e-06, 0.00021858087, -0.00125372503,
                              -0.00417768164, 0.246640727, 1.50140941});
  // What is not chosen has no infinite derivative, as the root of 0 has.
  Value outer = f.select(isCentral, f.c.splatLike(w, 5), w);
  Value tail = polynomial(f, f.add(f.c.make<math::SqrtOp>(outer), -3),
                          {-0.000200214257, 0.000100950558, 0.00134934322,
                           -0.00367342844, 0.00573950773, -0.0076224613,
                           0.00943887047, 1.00167406, 2.83297682});
  return f.select(isCentral, central, tail);
}

/// The same in double precision.
static Value erfInvDouble(Floats f, Value w) {
  Value isCentral = f.less(w, 6.25), isInner = f.less(w, 16);
  Value central =
      polynomial(f, f.add(w, -3.125),
                 {-3.6444120640178196996e-21, -1.685059138182016589e-19,
                  1.2858480715256400167e-18,  1.115787767802518096e-17,
                  -1.333171662854620906e-16,  2.0972767875968561637e-17,
                  6.6376381343583238325e-15,  -4.0545662729752068639e-14,
                  -8.1519341976054721522e-14, 2.6335093153082322977e-12,
                  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
                  1.051212273321532285e-09,   -4.1126339803469836976e-09,
                  -2.9070369957882005086e-08, 4.2347877827932403518e-07,
                  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
                  0.0001867342080340571352,   -0.00074070253416626697512,
                  -0.0060336708714301490533,  0.24015818242558961693,
                  1.6536545626831027356});
  Value root =
      f.c.make<math::SqrtOp>(f.select(isCentral, f.c.splatLike(w, 6.25), w));
  Value inner = polynomial(
      f, f.add(root, -3.25),
      {2.2137376921775787049e-09, 9.0756561938885390979e-08,
       -2.7517406297064545428e-07, 1.8239629214389227755e-08,
       1.5027403968909827627e-06, -4.013867526981545969e-06,
       2.9234449089955446044e-06, 1.2475304481671778723e-05,
       -4.7318229009055733981e-05, 6.8284851459573175448e-05,
       2.4031110387097893999e-05, -0.0003550375203628474796,
       0.00095328937973738049703, -0.0016882755560235047313,
       0.0024914420961078508066, -0.0037512085075692412107,
       0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635});
  Value tail =
      polynomial(f, f.add(root, -5),
                 {-2.7109920616438573243e-11, -2.5556418169965252055e-10,
                  1.5076572693500548083e-09, -3.7894654401267369937e-09,
                  7.6157012080783393804e-09, -1.4960026627149240478e-08,
                  2.9147953450901080826e-08, -6.7711997758452339498e-08,
                  2.2900482228026654717e-07, -9.9298272942317002539e-07,
                  4.5260625972231537039e-06, -1.9681778105531670567e-05,
                  7.5995277030017761139e-05, -0.00021503011930044477347,
                  -0.00013871931833623122026, 1.0103004648645343977,
                  4.8499064014085844221});
  return f.select(isCentral, central, f.select(isInner, inner, tail));
}

/// With the coefficients of M. Giles, "Approximating the erfinv function"
/// (2010), which XLA uses, too: random normal numbers are made with it.
static Value erfInv(Floats f, Value x) {
  Value square = f.mul(x, x);
  Value w = f.neg(f.c.make<math::Log1pOp>(f.neg(square)));
  bool isDouble = x && typeOf(x).getElementType().isF64();
  Value y = f.mul(isDouble ? erfInvDouble(f, w) : erfInvSingle(f, w), x);
  Value isOne = f.compare(arith::CmpFPredicate::OEQ, square, 1);
  Value infinity = f.c.splatLike(x, std::numeric_limits<double>::infinity());
  return f.select(isOne, f.c.make<math::CopySignOp>(infinity, x), y);
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

/// The next number of the type from x towards y: the bits of a positive one
/// count up with it.
static Value convertNextAfter(Conversion &c) {
  if (!c.hasOperands(2))
    return {};
  Value x = c.operand(0), y = c.operand(1);
  if (!x || !y)
    return {};
  RankedTensorType type = typeOf(x);
  unsigned width = type.getElementTypeBitWidth();
  if (!isa<FloatType>(type.getElementType()))
    return c.unsupported("on elements of this type");
  Type integer = c.builder.getIntegerType(width);
  RankedTensorType bitsType = type.clone(integer);
  auto number = [&](const APInt &value) {
    return c.splat(bitsType,
                   cast<TypedAttr>(c.builder.getIntegerAttr(integer, value)));
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) {
    return c.make<arith::CmpFOp>(predicate, a, b);
  };
  Value zero = c.splatLike(x, 0), one = number(APInt(width, 1));
  Value bits = c.make<arith::BitcastOp>(bitsType, x);
  Value grows = c.make<arith::CmpIOp>(
      arith::CmpIPredicate::eq, compare(arith::CmpFPredicate::OLT, x, y),
      compare(arith::CmpFPredicate::OGT, x, zero));
  Value next = c.make<arith::SelectOp>(grows, c.make<arith::AddIOp>(bits, one),
                                       c.make<arith::SubIOp>(bits, one));
  Value sign = c.make<arith::AndIOp>(c.make<arith::BitcastOp>(bitsType, y),
                                     number(APInt::getSignMask(width)));
  next = c.make<arith::SelectOp>(compare(arith::CmpFPredicate::OEQ, x, zero),
                                 c.make<arith::OrIOp>(sign, one), next);
  Value result = c.make<arith::BitcastOp>(type, next);
  result = c.make<arith::SelectOp>(compare(arith::CmpFPredicate::OEQ, x, y), y,
                                   result);
  // A NaN of either is one of the sum.
  return c.make<arith::SelectOp>(compare(arith::CmpFPredicate::UNO, x, y),
                                 c.make<arith::AddFOp>(x, y), result);
}

std::vector<Converter> weft::stablehlo::specialConverters() {
  auto wide = [](auto function) {
    return single(
        [function](Conversion &c) { return inWideType(c, function); });
  };
  return {{"chlo.lgamma", wide(logGamma)},
          {"chlo.digamma", wide(digamma)},
          {"chlo.zeta", wide(zeta)},
          {"chlo.polygamma", wide(polygamma)},
          {"chlo.bessel_i1e", single(convertBesselI1e)},
          {"chlo.erf_inv", wide(erfInv)},
          {"chlo.next_after", single(convertNextAfter)}};
}
