//===- Attributes.cpp - Attributes of StableHLO ops -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attributes.h"
#include "Scanner.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace weft::stablehlo;

std::optional<Dims> weft::stablehlo::readIntegers(Attribute attr) {
  if (auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attr))
    return Dims(array.asArrayRef());
  auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attr);
  if (!dense || dense.getType().getRank() != 1 ||
      !dense.getElementType().isInteger(64))
    return std::nullopt;
  return Dims(dense.getValues<int64_t>());
}

std::optional<int64_t> weft::stablehlo::readInteger(Attribute attr) {
  auto integer = dyn_cast_or_null<IntegerAttr>(attr);
  if (!integer || integer.getValue().getSignificantBits() > 64)
    return std::nullopt;
  return integer.getValue().getSExtValue();
}

/// The text between the angle brackets of `#stablehlo.<mnemonic><...>` or, with
/// no mnemonic, of `#stablehlo<...>`.
static std::optional<StringRef> readBody(Attribute attr, StringRef mnemonic,
                                         StringRef dialect = "stablehlo") {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(attr);
  if (!opaque || opaque.getDialectNamespace() != dialect)
    return std::nullopt;
  StringRef text = opaque.getAttrData();
  if (mnemonic.empty())
    return text;
  if (!text.consume_front(mnemonic) || !text.consume_front("<") ||
      !text.consume_back(">"))
    return std::nullopt;
  return text;
}

std::optional<std::string> weft::stablehlo::readEnum(Attribute attr,
                                                     StringRef name) {
  std::optional<StringRef> body = readBody(attr, "");
  if (!body)
    return std::nullopt;
  Scanner scanner(*body);
  if (!scanner.consume(name))
    return std::nullopt;
  std::optional<StringRef> word = scanner.word();
  if (!word || !scanner.atEnd())
    return std::nullopt;
  return word->str();
}

namespace {
/// A field of an attribute: a list, or one number.
struct Field {
  StringRef name;
  Dims *list = nullptr;
  int64_t *number = nullptr;
};
} // namespace

/// Reads `name = [0, 1], other = 2`; fields that are not written keep what they
/// have.
static bool readFields(StringRef text, ArrayRef<Field> fields) {
  Scanner scanner(text);
  if (scanner.atEnd())
    return true;
  do {
    std::optional<StringRef> name = scanner.word();
    auto field = llvm::find_if(
        fields, [&](const Field &f) { return name && f.name == *name; });
    if (field == fields.end() || !scanner.consume("="))
      return false;
    if (field->list) {
      std::optional<Dims> list = scanner.integers();
      if (!list)
        return false;
      *field->list = *list;
    } else {
      std::optional<int64_t> number = scanner.integer();
      if (!number)
        return false;
      *field->number = *number;
    }
  } while (scanner.consume(","));
  return scanner.atEnd();
}

std::optional<DotDims> weft::stablehlo::readDotDims(Attribute attr) {
  DotDims dims;
  std::optional<StringRef> body = readBody(attr, "dot");
  if (!body ||
      !readFields(*body,
                  {{"lhs_batching_dimensions", &dims.lhsBatching},
                   {"rhs_batching_dimensions", &dims.rhsBatching},
                   {"lhs_contracting_dimensions", &dims.lhsContracting},
                   {"rhs_contracting_dimensions", &dims.rhsContracting}}))
    return std::nullopt;
  return dims;
}

std::optional<RaggedDotDims>
weft::stablehlo::readRaggedDotDims(Attribute attr) {
  RaggedDotDims dims;
  std::optional<StringRef> body = readBody(attr, "ragged_dot", "chlo");
  if (!body ||
      !readFields(*body, {{"lhs_batching_dimensions", &dims.lhsBatching},
                          {"rhs_batching_dimensions", &dims.rhsBatching},
                          {"lhs_contracting_dimensions", &dims.lhsContracting},
                          {"rhs_contracting_dimensions", &dims.rhsContracting},
                          {"lhs_ragged_dimensions", &dims.lhsRagged},
                          {"rhs_group_dimensions", &dims.rhsGroup}}))
    return std::nullopt;
  return dims;
}

std::optional<IndexingDims> weft::stablehlo::readGatherDims(Attribute attr) {
  IndexingDims dims;
  std::optional<StringRef> body = readBody(attr, "gather");
  if (!body ||
      !readFields(*body,
                  {{"offset_dims", &dims.window},
                   {"collapsed_slice_dims", &dims.collapsed},
                   {"operand_batching_dims", &dims.operandBatching},
                   {"start_indices_batching_dims", &dims.indicesBatching},
                   {"start_index_map", &dims.indexed},
                   {"index_vector_dim", nullptr, &dims.indexVectorDim}}))
    return std::nullopt;
  return dims;
}

std::optional<IndexingDims> weft::stablehlo::readScatterDims(Attribute attr) {
  IndexingDims dims;
  std::optional<StringRef> body = readBody(attr, "scatter");
  if (!body ||
      !readFields(*body,
                  {{"update_window_dims", &dims.window},
                   {"inserted_window_dims", &dims.collapsed},
                   {"input_batching_dims", &dims.operandBatching},
                   {"scatter_indices_batching_dims", &dims.indicesBatching},
                   {"scatter_dims_to_operand_dims", &dims.indexed},
                   {"index_vector_dim", nullptr, &dims.indexVectorDim}}))
    return std::nullopt;
  return dims;
}
