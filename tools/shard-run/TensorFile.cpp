//===- TensorFile.cpp - A tensor in a file ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorFile.h"

#include <fmt/format.h>

namespace weft::tools {

using namespace weft::runtime;

static bool isSafetensors(const NamedFile &file) {
  return file.path.ends_with(".safetensors");
}

Result<TensorFile> TensorFile::open(const NamedFile &file) {
  TensorFile opened;
  opened.name = file.name;
  if (!isSafetensors(file)) {
    WEFT_ASSIGN_OR_RETURN(opened.npy, NpyReader::open(file.path));
    return opened;
  }
  WEFT_ASSIGN_OR_RETURN(opened.safetensors, SafetensorsFile::open(file.path));
  if (!opened.safetensors->find(file.name))
    return notFound(
        fmt::format("{} has no tensor \"{}\"", file.path, file.name));
  return opened;
}

DType TensorFile::dtype() const {
  return npy ? npy->dtype() : safetensors->find(name)->dtype;
}

const std::vector<int64_t> &TensorFile::shape() const {
  return npy ? npy->shape() : safetensors->find(name)->shape;
}

/// The part of that index in dimensions of which so many are left out.
TensorSource TensorFile::sourceFrom(size_t dimension, int64_t index) const {
  TensorSource part{
      .dtype = dtype(),
      .shape = {shape().begin() + static_cast<ptrdiff_t>(dimension),
                shape().end()},
      .read = nullptr};
  const ArrayView view{part.dtype, part.shape, nullptr};
  const uint64_t begin = static_cast<uint64_t>(index) * view.bytes();
  part.read = [this, begin](uint64_t offset, std::span<std::byte> memory) {
    return npy ? npy->readBytes(begin + offset, memory)
               : safetensors->readBytes(name, begin + offset, memory);
  };
  return part;
}

TensorSource TensorFile::source() const { return sourceFrom(0, 0); }

TensorSource TensorFile::slice(int64_t index) const {
  return sourceFrom(1, index);
}

std::string whyNotWritten(const NamedFile &file, DType dtype) {
  if (dtype != DType::BF16 || isSafetensors(file))
    return "";
  return fmt::format("an .npy file cannot hold bf16; write {}=FILE.safetensors",
                     file.name);
}

Status writeTensor(const NamedFile &file, const ArrayView &value) {
  if (!isSafetensors(file))
    return writeNpy(file.path, value);
  const NamedTensor tensor{file.name, value};
  return writeSafetensors(file.path, std::span(&tensor, 1));
}

} // namespace weft::tools
