//===- StateShards.h - Who has what of a state ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shards of a tensor that the ranks of one process hold, each once however
// many ranks have copies, and the other processes that hold them, too.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_SESSION_STATESHARDS_H
#define WEFT_RUNTIME_SRC_SESSION_STATESHARDS_H

#include "plan/Mesh.h"
#include "weft/runtime/Box.h"
#include "weft/runtime/Checkpoint.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace weft::runtime {

struct StateShard {
  Box box;
  /// The ranks of this process that have it, in order.
  std::vector<int64_t> ranks;
  /// This process among those whose ranks have it.
  Holder holder;
};

using StateShards = std::vector<StateShard>;

/// Of equally many ranks of each of `processes`, in their order, those have the
/// tensor of which `hasIt` says so. Partial values are no shards: every process
/// holds the whole tensor then, as it is when they are combined.
StateShards shardsOf(const plan::TensorType &type, const Mesh &mesh,
                     int process, int processes,
                     const std::function<bool(int64_t)> &hasIt);

/// Whether ranks hold partial values.
bool isUnreduced(const plan::TensorType &type);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_SESSION_STATESHARDS_H
