//===- FusionGraph.h - What is asked of programs to be fused -- -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_FUSIONGRAPH_H
#define WEFT_LIB_SCHEDULE_FUSIONGRAPH_H

#include "weft/Schedule/KernelFusion.h"

namespace weft {

inline bool isBarrier(const FusionOp &op) {
  return op.kind == FusionKind::Barrier || op.kind == FusionKind::End;
}

/// Whether an op is part of a kernel at all.
inline bool isComputed(const FusionOp &op) {
  return !isBarrier(op) && op.kind != FusionKind::Order;
}

/// The users of each op, in their order.
std::vector<std::vector<unsigned>> collectUsers(llvm::ArrayRef<FusionOp> ops);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_FUSIONGRAPH_H
