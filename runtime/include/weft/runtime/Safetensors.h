//===- Safetensors.h - Named tensors in .safetensors files ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the .safetensors format: eight bytes with the length of a
// JSON header, the header with type, shape and offset of every tensor, and the
// bytes of the tensors without gaps.
//
//   WEFT_ASSIGN_OR_RETURN(auto file,
//   SafetensorsFile::open("step_100.safetensors")); WEFT_ASSIGN_OR_RETURN(Array
//   w1, file.read("w1"));
//
// Equal tensors and metadata give equal files: the largest element types come
// first, so that every tensor is aligned to its elements, and tensors of one
// element size are in the order of their names.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SAFETENSORS_H
#define WEFT_RUNTIME_SAFETENSORS_H

#include "weft/runtime/Array.h"
#include "weft/runtime/Status.h"

#include <map>
#include <memory>
#include <span>
#include <string>

namespace weft::runtime {

class InputFile;

/// What the header says of a tensor.
struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// Byte offset in the file, and number of bytes.
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

using Metadata = std::map<std::string, std::string>;

/// An open .safetensors file. Reading is safe from several threads.
class SafetensorsFile {
public:
  /// Checks the whole header: types, sizes, that the tensors cover the file
  /// without gaps and overlaps, and that no name comes twice.
  static Result<SafetensorsFile> open(const std::string &path);

  SafetensorsFile(SafetensorsFile &&) noexcept;
  SafetensorsFile &operator=(SafetensorsFile &&) noexcept;
  ~SafetensorsFile();

  /// All tensors, in the order of their names.
  const std::vector<TensorInfo> &tensors() const { return infos; }
  const Metadata &metadata() const { return strings; }
  /// Null when the file has no tensor of that name.
  const TensorInfo *find(std::string_view name) const;

  Result<Array> read(std::string_view name) const;
  /// The part of a tensor with first index `index`; reads no other part.
  Result<Array> readSlice(std::string_view name, int64_t index) const;
  /// Bytes of a tensor from that offset on.
  Status readBytes(std::string_view name, uint64_t offset,
                   std::span<std::byte> memory) const;
  /// Reads into memory of exactly the tensor's size.
  Status readInto(std::string_view name, std::span<std::byte> memory) const;

private:
  SafetensorsFile(std::unique_ptr<InputFile> file,
                  std::vector<TensorInfo> infos, Metadata strings);

  Result<const TensorInfo *> require(std::string_view name) const;

  std::unique_ptr<InputFile> file;
  std::vector<TensorInfo> infos;
  Metadata strings;
};

struct NamedTensor {
  std::string name;
  ArrayView value;
};

/// Writes the tensors. The file appears under its name complete and on disk,
/// or not at all.
Status writeSafetensors(const std::string &path,
                        std::span<const NamedTensor> tensors,
                        const Metadata &metadata = {});

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SAFETENSORS_H
