//===- CopyBlocks.h - Regular patterns of blocks, copied --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What data-moving collectives do on one rank: copy blocks that lie on a grid
// in the source to points of a grid in the destination.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_COPYBLOCKS_H
#define WEFT_RUNTIME_COMM_COPYBLOCKS_H

#include <cstdint>

namespace weft::runtime {

/// outer * middle blocks of `bytes` bytes; strides in bytes.
struct BlockGrid {
  int64_t outer = 1;
  int64_t middle = 1;
  int64_t bytes = 0;
  int64_t sourceOuterStride = 0;
  int64_t sourceMiddleStride = 0;
  int64_t destinationOuterStride = 0;
  int64_t destinationMiddleStride = 0;
};

void copyBlocks(const void *source, void *destination, BlockGrid grid);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_COPYBLOCKS_H
