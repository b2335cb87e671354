//===- NpyHeader.cpp - The header of an .npy file -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NpyHeader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

namespace weft::runtime {
namespace {

struct TypeCode {
  DType dtype;
  std::string_view code;
};
constexpr std::array<TypeCode, 8> typeCodes = {{{DType::F32, "<f4"},
                                                {DType::F64, "<f8"},
                                                {DType::F16, "<f2"},
                                                {DType::I32, "<i4"},
                                                {DType::I64, "<i8"},
                                                {DType::I16, "<i2"},
                                                {DType::I8, "|i1"},
                                                {DType::Pred, "|b1"}}};

/// In either order of bytes; of one byte there is none.
Result<DType> parseType(std::string_view code) {
  for (const TypeCode &type : typeCodes)
    if (type.code == code ||
        (code.size() == 3 && (type.code[0] == '|' || code[0] == '>') &&
         code.substr(1) == type.code.substr(1)))
      return type.dtype;
  if (code == "|V2" || code == "<V2")
    return invalidArgument(fmt::format(
        "the elements are raw bytes ('{}'); NumPy has no bfloat16, save such "
        "arrays as .safetensors",
        code));
  return invalidArgument(fmt::format("the element type '{}' is not one of f4, "
                                     "f8, f2, i4, i8, i2, i1, b1",
                                     code));
}

/// Reads the literals that NumPy writes, and no others.
class DictionaryParser {
public:
  explicit DictionaryParser(std::string_view text) : rest(text) {}

  Result<NpyHeader> parse();

private:
  void skipSpaces() {
    const size_t count = rest.find_first_not_of(" \t\n\r");
    rest.remove_prefix(std::min(count, rest.size()));
  }
  bool consume(std::string_view token) {
    skipSpaces();
    if (!rest.starts_with(token))
      return false;
    rest.remove_prefix(token.size());
    return true;
  }
  Status expected(std::string_view what) const {
    return invalidArgument(fmt::format("the header is malformed: expected {} "
                                       "at its character {}",
                                       what, length - rest.size()));
  }

  Result<std::string_view> parseString();
  Result<std::vector<int64_t>> parseShape();
  Status parseEntry(std::string_view key);

  std::string_view rest;
  size_t length = rest.size();
  std::string_view type;
  bool hasType = false, hasOrder = false, hasShape = false;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

Result<std::string_view> DictionaryParser::parseString() {
  skipSpaces();
  if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
    return expected("a string");
  const size_t end = rest.find(rest[0], 1);
  if (end == std::string_view::npos)
    return expected("a string that ends");
  const std::string_view text = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return text;
}

Result<std::vector<int64_t>> DictionaryParser::parseShape() {
  std::vector<int64_t> extents;
  if (!consume("("))
    return expected("a tuple of extents");
  while (!consume(")")) {
    int64_t extent = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    if (error != std::errc() || extent < 0)
      return expected("an extent of 0 to 2^63 - 1");
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    extents.push_back(extent);
    if (consume(","))
      continue;
    if (!consume(")"))
      return expected("',' or ')'");
    break;
  }
  return extents;
}

Status DictionaryParser::parseEntry(std::string_view key) {
  if (key == "descr" && !hasType) {
    hasType = true;
    if (consume("["))
      return invalidArgument("the elements are records; save each field as an "
                             "array of its own");
    WEFT_ASSIGN_OR_RETURN(type, parseString());
    return {};
  }
  if (key == "fortran_order" && !hasOrder) {
    hasOrder = true;
    fortranOrder = consume("True");
    return fortranOrder || consume("False") ? Status()
                                            : expected("True or False");
  }
  if (key == "shape" && !hasShape) {
    hasShape = true;
    WEFT_ASSIGN_OR_RETURN(shape, parseShape());
    return {};
  }
  return invalidArgument(fmt::format("the header is malformed: unknown or "
                                     "repeated key '{}'",
                                     key));
}

Result<NpyHeader> DictionaryParser::parse() {
  if (!consume("{"))
    return expected("'{'");
  while (!consume("}")) {
    WEFT_ASSIGN_OR_RETURN(const std::string_view key, parseString());
    if (!consume(":"))
      return expected("':'");
    WEFT_RETURN_IF_ERROR(parseEntry(key));
    if (consume(","))
      continue;
    if (!consume("}"))
      return expected("',' or '}'");
    break;
  }
  skipSpaces();
  if (!rest.empty())
    return expected("nothing but spaces");
  if (!hasType || !hasOrder || !hasShape)
    return invalidArgument("the header is malformed: it must have the keys "
                           "'descr', 'fortran_order' and 'shape'");
  WEFT_ASSIGN_OR_RETURN(const DType dtype, parseType(type));
  // Up to one dimension both orders are the same.
  fortranOrder &= shape.size() > 1;
  return NpyHeader{dtype, std::move(shape), type[0] == '>', fortranOrder};
}

} // namespace

Result<NpyHeader> parseNpyHeader(std::string_view dictionary) {
  return DictionaryParser(dictionary).parse();
}

static std::string formatShape(const std::vector<int64_t> &shape) {
  if (shape.size() == 1)
    return fmt::format("({},)", shape[0]);
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + ")";
}

Result<std::string> formatNpyHeader(const NpyHeader &header) {
  std::string_view code;
  for (const TypeCode &type : typeCodes)
    if (type.dtype == header.dtype)
      code = type.code;
  if (code.empty())
    return invalidArgument(
        fmt::format("NumPy has no {}; write a .safetensors file, or convert "
                    "the values to f32",
                    name(header.dtype)));
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                  code, formatShape(header.shape));
  // Version 1: magic and version are 8 bytes, the length 2; the data starts at
  // a multiple of 64. NumPy's own limit of 32 dimensions keeps it short.
  constexpr size_t prefix = 10, alignment = 64;
  const size_t unpadded = prefix + dictionary.size() + 1;
  dictionary.append((alignment - unpadded % alignment) % alignment, ' ');
  dictionary += '\n';
  if (dictionary.size() > 0xffff)
    return invalidArgument(fmt::format("a shape of {} dimensions does not fit "
                                       "in a header",
                                       header.shape.size()));
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(dictionary.size() & 0xff);
  text += static_cast<char>(dictionary.size() >> 8);
  return text + dictionary;
}

} // namespace weft::runtime
