//===- PlanFormat.h - The version of the plan layout ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the writer of plans (the compiler) and their reader (the runtime) agree
// on beyond the schema `runtime/schema/plan.fbs`. Writing a plan:
//
//   1. finish a FlatBuffer with root weft.plan.Plan: the payload;
//   2. wrap it in a weft.plan.Container with `format_version` =
//      planFormatVersion and `payload_hash` = XXH3 64-bit of the payload (seed
//      0), finished with the file identifier "WEFT". The payload comes last: it
//      begins at a multiple of payloadAlignment, and zeros fill the file to the
//      next multiple, so that a reader sees a file that was cut or appended to.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_PLANFORMAT_H
#define WEFT_RUNTIME_PLANFORMAT_H

#include <cstdint>

namespace weft::runtime {

/// Version of the layout of `weft.plan.Plan`. Goes up with every change of the
/// schema or of the meaning of a field; a reader refuses every other version.
inline constexpr uint32_t planFormatVersion = 18;

/// Spatial dimensions that a convolution has at most.
inline constexpr int maxConvolutionDims = 4;

/// Alignment of the payload in the file, for the 64-bit numbers in it.
inline constexpr uint64_t payloadAlignment = 16;

/// Alignment of every buffer in the arena.
inline constexpr uint64_t bufferAlignment = 64;

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLANFORMAT_H
