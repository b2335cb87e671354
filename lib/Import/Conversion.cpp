//===- Conversion.cpp - The conversion of one op --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "Importer.h"

#include "weft/IR/NarrowFloats.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

Conversion::Conversion(Importer &importer, Operation *source, Values operands,
                       SmallVector<RankedTensorType, 1> types,
                       OpBuilder &builder, Location loc)
    : Emitter(builder, loc), importer(importer), source(source),
      operands(std::move(operands)), types(std::move(types)) {}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

std::nullptr_t Conversion::malformed(const Twine &what) {
  if (!failed)
    importer.getProblems().malformed(loc, name() + " is malformed: " + what);
  failed = true;
  return nullptr;
}

std::nullptr_t Conversion::unsupported(const Twine &why) {
  if (!failed)
    importer.getProblems().unsupported(loc, name(), why);
  failed = true;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Operands and types
//===----------------------------------------------------------------------===//

Value Conversion::operand(unsigned index) {
  if (index < operands.size())
    return operands[index];
  return malformed("it has no operand " + Twine(index));
}

bool Conversion::hasOperands(size_t count) {
  if (operands.size() == count)
    return true;
  malformed("it must have " + Twine(count) + " operands, got " +
            Twine(operands.size()));
  return false;
}

RankedTensorType Conversion::type(unsigned index) {
  if (index < types.size())
    return types[index];
  malformed("it has no result " + Twine(index));
  // Of no use but to go on with.
  return RankedTensorType::get({}, builder.getF32Type());
}

static bool isUnsignedElement(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isUnsignedInteger() || element.isInteger(1);
}

bool Conversion::isUnsigned(unsigned operand) {
  return operand < source->getNumOperands() &&
         isUnsignedElement(source->getOperand(operand).getType());
}

bool Conversion::isUnsignedResult() {
  return source->getNumResults() > 0 &&
         isUnsignedElement(source->getResult(0).getType());
}

RankedTensorType weft::stablehlo::convertType(Type type, std::string &why) {
  auto reject = [&](const Twine &reason) {
    llvm::raw_string_ostream(why) << "type " << type << ": " << reason;
    return RankedTensorType();
  };
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return reject("values of a graph are ranked tensors");
  if (!tensor.hasStaticShape())
    return reject("sizes must be known");
  if (tensor.getEncoding())
    return reject("a tensor of a graph has no encoding");
  Type element = tensor.getElementType();
  if (auto integer = dyn_cast<IntegerType>(element)) {
    unsigned width = integer.getWidth();
    if (width == 1 || width == 8 || width == 16 || width == 32 || width == 64)
      return tensor.clone(IntegerType::get(type.getContext(), width));
  } else if (element.isF32() || isNarrowFloat(element) || element.isF64()) {
    return tensor;
  } else if (isa<ComplexType>(element)) {
    return reject("complex numbers are for use inside of a program; pass real "
                  "and imaginary parts");
  }
  return reject(
      "elements of a graph are f32, bf16, f16, f64, i64, i32, i16, i8 or i1");
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

void Conversion::malformedAttribute(StringRef attribute) {
  Attribute attr = source->getAttr(attribute);
  if (!attr) {
    malformed("it has no " + attribute);
    return;
  }
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  malformed("cannot read its " + attribute + ", " + text);
}

Dims Conversion::integers(StringRef attribute) {
  return decode<Dims>(attribute, readIntegers).value_or(Dims());
}

std::optional<int64_t> Conversion::integer(StringRef attribute) {
  return decode<int64_t>(attribute, readInteger);
}

bool Conversion::flag(StringRef attribute) {
  auto value = dyn_cast_or_null<BoolAttr>(source->getAttr(attribute));
  return value && value.getValue();
}
