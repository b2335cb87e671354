//===- LoopPosition.h - Where in the loops code is emitted ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of a kernel around the insertion point, as a value: who emits a
// loop sets it, and elements are emitted for it.

#ifndef WEFT_LIB_CODEGEN_LOOPPOSITION_H
#define WEFT_LIB_CODEGEN_LOOPPOSITION_H

#include "LaneIndex.h"

namespace weft {

struct LoopPosition {
  /// Those of the nest.
  int64_t rows = 1;
  /// Those of the loop.
  int64_t columns = 0;
  /// `ownElement` is row * columns + column; unset where there is none.
  LaneIndex row = {}, column = {}, ownElement = {};
  /// Where in buffers of kept rows the column is.
  LaneIndex keptAt = {};
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_LOOPPOSITION_H
