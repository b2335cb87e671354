//===- GpuLimits.h - What a launch on a GPU can have ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits of every GPU that Weft compiles for, from version 8.1 of PTX on.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_GPULIMITS_H
#define WEFT_COST_GPULIMITS_H

#include <cstdint>

namespace weft::cost {

/// Bytes of all parameters of a kernel, and of one that is an address.
inline constexpr int64_t kernelParameterBytes = 32764, addressBytes = 8;

/// The largest heads that the attention kernels of the runtime have a tile for.
inline constexpr int64_t attentionHeadSize = 256;

/// Rows of blocks in a grid.
inline constexpr int64_t gridRows = 65535;

} // namespace weft::cost

#endif // WEFT_COST_GPULIMITS_H
