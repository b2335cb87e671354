//===- NpyHeader.h - The header of an .npy file -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A header is a Python dictionary on one line:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_IO_NPYHEADER_H
#define WEFT_RUNTIME_IO_NPYHEADER_H

#include "weft/runtime/DType.h"
#include "weft/runtime/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

struct NpyHeader {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// How the file holds the elements, where it is not as memory does.
  bool isBigEndian = false;
  bool isFortranOrder = false;
};

/// Parses the dictionary.
Result<NpyHeader> parseNpyHeader(std::string_view dictionary);

/// Everything in front of the data: magic, version and padded dictionary.
Result<std::string> formatNpyHeader(const NpyHeader &header);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_IO_NPYHEADER_H
