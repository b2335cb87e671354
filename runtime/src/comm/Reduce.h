//===- Reduce.h - Values of several ranks become one ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of reductions over buffers of several ranks, always in the
// order of the sources, so that the bits depend on nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_REDUCE_H
#define WEFT_RUNTIME_COMM_REDUCE_H

#include "weft/runtime/Communicator.h"

#include <span>

namespace weft::runtime {

/// For each source a matrix [rows, columns] whose rows are `sourceStride`
/// elements apart; each destination is a dense one. All destinations get the
/// same bits. With one row a destination may be one of the sources; apart from
/// that nothing overlaps.
struct ReduceRegion {
  std::span<const void *const> sources;
  std::span<void *const> destinations;
  int64_t rows = 1;
  int64_t columns = 0;
  int64_t sourceStride = 0;
};

using ReduceFunction = void (*)(const ReduceRegion &region);

/// The function for a type and a reduction; null when there is none (the sum
/// of Pred).
ReduceFunction reduceFunction(DType dtype, Reduction reduction);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_REDUCE_H
