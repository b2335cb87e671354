//===- Npy.cpp - Tensors in .npy files ------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Npy.h"

#include "File.h"
#include "NpyHeader.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>

namespace weft::runtime {
namespace {

/// Magic, version and the first two bytes of the length.
constexpr size_t prefixBytes = 10;
/// More than any array needs, and little enough to read without thought.
constexpr uint64_t maxDictionaryBytes = uint64_t(1) << 20;

struct Location {
  uint64_t offset;
  uint64_t bytes;
};

/// Where the dictionary is.
Result<Location> locateDictionary(const InputFile &file) {
  unsigned char prefix[prefixBytes + 2] = {};
  if (file.size() < prefixBytes)
    return invalidArgument(fmt::format(
        "the file has {} bytes, too few for an .npy file", file.size()));
  WEFT_RETURN_IF_ERROR(
      file.readAt(0, std::as_writable_bytes(std::span(prefix).first(
                         std::min<uint64_t>(sizeof(prefix), file.size())))));
  if (std::string_view(reinterpret_cast<char *>(prefix), 6) != "\x93NUMPY")
    return invalidArgument("the file does not start as an .npy file does");
  const int version = prefix[6];
  if (version < 1 || version > 3)
    return invalidArgument(
        fmt::format("the file has .npy version {}.{}, known are 1 to 3",
                    version, prefix[7]));
  Location location{prefixBytes, prefix[8] | uint64_t(prefix[9]) << 8};
  if (version > 1)
    location = {prefixBytes + 2, location.bytes | uint64_t(prefix[10]) << 16 |
                                     uint64_t(prefix[11]) << 24};
  if (location.bytes > maxDictionaryBytes ||
      location.offset + location.bytes > file.size())
    return invalidArgument(fmt::format(
        "the header has {} bytes, but the file has {} and the limit is {}",
        location.bytes, file.size(), maxDictionaryBytes));
  return location;
}

struct Contents {
  NpyHeader header;
  uint64_t dataOffset;
};

Result<Contents> readContents(const InputFile &file) {
  WEFT_ASSIGN_OR_RETURN(const Location location, locateDictionary(file));
  std::string dictionary(location.bytes, '\0');
  WEFT_RETURN_IF_ERROR(file.readAt(
      location.offset, std::as_writable_bytes(std::span(dictionary))));
  WEFT_ASSIGN_OR_RETURN(NpyHeader header, parseNpyHeader(dictionary));
  WEFT_ASSIGN_OR_RETURN(const uint64_t bytes,
                        tensorBytes(header.dtype, header.shape));
  const uint64_t dataOffset = location.offset + location.bytes;
  if (file.size() - dataOffset != bytes)
    return invalidArgument(
        fmt::format("the header promises {} bytes of data, the file has {}",
                    bytes, file.size() - dataOffset));
  return Contents{std::move(header), dataOffset};
}

void reverseElements(std::span<std::byte> data, size_t elementBytes) {
  for (size_t i = 0; i < data.size(); i += elementBytes)
    std::reverse(data.begin() + i, data.begin() + i + elementBytes);
}

Result<Array> newArray(DType dtype, std::vector<int64_t> shape) {
  try {
    return Array(dtype, std::move(shape));
  } catch (const std::bad_alloc &) {
    return resourceExhausted("no memory for the array in C order");
  }
}

/// The elements of `array`, whose first dimension changes fastest, in the order
/// in which the last one does.
Result<Array> fromFortranOrder(const Array &array) {
  WEFT_ASSIGN_OR_RETURN(Array result, newArray(array.dtype, array.shape));
  const size_t elementBytes = byteSize(array.dtype), rank = array.shape.size();
  std::vector<int64_t> strides(rank, 1), index(rank, 0);
  for (size_t dim = 1; dim < rank; ++dim)
    strides[dim] = strides[dim - 1] * array.shape[dim - 1];
  int64_t from = 0;
  for (size_t to = 0; to < result.bytes(); to += elementBytes) {
    std::copy_n(array.data.begin() + from * elementBytes, elementBytes,
                result.data.begin() + to);
    for (size_t dim = rank; dim-- > 0;) {
      from += strides[dim];
      if (++index[dim] < array.shape[dim])
        break;
      from -= strides[dim] * array.shape[dim];
      index[dim] = 0;
    }
  }
  return result;
}

/// A part of `whole` with first index `index`.
Result<Array> sliceOf(const Array &whole, int64_t index) {
  WEFT_ASSIGN_OR_RETURN(
      Array slice,
      newArray(whole.dtype, {whole.shape.begin() + 1, whole.shape.end()}));
  std::copy_n(whole.data.begin() + index * slice.bytes(), slice.bytes(),
              slice.data.begin());
  return slice;
}

} // namespace

NpyReader::NpyReader(std::unique_ptr<InputFile> file, DType dtype,
                     std::vector<int64_t> shape, uint64_t dataOffset,
                     bool isBigEndian)
    : file(std::move(file)), elementType(dtype), extents(std::move(shape)),
      dataOffset(dataOffset), isBigEndian(isBigEndian) {}
NpyReader::NpyReader(NpyReader &&) noexcept = default;
NpyReader &NpyReader::operator=(NpyReader &&) noexcept = default;
NpyReader::~NpyReader() = default;

Result<NpyReader> NpyReader::open(const std::string &path) {
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<InputFile> file, InputFile::open(path));
  Result<Contents> contents = readContents(*file);
  if (!contents.ok())
    return contents.status().withContext(path);
  NpyReader reader(std::move(file), contents->header.dtype,
                   std::move(contents->header.shape), contents->dataOffset,
                   contents->header.isBigEndian);
  if (contents->header.isFortranOrder) {
    // Its slices lie all over the file.
    WEFT_ASSIGN_OR_RETURN(const Array stored, reader.read());
    Result<Array> ordered = fromFortranOrder(stored);
    if (!ordered.ok())
      return ordered.status().withContext(path);
    reader.whole = *std::move(ordered);
  }
  return reader;
}

Result<Array> NpyReader::readElements(uint64_t offset,
                                      std::vector<int64_t> shape) const {
  WEFT_ASSIGN_OR_RETURN(
      Array array, readTensor(*file, offset, elementType, std::move(shape)));
  if (isBigEndian)
    reverseElements(array.data, byteSize(elementType));
  return array;
}

Result<Array> NpyReader::read() const {
  if (whole)
    return *whole;
  return readElements(dataOffset, extents);
}

Result<Array> NpyReader::readSlice(int64_t index) const {
  WEFT_RETURN_IF_ERROR(checkSlice(*file, extents, index));
  if (whole)
    return sliceOf(*whole, index);
  WEFT_ASSIGN_OR_RETURN(
      Array slice,
      runtime::readSlice(*file, dataOffset, elementType, extents, index));
  if (isBigEndian)
    reverseElements(slice.data, byteSize(elementType));
  return slice;
}

Status NpyReader::readBytes(uint64_t offset,
                            std::span<std::byte> memory) const {
  if (whole) {
    std::copy_n(whole->data.begin() + offset, memory.size(), memory.begin());
    return {};
  }
  WEFT_RETURN_IF_ERROR(
      readTensor(*file, dataOffset + offset, elementType, memory));
  if (isBigEndian)
    reverseElements(memory, byteSize(elementType));
  return {};
}

Result<Array> readNpy(const std::string &path) {
  WEFT_ASSIGN_OR_RETURN(const NpyReader reader, NpyReader::open(path));
  return reader.read();
}

Status writeNpy(const std::string &path, const ArrayView &array) {
  Result<std::string> header =
      formatNpyHeader({array.dtype, {array.shape.begin(), array.shape.end()}});
  if (!header.ok())
    return header.status().withContext(path);
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                        OutputFile::create(path));
  WEFT_RETURN_IF_ERROR(file->append(*header));
  WEFT_RETURN_IF_ERROR(file->append(std::span(array.data, array.bytes())));
  return file->commit();
}

} // namespace weft::runtime
