//===- Collective.h - A collective bound to its memory ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One CollectiveStart of a plan for one rank: addresses, counts, communicator
// and, for a permutation, the sender. Running it allocates nothing.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_COLLECTIVE_H
#define WEFT_RUNTIME_SRC_EXECUTOR_COLLECTIVE_H

#include "plan/Mesh.h"
#include "weft/runtime/Communicator.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>

namespace weft::runtime {

class BoundCollective {
public:
  /// `source` and `destination` are the addresses of the start's buffers.
  BoundCollective(const plan::CollectiveStart &start, const Mesh &mesh,
                  Communicator &communicator, const void *source,
                  void *destination, DType dtype, CallContext context);

  /// Index of its CollectiveStart in the entry.
  uint32_t instruction() const {
    return static_cast<uint32_t>(context.planStep);
  }

  /// Does this rank's part; blocks until it is done.
  Status run() const;

private:
  plan::CollectiveKind kind;
  Reduction reduction;
  int64_t outer, middle, inner;
  bool splitFirst;
  int receiveFrom = 0;
  Exchange exchange;
  Communicator &communicator;
  const void *source;
  void *destination;
  DType dtype;
  CallContext context;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_COLLECTIVE_H
