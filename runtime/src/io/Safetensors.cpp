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
#include <map>
#include <set>

namespace weft::runtime {
namespace {

/// The length of the header comes first, in eight bytes.
constexpr uint64_t lengthBytes = 8;
/// The limit of the format.
constexpr uint64_t maxHeaderBytes = 100'000'000;

} // namespace

Result<SafetensorsHead> readSafetensorsHead(const InputFile &file) {
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
  const uint64_t dataOffset = lengthBytes + length;
  SafetensorsHead head;
  head.text.resize(dataOffset);
  WEFT_RETURN_IF_ERROR(
      file.readAt(0, std::as_writable_bytes(std::span(head.text))));
  WEFT_ASSIGN_OR_RETURN(
      head.header,
      parseSafetensorsHeader(std::string_view(head.text).substr(lengthBytes),
                             file.size() - dataOffset));
  for (TensorInfo &info : head.header.tensors)
    info.offset += dataOffset;
  return head;
}

/// Large element types first, so that every tensor is aligned to its elements.
static bool comesBefore(const TensorInfo &a, const TensorInfo &b) {
  const size_t aSize = byteSize(a.dtype), bSize = byteSize(b.dtype);
  return aSize != bSize ? aSize > bSize : a.name < b.name;
}

Result<SafetensorsLayout> layOutSafetensors(std::vector<TensorInfo> tensors,
                                            const Metadata &metadata) {
  std::set<std::string_view> names;
  for (const TensorInfo &tensor : tensors) {
    if (tensor.name == "__metadata__")
      return invalidArgument("a tensor cannot have the name '__metadata__'");
    if (!names.insert(tensor.name).second)
      return invalidArgument(
          fmt::format("two tensors have the name '{}'", tensor.name));
  }
  std::sort(tensors.begin(), tensors.end(), comesBefore);
  uint64_t end = 0;
  for (TensorInfo &tensor : tensors) {
    WEFT_ASSIGN_OR_RETURN(tensor.bytes,
                          tensorBytes(tensor.dtype, tensor.shape));
    tensor.offset = end;
    end += tensor.bytes;
  }
  WEFT_ASSIGN_OR_RETURN(std::string json,
                        formatSafetensorsHeader({tensors, metadata}));
  // Spaces after the JSON text align the data.
  json.append((8 - json.size() % 8) % 8, ' ');
  if (json.size() > maxHeaderBytes)
    return invalidArgument(fmt::format("the header would have {} bytes, the "
                                       "limit of the format is {}",
                                       json.size(), maxHeaderBytes));
  const uint64_t length = json.size();
  SafetensorsLayout layout;
  layout.head.assign(reinterpret_cast<const char *>(&length), lengthBytes);
  layout.head += json;
  for (TensorInfo &tensor : tensors)
    tensor.offset += layout.head.size();
  layout.bytes = layout.head.size() + end;
  layout.tensors = std::move(tensors);
  return layout;
}

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
  Result<SafetensorsHead> head = readSafetensorsHead(*file);
  if (!head.ok())
    return head.status().withContext(path);
  return SafetensorsFile(std::move(file), std::move(head->header.tensors),
                         std::move(head->header.metadata));
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

Status SafetensorsFile::readBytes(std::string_view name, uint64_t offset,
                                  std::span<std::byte> memory) const {
  WEFT_ASSIGN_OR_RETURN(const TensorInfo *info, require(name));
  return readTensor(*file, info->offset + offset, info->dtype, memory);
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
  std::vector<TensorInfo> infos;
  std::map<std::string_view, const ArrayView *> values;
  for (const NamedTensor &tensor : tensors) {
    const ArrayView &value = tensor.value;
    infos.push_back(
        {tensor.name, value.dtype, {value.shape.begin(), value.shape.end()}});
    values[tensor.name] = &value;
  }
  Result<SafetensorsLayout> layout =
      layOutSafetensors(std::move(infos), metadata);
  if (!layout.ok())
    return layout.status().withContext(path);
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                        OutputFile::create(path));
  WEFT_RETURN_IF_ERROR(file->append(layout->head));
  for (const TensorInfo &info : layout->tensors) {
    const ArrayView &value = *values.at(info.name);
    WEFT_RETURN_IF_ERROR(file->append(std::span(value.data, value.bytes())));
  }
  return file->commit();
}

} // namespace weft::runtime
