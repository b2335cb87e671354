//===- InProcessWorld.h - Ranks that are threads ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The World whose ranks are threads of one process. A collective is: publish
// the pointers, meet, let each rank read its part straight from the peers'
// buffers (reductions: its chunk, in the order of the group's ranks), meet
// again. Results do not depend on who arrives when, and nothing is allocated
// after creation. A message of a pipeline is copied from the memory of the one
// rank to that of the other by the first of the two that waits for it.
//
//   WEFT_ASSIGN_OR_RETURN(auto world,
//                         InProcessWorld::create(4, {{{0, 1}, {2, 3}}}));
//   // in the thread of rank 2:
//   world->communicator(2, 0)->allReduce(x, x, n, DType::F32, Reduction::Sum,
//                                        {.planStep = 17, .cause = "loss"});
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_INPROCESSWORLD_H
#define WEFT_RUNTIME_INPROCESSWORLD_H

#include "weft/runtime/Communicator.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace weft::runtime {

class InProcessWorld final : public World {
public:
  /// Creates the communicators of `ranks` ranks for all `groups` and the
  /// channels of all `queues`.
  static Result<std::unique_ptr<InProcessWorld>>
  create(int ranks, const std::vector<GroupRanks> &groups,
         const std::vector<QueueRanks> &queues = {});

  /// No thread may be inside a call of a communicator.
  ~InProcessWorld() override;

  int size() const override;
  Communicator *communicator(int rank, size_t group) const override;
  Channel *channel(int rank, size_t queue) const override;
  void abort(const Status &reason) override;
  Status status() const override;

private:
  class Impl;
  explicit InProcessWorld(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_INPROCESSWORLD_H
