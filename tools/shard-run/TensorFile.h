//===- TensorFile.h - A tensor in a file ------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What --input and --output name: NAME=FILE.safetensors is the tensor NAME of
// that file, and any other FILE is an .npy file.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_TENSORFILE_H
#define WEFT_TOOLS_SHARD_RUN_TENSORFILE_H

#include "Arguments.h"
#include "weft/runtime/Npy.h"
#include "weft/runtime/Safetensors.h"
#include "weft/runtime/Session.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::tools {

class TensorFile {
public:
  static runtime::Result<TensorFile> open(const NamedFile &file);

  runtime::DType dtype() const;
  const std::vector<int64_t> &shape() const;
  /// The tensor, or the part with that first index; valid as long as the file.
  runtime::TensorSource source() const;
  runtime::TensorSource slice(int64_t index) const;

private:
  runtime::TensorSource sourceFrom(size_t dimension, int64_t index) const;

  // One of the two.
  std::optional<runtime::NpyReader> npy;
  std::optional<runtime::SafetensorsFile> safetensors;
  std::string name;
};

/// Why values of the type cannot be written to the file, or "".
std::string whyNotWritten(const NamedFile &file, runtime::DType dtype);

runtime::Status writeTensor(const NamedFile &file,
                            const runtime::ArrayView &value);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_TENSORFILE_H
