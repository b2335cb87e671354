//===- SafetensorsHeader.h - The header of a .safetensors file --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_IO_SAFETENSORSHEADER_H
#define WEFT_RUNTIME_IO_SAFETENSORSHEADER_H

#include "weft/runtime/Safetensors.h"

namespace weft::runtime {

struct SafetensorsHeader {
  /// In the order of their names; offsets count from the start of the data.
  std::vector<TensorInfo> tensors;
  Metadata metadata;
};

/// Parses the JSON text and checks that the tensors cover `dataBytes` bytes
/// without gaps and overlaps.
Result<SafetensorsHeader> parseSafetensorsHeader(std::string_view json,
                                                 uint64_t dataBytes);

/// The JSON text, with its members sorted; fails for names that are not UTF-8.
Result<std::string> formatSafetensorsHeader(const SafetensorsHeader &header);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_IO_SAFETENSORSHEADER_H
