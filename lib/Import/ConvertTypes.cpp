//===- ConvertTypes.cpp - Constants and changes of element type -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The elements of an attribute as those of `type`, which has the same bits.
static DenseElementsAttr withType(ElementsAttr elements,
                                  RankedTensorType type) {
  if (auto dense = dyn_cast<DenseElementsAttr>(elements)) {
    if (dense.getType() == type)
      return dense;
    return DenseElementsAttr::getFromRawBuffer(type, dense.getRawData());
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  bool isSplat;
  if (!blob ||
      !DenseElementsAttr::isValidRawBuffer(type, blob->getData(), isSplat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(type, blob->getData());
}

static Value convertConstant(Conversion &c) {
  auto elements =
      dyn_cast_or_null<ElementsAttr>(c.getSource()->getAttr("value"));
  if (!elements ||
      elements.getType() != c.getSource()->getResult(0).getType()) {
    c.malformedAttribute("value");
    return {};
  }
  DenseElementsAttr value = withType(elements, c.type());
  if (!value)
    return c.unsupported("its elements are not in the text");
  return c.make<arith::ConstantOp>(value);
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

/// Not zero.
static Value convertToBool(Conversion &c, Value x) {
  Value zero = c.splatLike(x, 0);
  if (isa<FloatType>(typeOf(x).getElementType()))
    return c.make<arith::CmpFOp>(arith::CmpFPredicate::UNE, x, zero);
  return c.make<arith::CmpIOp>(arith::CmpIPredicate::ne, x, zero);
}

static Value convertFloat(Conversion &c, Value x, Type result) {
  if (auto to = dyn_cast<FloatType>(c.element())) {
    unsigned from = typeOf(x).getElementType().getIntOrFloatBitWidth();
    // bf16 and f16 hold numbers that the other one does not.
    if (to.getWidth() == from) {
      x = c.make<arith::ExtFOp>(typeOf(x).clone(c.builder.getF32Type()), x);
      return c.make<arith::TruncFOp>(result, x);
    }
    return to.getWidth() > from ? c.make<arith::ExtFOp>(result, x)
                                : c.make<arith::TruncFOp>(result, x);
  }
  return c.isUnsignedResult() ? c.make<arith::FPToUIOp>(result, x)
                              : c.make<arith::FPToSIOp>(result, x);
}

static Value convertInteger(Conversion &c, Value x, Type result) {
  if (isa<FloatType>(c.element()))
    return c.isUnsigned(0) ? c.make<arith::UIToFPOp>(result, x)
                           : c.make<arith::SIToFPOp>(result, x);
  if (c.element().getIntOrFloatBitWidth() <
      typeOf(x).getElementType().getIntOrFloatBitWidth())
    return c.make<arith::TruncIOp>(result, x);
  return c.isUnsigned(0) ? c.make<arith::ExtUIOp>(result, x)
                         : c.make<arith::ExtSIOp>(result, x);
}

static Value convertConvert(Conversion &c) {
  Value x = c.operand(0);
  if (!x)
    return {};
  Type result = typeOf(x).clone(c.element());
  if (result == x.getType())
    return x;
  if (c.element().isInteger(1))
    return convertToBool(c, x);
  if (isa<FloatType>(typeOf(x).getElementType()))
    return convertFloat(c, x, result);
  return convertInteger(c, x, result);
}

/// Rounds to the numbers of a narrower type.
static Value convertReducePrecision(Conversion &c) {
  Value x = c.operand(0);
  auto type = x ? dyn_cast<FloatType>(c.element()) : FloatType();
  std::optional<int64_t> exponent = c.integer("exponent_bits"),
                         mantissa = c.integer("mantissa_bits");
  if (!type || !exponent || !mantissa)
    return c.malformed("it rounds floating-point numbers to a number of bits");
  int64_t typeMantissa = type.getFPMantissaWidth() - 1;
  int64_t typeExponent = type.getWidth() - 1 - typeMantissa;
  if (*exponent == typeExponent && *mantissa == typeMantissa)
    return x;
  auto round = [&](FloatType narrow) -> Value {
    if (narrow.getWidth() >= type.getWidth())
      return {};
    Value rounded = c.make<arith::TruncFOp>(typeOf(x).clone(Type(narrow)), x);
    return c.make<arith::ExtFOp>(c.type(), rounded);
  };
  Value rounded;
  if (*exponent == 8 && *mantissa == 7)
    rounded = round(c.builder.getBF16Type());
  else if (*exponent == 8 && *mantissa == 23)
    rounded = round(c.builder.getF32Type());
  if (rounded)
    return rounded;
  return c.unsupported("to " + Twine(*exponent) + " bits of exponent and " +
                       Twine(*mantissa) +
                       " of mantissa; f32 and bf16 are the types known");
}

std::vector<Converter> weft::stablehlo::conversionConverters() {
  return {
      {"stablehlo.constant", single(convertConstant), {"value"}},
      {"stablehlo.convert", single(convertConvert)},
      {"stablehlo.reduce_precision",
       single(convertReducePrecision),
       {"exponent_bits", "mantissa_bits"}},
  };
}
