//===- Safetensors.cpp - Named tensors in .safetensors files --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Safetensors.h"

#include "File.h"
#include "SafetensorsHeader.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace weft::runtime {
namespace {

/// The length of the header comes first, in eight bytes.
constexpr uint64_t lengthBytes = 8;
/// The limit of the format.
constexpr uint64_t maxHeaderBytes = 100'000'000;

Result<SafetensorsHeader> readHeader(const InputFile &file) {
  if (file.size() < lengthBytes)
    return invalidArgument(fmt::format(
        "the file has {} bytes, too few for a .safetensors file", file.size()));
  uint64_t length = 0;
  WEFT_RETURN_IF_ERROR(
      file.readAt(0, std::as_writable_bytes(std::span(&length, 1))));
  if (length > maxHeaderBytes || length > file.size() - lengthBytes)
    return invalidArgument(fmt::format(
        "the header has {} bytes, but the file has {} and the limit is {}",
        length, file.size(), maxHeaderBytes));
  std::string json(length, '\0');
  WEFT_RETURN_IF_ERROR(
      file.readAt(lengthBytes, std::as_writable_bytes(std::span(json))));
  const uint64_t dataOffset = lengthBytes + length;
  WEFT_ASSIGN_OR_RETURN(SafetensorsHeader header,
                        parseSafetensorsHeader(json, file.size() - dataOffset));
  for (TensorInfo &info : header.tensors)
    info.offset += dataOffset;
  return header;
}

/// The tensors' descriptions in the order of the file.
Result<std::vector<TensorInfo>>
layOut(std::span<const NamedTensor> tensors,
       std::vector<const NamedTensor *> &order) {
  std::set<std::string_view> names;
  for (const NamedTensor &tensor : tensors) {
    if (tensor.name == "__metadata__")
      return invalidArgument("a tensor cannot have the name '__metadata__'");
    if (!names.insert(tensor.name).second)
      return invalidArgument(
          fmt::format("two tensors have the name '{}'", tensor.name));
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(),
            [](const NamedTensor *a, const NamedTensor *b) {
              const size_t aSize = byteSize(a->value.dtype);
              const size_t bSize = byteSize(b->value.dtype);
              return aSize != bSize ? aSize > bSize : a->name < b->name;
            });
  std::vector<TensorInfo> infos;
  uint64_t offset = 0;
  for (const NamedTensor *tensor : order) {
    const ArrayView &value = tensor->value;
    WEFT_ASSIGN_OR_RETURN(const uint64_t bytes,
                          tensorBytes(value.dtype, value.shape));
    infos.push_back({tensor->name,
                     value.dtype,
                     {value.shape.begin(), value.shape.end()},
                     offset,
                     bytes});
    offset += bytes;
  }
  return infos;
}

} // namespace

SafetensorsFile::SafetensorsFile(std::unique_ptr<InputFile> file,
                                 std::vector<TensorInfo> infos,
                                 Metadata strings)
    : file(std::move(file)), infos(std::move(infos)),
      strings(std::move(strings)) {}
SafetensorsFile::SafetensorsFile(SafetensorsFile &&) noexcept = default;
SafetensorsFile &
SafetensorsFile::operator=(SafetensorsFile &&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<InputFile> file, InputFile::open(path));
  Result<SafetensorsHeader> header = readHeader(*file);
  if (!header.ok())
    return header.status().withContext(path);
  return SafetensorsFile(std::move(file), std::move(header->tensors),
                         std::move(header->metadata));
}

const TensorInfo *SafetensorsFile::find(std::string_view name) const {
  const auto found = std::lower_bound(
      infos.begin(), infos.end(), name,
      [](const TensorInfo &info, std::string_view n) { return info.name < n; });
  return found != infos.end() && found->name == name ? &*found : nullptr;
}

Result<const TensorInfo *>
SafetensorsFile::require(std::string_view name) const {
  if (const TensorInfo *info = find(name))
    return info;
  return notFound(fmt::format("{}: no tensor '{}'", file->path(), name));
}

Result<Array> SafetensorsFile::read(std::string_view name) const {
  WEFT_ASSIGN_OR_RETURN(const TensorInfo *info, require(name));
  return readTensor(*file, info->offset, info->dtype, info->shape);
}

Result<Array> SafetensorsFile::readSlice(std::string_view name,
                                         int64_t index) const {
  WEFT_ASSIGN_OR_RETURN(const TensorInfo *info, require(name));
  return runtime::readSlice(*file, info->offset, info->dtype, info->shape,
                            index);
}

Status SafetensorsFile::readInto(std::string_view name,
                                 std::span<std::byte> memory) const {
  WEFT_ASSIGN_OR_RETURN(const TensorInfo *info, require(name));
  if (memory.size() != info->bytes)
    return invalidArgument(
        fmt::format("{}: tensor '{}' has {} bytes, the memory for it {}",
                    file->path(), name, info->bytes, memory.size()));
  return readTensor(*file, info->offset, info->dtype, memory);
}

Status writeSafetensors(const std::string &path,
                        std::span<const NamedTensor> tensors,
                        const Metadata &metadata) {
  std::vector<const NamedTensor *> order;
  Result<std::vector<TensorInfo>> infos = layOut(tensors, order);
  if (!infos.ok())
    return infos.status().withContext(path);
  Result<std::string> text =
      formatSafetensorsHeader({*std::move(infos), metadata});
  if (!text.ok())
    return text.status().withContext(path);
  std::string &json = *text;
  // Spaces after the JSON text align the data.
  json.append((8 - json.size() % 8) % 8, ' ');
  if (json.size() > maxHeaderBytes)
    return invalidArgument(fmt::format("{}: the header would have {} bytes, "
                                       "the limit of the format is {}",
                                       path, json.size(), maxHeaderBytes));
  const uint64_t length = json.size();

  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                        OutputFile::create(path));
  WEFT_RETURN_IF_ERROR(file->append(std::as_bytes(std::span(&length, 1))));
  WEFT_RETURN_IF_ERROR(file->append(json));
  for (const NamedTensor *tensor : order)
    WEFT_RETURN_IF_ERROR(
        file->append(std::span(tensor->value.data, tensor->value.bytes())));
  return file->commit();
}

} // namespace weft::runtime
