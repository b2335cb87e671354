//===- ComplexRules.cpp - Complex arithmetic on real numbers --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attributes.h"
#include "ComplexNumbers.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

RankedTensorType weft::stablehlo::partType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto element =
      tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return element ? tensor.clone(element.getElementType()) : RankedTensorType();
}

NamedAttrList weft::stablehlo::attributesOf(Operation *op) {
  NamedAttrList attrs(op->getAttrs());
  if (!op->isRegistered())
    if (auto properties =
            dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
      attrs.append(properties.getValue());
  return attrs;
}

//===----------------------------------------------------------------------===//
// Ops on real numbers
//===----------------------------------------------------------------------===//

Value RealOps::make(StringRef op, ValueRange operands, Type type,
                    ArrayRef<NamedAttribute> attrs) {
  OperationState state(loc, op, operands, TypeRange(type), attrs);
  return builder.create(state)->getResult(0);
}

Value RealOps::constant(DenseElementsAttr value) {
  return make("stablehlo.constant", {}, value.getType(),
              builder.getNamedAttr("value", value));
}

Value RealOps::splat(Type tensor, double value) {
  auto type = cast<RankedTensorType>(tensor);
  return constant(DenseElementsAttr::get(
      type, builder.getFloatAttr(type.getElementType(), value)));
}

Complex RealOps::multiply(Complex x, Complex y) {
  auto times = [&](Value a, Value b) {
    return make("stablehlo.multiply", {a, b});
  };
  return {
      make("stablehlo.subtract",
           {times(x.real, y.real), times(x.imag, y.imag)}),
      make("stablehlo.add", {times(x.real, y.imag), times(x.imag, y.real)})};
}

/// An op of one result on complex numbers that are split, and where its parts
/// are written.
struct Split : RealOps {
  Split(Operation *op, ArrayRef<Complex> operands, OpBuilder &builder)
      : RealOps(builder, op->getLoc()), op(op), operands(operands),
        type(op->getResult(0).getType()) {
    if (RankedTensorType part = partType(type))
      type = part;
  }

  /// The op on other operands, with its attributes.
  Value again(ValueRange values) {
    return make(op->getName().getStringRef(), values, type,
                attributesOf(op).getAttrs());
  }

  Operation *op;
  /// Of a real operand `imag` is null.
  ArrayRef<Complex> operands;
  /// Of a part of the result, or of the result if it is real.
  Type type;
};

/// What is linear in two factors: products, matmuls, convolutions.
static Complex splitBilinear(Split &s) {
  auto [a, b] = s.operands[0];
  auto [c, d] = s.operands[1];
  return {s.make("stablehlo.subtract", {s.again({a, c}), s.again({b, d})}),
          s.make("stablehlo.add", {s.again({a, d}), s.again({b, c})})};
}

/// With the divisor's larger part as the unit, so that squares do not overflow.
static Complex splitDivide(Split &s) {
  Complex y = s.operands[1];
  Value unit = s.make("stablehlo.maximum", {s.make("stablehlo.abs", y.real),
                                            s.make("stablehlo.abs", y.imag)});
  auto over = [&](Value a, Value b) {
    return s.make("stablehlo.divide", {a, b});
  };
  y = {over(y.real, unit), over(y.imag, unit)};
  Value square =
      s.make("stablehlo.add", {s.make("stablehlo.multiply", {y.real, y.real}),
                               s.make("stablehlo.multiply", {y.imag, y.imag})});
  Complex product =
      s.multiply(s.operands[0], {y.real, s.make("stablehlo.negate", y.imag)});
  return {over(over(product.real, square), unit),
          over(over(product.imag, square), unit)};
}

/// max sqrt(1 + (min / max)^2), and 0 of 0.
static Value absolute(Split &s, Complex x) {
  Value a = s.make("stablehlo.abs", x.real),
        b = s.make("stablehlo.abs", x.imag);
  Value large = s.make("stablehlo.maximum", {a, b}),
        small = s.make("stablehlo.minimum", {a, b});
  auto tensor = cast<RankedTensorType>(large.getType());
  Value isZero =
      s.make("stablehlo.compare", {large, s.splat(tensor, 0)},
             tensor.clone(s.builder.getI1Type()),
             s.builder.getNamedAttr(
                 "comparison_direction",
                 parseAttribute("#stablehlo<comparison_direction EQ>",
                                s.builder.getContext())));
  Value ratio =
      s.make("stablehlo.divide",
             {small, s.make("stablehlo.select",
                            {isZero, s.splat(tensor, 1), large}, tensor)});
  Value square = s.make("stablehlo.multiply", {ratio, ratio});
  Value root = s.make("stablehlo.sqrt",
                      s.make("stablehlo.add", {s.splat(tensor, 1), square}));
  return s.make("stablehlo.multiply", {large, root});
}

/// e^a (cos b + i sin b)
static Complex splitExponential(Split &s) {
  auto [a, b] = s.operands[0];
  Value size = s.make("stablehlo.exponential", a);
  return {s.make("stablehlo.multiply", {size, s.make("stablehlo.cosine", b)}),
          s.make("stablehlo.multiply", {size, s.make("stablehlo.sine", b)})};
}

static Complex splitLog(Split &s) {
  auto [a, b] = s.operands[0];
  return {s.make("stablehlo.log", absolute(s, s.operands[0])),
          s.make("stablehlo.atan2", {b, a})};
}

/// x / |x|, and 0 of 0.
static Complex splitSign(Split &s) {
  auto [a, b] = s.operands[0];
  Value size = absolute(s, s.operands[0]);
  // The sign of the size is 0 or 1: 0 / (0 + 1) is 0, a / (|x| + 0) the answer.
  Value isZero = s.make("stablehlo.subtract", {s.splat(size.getType(), 1),
                                               s.make("stablehlo.sign", size)});
  size = s.make("stablehlo.add", {size, isZero});
  return {s.make("stablehlo.divide", {a, size}),
          s.make("stablehlo.divide", {b, size})};
}

/// Equal where both parts are, different where one is.
static std::optional<Complex> splitCompare(Split &s) {
  std::optional<std::string> direction =
      readEnum(s.op->getAttr("comparison_direction"), "comparison_direction");
  if (direction != "EQ" && direction != "NE")
    return std::nullopt;
  auto [a, b] = s.operands[0];
  auto [c, d] = s.operands[1];
  return Complex{s.make(direction == "EQ" ? "stablehlo.and" : "stablehlo.or",
                        {s.again({a, c}), s.again({b, d})}),
                 Value()};
}

static std::optional<Complex> splitConstant(Split &s) {
  auto value = dyn_cast_or_null<DenseElementsAttr>(s.op->getAttr("value"));
  auto type = cast<RankedTensorType>(s.type);
  if (!value || !type.hasStaticShape() ||
      value.getType() != s.op->getResult(0).getType())
    return std::nullopt;
  SmallVector<APFloat> real, imag;
  for (std::complex<APFloat> number :
       value.getValues<std::complex<APFloat>>()) {
    real.push_back(number.real());
    imag.push_back(number.imag());
    if (value.isSplat())
      break;
  }
  return Complex{s.constant(DenseElementsAttr::get(type, real)),
                 s.constant(DenseElementsAttr::get(type, imag))};
}

/// The imaginary part of real numbers is 0; that of what becomes real is left
/// out.
static Complex splitConvert(Split &s) {
  auto [real, imag] = s.operands[0];
  if (!isComplex(s.op->getResult(0)))
    return {s.again(real), Value()};
  return {s.again(real), imag ? s.again(imag) : s.splat(s.type, 0)};
}

namespace {
struct Rule {
  unsigned numOperands;
  /// None if it cannot be done. `imag` is null if the result is real.
  std::function<std::optional<Complex>(Split &)> split;
  /// Whether operands that should be complex may be real.
  bool takesReal = false;
};
} // namespace

static const llvm::StringMap<Rule> &rules() {
  static const llvm::StringMap<Rule> table = {
      {"stablehlo.constant", {0, splitConstant}},
      {"stablehlo.iota",
       {0, [](Split &s) { return Complex{s.again({}), s.splat(s.type, 0)}; }}},
      {"stablehlo.complex",
       {2,
        [](Split &s) {
          return Complex{s.operands[0].real, s.operands[1].real};
        },
        true}},
      {"stablehlo.real",
       {1, [](Split &s) { return Complex{s.operands[0].real, Value()}; }}},
      {"stablehlo.imag",
       {1, [](Split &s) { return Complex{s.operands[0].imag, Value()}; }}},
      {"stablehlo.abs",
       {1, [](Split &s) { return Complex{absolute(s, s.operands[0]), {}}; }}},
      {"stablehlo.multiply", {2, splitBilinear}},
      {"stablehlo.dot_general", {2, splitBilinear}},
      {"stablehlo.convolution", {2, splitBilinear}},
      {"stablehlo.divide", {2, splitDivide}},
      {"stablehlo.exponential", {1, splitExponential}},
      {"stablehlo.log", {1, splitLog}},
      {"stablehlo.sign", {1, splitSign}},
      {"stablehlo.compare", {2, splitCompare}},
      {"stablehlo.convert", {1, splitConvert, true}},
      {"stablehlo.fft",
       {1,
        [](Split &s) { return expandFourierTransform(s.op, s.operands[0], s); },
        true}},
  };
  return table;
}

std::optional<Complex> weft::stablehlo::splitByRule(Operation &op,
                                                    ArrayRef<Complex> operands,
                                                    OpBuilder &builder) {
  auto rule = rules().find(op.getName().getStringRef());
  if (op.getNumResults() != 1 || rule == rules().end() ||
      operands.size() != rule->second.numOperands)
    return std::nullopt;
  if (!rule->second.takesReal &&
      !llvm::all_of(operands, [](Complex x) { return bool(x.imag); }))
    return std::nullopt;
  Split split(&op, operands, builder);
  std::optional<Complex> result = rule->second.split(split);
  if (!result || result->real.getType() != split.type ||
      isComplex(op.getResult(0)) !=
          (result->imag && result->imag.getType() == split.type))
    return std::nullopt;
  Attribute sharding = op.getAttr("sdy.sharding");
  if (!sharding)
    return result;
  for (Value *part : {&result->real, &result->imag})
    if (*part)
      *part = split.make("stablehlo.reshape", *part, part->getType(),
                         builder.getNamedAttr("sdy.sharding", sharding));
  return result;
}
