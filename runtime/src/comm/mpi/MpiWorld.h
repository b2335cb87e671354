//===- MpiWorld.h - Ranks that are threads of several processes -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks of a world in the order of the processes, about as many in each. A
// group or a queue whose ranks are all of this process is one of threads; one
// that crosses processes goes through MPI.
//
//   mpirun -n 2, 4 ranks    process 0: ranks 0, 1    process 1: ranks 2, 3
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MPI_MPIWORLD_H
#define WEFT_RUNTIME_COMM_MPI_MPIWORLD_H

#include "weft/runtime/Bootstrap.h"
#include "weft/runtime/Communicator.h"

#include <memory>
#include <string>
#include <vector>

namespace weft::runtime {

class MpiWorld final : public World {
public:
  /// All processes call it alike; `what` is compared, and said in messages:
  /// "plan 8c1f02ab". `setup` is how long they may take to come.
  static Result<std::unique_ptr<MpiWorld>>
  create(Bootstrap &bootstrap, int ranks, const std::string &what,
         const std::vector<GroupRanks> &groups,
         const std::vector<QueueRanks> &queues = {},
         std::chrono::nanoseconds setup = std::chrono::seconds(300));

  /// No thread may be inside a call of a communicator.
  ~MpiWorld() override;

  int size() const override;
  /// Those of this process, in order.
  std::vector<int> localRanks() const;
  Communicator *communicator(int rank, size_t group) const override;
  Channel *channel(int rank, size_t queue) const override;
  /// Tells the other processes, too.
  void abort(const Status &reason) override;
  Status status() const override;

  /// The end of this process in a group of the first ranks of all processes,
  /// for the thread that drives the ranks; null where there are no ranks.
  Communicator *processes() const;

private:
  class Impl;
  explicit MpiWorld(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MPI_MPIWORLD_H
