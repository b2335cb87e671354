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

class InputFile;

/// Everything in front of the data of a file, as it stands there, and what it
/// says; offsets count from the start of the file.
struct SafetensorsHead {
  std::string text;
  SafetensorsHeader header;
};
Result<SafetensorsHead> readSafetensorsHead(const InputFile &file);

/// A file for some tensors, of which only names, types and shapes are looked
/// at.
struct SafetensorsLayout {
  /// Everything in front of the data.
  std::string head;
  /// In the order of the file; offsets count from its start.
  std::vector<TensorInfo> tensors;
  /// Of the file.
  uint64_t bytes = 0;
};
Result<SafetensorsLayout> layOutSafetensors(std::vector<TensorInfo> tensors,
                                            const Metadata &metadata);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_IO_SAFETENSORSHEADER_H
