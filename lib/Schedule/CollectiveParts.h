//===- CollectiveParts.h - The parts of a combined collective ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one collective sends for several is a concat of their operands, and
// their results are slices of its result. Where operands are written by
// instructions or by kernels that nothing joins with the concat, these may
// write them side by side in the buffer of the collective; readers of a slice
// may read it there. Such concats and slices stay out of kernels: they are
// views of parts.
//
//   %c = weft.concat %gemm, %scaled, %sum
//   %r = weft.all_reduce %c
//   %a = weft.slice %r 0 to 64
// =>
//   %rest = weft.concat %scaled, %sum
//   %c = weft.concat %gemm, %rest
//   %r = weft.all_reduce %c
//   %a = weft.slice %r 0 to 64
//
// where %gemm has a multiple of 64 bytes. What has not, and what comes with the
// concat's kernel anyway, is put together by that kernel as the last part.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_COLLECTIVEPARTS_H
#define WEFT_LIB_SCHEDULE_COLLECTIVEPARTS_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft {

/// Makes parts of the operands and results of the collectives of a block, and
/// marks their concats and slices as such. `isFused` says of an op that
/// its kernel can be that of its users.
void makeCollectiveParts(mlir::Block &body,
                         llvm::function_ref<bool(mlir::Operation *)> isFused);

/// Whether the op is a concat or a slice with that mark.
bool isMarkedPart(mlir::Operation *op);
void markPart(mlir::Operation *op);
void unmarkParts(mlir::Block &body);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_COLLECTIVEPARTS_H
