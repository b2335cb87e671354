//===- CheckRanks.h - What is wrong with the groups of a world --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_CHECKRANKS_H
#define WEFT_RUNTIME_COMM_CHECKRANKS_H

#include "weft/runtime/Communicator.h"

namespace weft::runtime {

/// What a world is created with: its lists hold its ranks, each at most once.
Status checkRanks(int ranks, const std::vector<GroupRanks> &groups,
                  const std::vector<QueueRanks> &queues);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_CHECKRANKS_H
