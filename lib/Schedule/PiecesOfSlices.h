//===- PiecesOfSlices.h - Slices computed from slices -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where collectives are cut into pieces, what is computed of a piece reads
// slices of what the block has computed whole. A slice is a part of a buffer,
// so all of that must be in memory. Computed from slices of what it is made of,
// a piece can be recomputed by the kernel that reads it.
//
//   %t = math.tanh %x                        %x0 = weft.slice %x 0 to 16
//   %t0 = weft.slice %t 0 to 16       =>     %t0 = math.tanh %x0
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_PIECESOFSLICES_H
#define WEFT_LIB_SCHEDULE_PIECESOFSLICES_H

#include "mlir/IR/Block.h"

namespace weft {

/// Computes what is sliced by element-wise ops and broadcasts, piece by piece,
/// unless a GEMM or a collective needs it whole. Returns how many ops it made.
int64_t computePiecesOfSlices(mlir::Block &block);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_PIECESOFSLICES_H
