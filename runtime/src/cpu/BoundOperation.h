//===- BoundOperation.h - Work bound to its memory --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of a plan that the runtime itself computes. Binding does everything
// that allocates; running allocates nothing.
//
// Threads: bind and run in the thread of the rank. All operations of a rank use
// one scratchpad, which they do not share with other ranks.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_BOUNDOPERATION_H
#define WEFT_RUNTIME_SRC_CPU_BOUNDOPERATION_H

#include "weft/runtime/Status.h"

#include <cstddef>

namespace weft::runtime {

class BoundOperation {
public:
  virtual ~BoundOperation() = default;
  /// Bytes of working memory that `run` needs, aligned to 64.
  virtual size_t scratchpadBytes() const { return 0; }
  /// Gives it that memory, once, before the first run.
  virtual Status bindScratchpad(void *) { return {}; }
  virtual Status run() = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_BOUNDOPERATION_H
