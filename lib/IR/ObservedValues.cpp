//===- ObservedValues.cpp - Values that plans leave to be compared --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ObservedValues.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

static constexpr StringRef orderKey = "order", numberKey = "number",
                           kindKey = "kind", termsKey = "terms",
                           typesKey = "types", nameKey = "name",
                           sourcesKey = "sources";
static constexpr StringLiteral kindNames[] = {"moved", "element", "sum",
                                              "attention"};

std::string weft::observedName(int64_t order) {
  return "weft.observed " + std::to_string(order);
}

std::string weft::valueName(int64_t number) {
  return "weft.value " + std::to_string(number);
}

std::string weft::givenName(int64_t number) {
  return "weft.given " + std::to_string(number);
}

RankedTensorType weft::typeOfAll(RankedTensorType type, MicrobatchesAttr loop) {
  if (!loop)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), loop.getCount());
  return type.clone(shape);
}

Value weft::stackAll(OpBuilder &builder, Value value, MicrobatchesAttr loop) {
  return MicrobatchStackOp::create(builder, value.getLoc(),
                                   typeOfAll(typeOf(value), loop), value,
                                   /*dim=*/0, loop);
}

static std::optional<ObservedKind> parseKind(Attribute attr) {
  auto name = dyn_cast_or_null<StringAttr>(attr);
  for (auto [number, known] : llvm::enumerate(kindNames))
    if (name && name == known)
      return static_cast<ObservedKind>(number);
  return std::nullopt;
}

static StringAttr kindAttr(Builder &b, ObservedKind kind) {
  return b.getStringAttr(kindNames[static_cast<int>(kind)]);
}

static int64_t integer(DictionaryAttr attr, StringRef key) {
  return attr.getAs<IntegerAttr>(key).getInt();
}

std::optional<NumberedOp> weft::getNumbered(Operation *op) {
  auto attr = op->getAttrOfType<DictionaryAttr>(kNumberedAttrName);
  if (!attr)
    return std::nullopt;
  NumberedOp numbered{integer(attr, numberKey),
                      *parseKind(attr.get(kindKey)),
                      integer(attr, termsKey),
                      {}};
  for (auto type : attr.getAs<ArrayAttr>(typesKey).getAsRange<TypeAttr>())
    numbered.types.push_back(cast<RankedTensorType>(type.getValue()));
  return numbered;
}

void weft::setNumbered(Operation *op, const NumberedOp &numbered) {
  Builder b(op->getContext());
  SmallVector<Type> types(numbered.types.begin(), numbered.types.end());
  NamedAttrList entries;
  entries.set(numberKey, b.getI64IntegerAttr(numbered.number));
  entries.set(kindKey, kindAttr(b, numbered.kind));
  entries.set(termsKey, b.getI64IntegerAttr(numbered.terms));
  entries.set(typesKey, b.getTypeArrayAttr(types));
  op->setAttr(kNumberedAttrName, entries.getDictionary(b.getContext()));
}

std::optional<ObservedValue> weft::getObserved(func::FuncOp function,
                                               unsigned result) {
  auto attr =
      function.getResultAttrOfType<DictionaryAttr>(result, kObservedAttrName);
  if (!attr)
    return std::nullopt;
  return ObservedValue{
      integer(attr, orderKey),
      integer(attr, numberKey),
      *parseKind(attr.get(kindKey)),
      integer(attr, termsKey),
      attr.getAs<StringAttr>(nameKey).str(),
      llvm::to_vector(attr.getAs<DenseI64ArrayAttr>(sourcesKey).asArrayRef())};
}

Attribute weft::toAttr(const ObservedValue &value, MLIRContext *context) {
  Builder b(context);
  NamedAttrList entries;
  entries.set(orderKey, b.getI64IntegerAttr(value.order));
  entries.set(numberKey, b.getI64IntegerAttr(value.number));
  entries.set(kindKey, kindAttr(b, value.kind));
  entries.set(termsKey, b.getI64IntegerAttr(value.terms));
  entries.set(nameKey, b.getStringAttr(value.name));
  entries.set(sourcesKey, b.getDenseI64ArrayAttr(value.sources));
  return entries.getDictionary(context);
}

/// Whether `attr` has a kind, and integers under all the names.
static bool hasFacts(DictionaryAttr attr, ArrayRef<StringRef> integers) {
  return attr && parseKind(attr.get(kindKey)) &&
         llvm::all_of(integers, [&](StringRef key) {
           auto value = attr.getAs<IntegerAttr>(key);
           return value && value.getType().isSignlessInteger(64) &&
                  value.getInt() >= 0;
         });
}

std::string weft::checkNumbered(Attribute attr, unsigned results) {
  auto facts = dyn_cast<DictionaryAttr>(attr);
  auto types = facts ? facts.getAs<ArrayAttr>(typesKey) : ArrayAttr();
  if (hasFacts(facts, {numberKey, termsKey}) && types &&
      types.size() == results && llvm::all_of(types, [](Attribute each) {
        auto type = dyn_cast<TypeAttr>(each);
        return type && isa<RankedTensorType>(type.getValue());
      }))
    return {};
  return "must be a dictionary of number, kind, terms, and a tensor type for "
         "each of " +
         std::to_string(results) + " results";
}

std::string weft::checkObserved(Attribute attr) {
  auto facts = dyn_cast<DictionaryAttr>(attr);
  if (hasFacts(facts, {orderKey, numberKey, termsKey}) &&
      facts.getAs<StringAttr>(nameKey) &&
      facts.getAs<DenseI64ArrayAttr>(sourcesKey))
    return {};
  return "must be a dictionary of order, number, kind, terms, name and sources";
}
