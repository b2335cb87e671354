//===- SafetensorsHeader.cpp - The header of a .safetensors file ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SafetensorsHeader.h"

#include "File.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace weft::runtime {

using Json = nlohmann::json;

struct TypeName {
  DType dtype;
  std::string_view name;
};
static constexpr std::array<TypeName, dtypeCount> typeNames = {
    {{DType::F32, "F32"},
     {DType::BF16, "BF16"},
     {DType::F16, "F16"},
     {DType::F64, "F64"},
     {DType::I32, "I32"},
     {DType::I64, "I64"},
     {DType::I8, "I8"},
     {DType::I16, "I16"},
     {DType::Pred, "BOOL"}}};

static Result<DType> parseType(const Json &json) {
  if (!json.is_string())
    return invalidArgument("'dtype' must be a string");
  const auto &text = json.get_ref<const std::string &>();
  for (const TypeName &type : typeNames)
    if (type.name == text)
      return type.dtype;
  return invalidArgument(fmt::format("the element type '{}' is not one of F32, "
                                     "BF16, F16, F64, I32, I64, I8, I16, BOOL",
                                     text));
}

/// A list of whole numbers from 0 to 2^63 - 1.
static Result<std::vector<int64_t>> parseNumbers(const Json &json,
                                                 std::string_view key) {
  Status malformed = invalidArgument(fmt::format(
      "'{}' must be a list of whole numbers from 0 to 2^63 - 1", key));
  if (!json.is_array())
    return malformed;
  std::vector<int64_t> numbers;
  for (const Json &element : json) {
    if (!element.is_number_unsigned() ||
        element.get<uint64_t>() > uint64_t(INT64_MAX))
      return malformed;
    numbers.push_back(static_cast<int64_t>(element.get<uint64_t>()));
  }
  return numbers;
}

static Result<TensorInfo> parseTensor(const std::string &name,
                                      const Json &json) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") ||
      !json.contains("shape") || !json.contains("data_offsets"))
    return invalidArgument(
        "must be an object with 'dtype', 'shape' and 'data_offsets'");
  TensorInfo info;
  info.name = name;
  WEFT_ASSIGN_OR_RETURN(info.dtype, parseType(json["dtype"]));
  WEFT_ASSIGN_OR_RETURN(info.shape, parseNumbers(json["shape"], "shape"));
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets,
                        parseNumbers(json["data_offsets"], "data_offsets"));
  WEFT_ASSIGN_OR_RETURN(info.bytes, tensorBytes(info.dtype, info.shape));
  if (offsets.size() != 2 || offsets[1] < offsets[0])
    return invalidArgument("'data_offsets' must be a begin and an end");
  info.offset = static_cast<uint64_t>(offsets[0]);
  const auto extent = static_cast<uint64_t>(offsets[1] - offsets[0]);
  if (extent != info.bytes)
    return invalidArgument(fmt::format(
        "its type and shape need {} bytes, 'data_offsets' give it {}",
        info.bytes, extent));
  return info;
}

static Result<Metadata> parseMetadata(const Json &json) {
  Metadata metadata;
  Status malformed = invalidArgument(
      "'__metadata__' must be an object whose values are strings");
  if (!json.is_object())
    return malformed;
  for (const auto &[key, value] : json.items()) {
    if (!value.is_string())
      return malformed;
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// Parses JSON; a name that comes twice in one object is an error, where the
/// library would keep the last one.
static Result<Json> parseJson(std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::optional<std::string> repeated;
  const auto watch = [&](int, Json::parse_event_t event, Json &value) {
    if (event == Json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      open.pop_back();
    else if (event == Json::parse_event_t::key &&
             !open.back().insert(value.get<std::string>()).second)
      repeated = value.get<std::string>();
    return true;
  };
  Json json = Json::parse(text.begin(), text.end(), watch,
                          /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object())
    return invalidArgument("the header is not a JSON object");
  if (repeated)
    return invalidArgument(
        fmt::format("the header has the name '{}' twice", *repeated));
  return json;
}

/// Checks that the tensors lie one after the other and fill the data.
static Status checkCover(const std::vector<TensorInfo> &tensors,
                         uint64_t dataBytes) {
  std::vector<const TensorInfo *> byOffset;
  for (const TensorInfo &info : tensors)
    byOffset.push_back(&info);
  std::sort(byOffset.begin(), byOffset.end(),
            [](const TensorInfo *a, const TensorInfo *b) {
              return std::pair(a->offset, a->bytes) <
                     std::pair(b->offset, b->bytes);
            });
  uint64_t end = 0;
  for (const TensorInfo *info : byOffset) {
    if (info->offset != end)
      return invalidArgument(fmt::format(
          "tensor '{}' starts at byte {} of the data, but the one before it "
          "ends at {}",
          info->name, info->offset, end));
    end += info->bytes;
  }
  if (end != dataBytes)
    return invalidArgument(fmt::format(
        "the tensors have {} bytes, but the file has {} bytes of data", end,
        dataBytes));
  return {};
}

Result<SafetensorsHeader> parseSafetensorsHeader(std::string_view text,
                                                 uint64_t dataBytes) {
  WEFT_ASSIGN_OR_RETURN(const Json json, parseJson(text));
  SafetensorsHeader header;
  for (const auto &[name, value] : json.items()) {
    if (name == "__metadata__") {
      WEFT_ASSIGN_OR_RETURN(header.metadata, parseMetadata(value));
      continue;
    }
    Result<TensorInfo> info = parseTensor(name, value);
    if (!info.ok())
      return info.status().withContext(fmt::format("tensor '{}'", name));
    header.tensors.push_back(*std::move(info));
  }
  WEFT_RETURN_IF_ERROR(checkCover(header.tensors, dataBytes));
  return header;
}

Result<std::string> formatSafetensorsHeader(const SafetensorsHeader &header) {
  Json json = Json::object();
  if (!header.metadata.empty())
    json["__metadata__"] = header.metadata;
  for (const TensorInfo &info : header.tensors) {
    const auto type =
        std::find_if(typeNames.begin(), typeNames.end(),
                     [&](const TypeName &t) { return t.dtype == info.dtype; });
    json[info.name] = {
        {"dtype", type->name},
        {"shape", info.shape},
        {"data_offsets", {info.offset, info.offset + info.bytes}}};
  }
  try {
    return json.dump();
  } catch (const Json::exception &) {
    return invalidArgument("a name or a metadata string is not UTF-8");
  }
}

} // namespace weft::runtime
