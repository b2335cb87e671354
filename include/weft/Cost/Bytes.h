//===- Bytes.h - Bytes, operations and times as text ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_BYTES_H
#define WEFT_COST_BYTES_H

#include <cstdint>
#include <string>

namespace weft {

/// `512 B`, `1.50 KiB`, `96.0 KiB`
std::string printBytes(uint64_t bytes);
/// `512 bytes`, `96.0 KiB (98304 bytes)`
std::string exactBytes(uint64_t bytes);
/// `512`, `1.50 k`, `96.0 G`
std::string printCount(uint64_t count);
/// `12.3 us`, `1.50 ms`, `2.000 s`
std::string printSeconds(double seconds);

} // namespace weft

#endif // WEFT_COST_BYTES_H
