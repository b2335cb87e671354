//===- ProcessCollectives.h - Collectives over MPI ------------------*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks are threads of the processes that mpirun or srun has started.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_PROCESSCOLLECTIVES_H
#define WEFT_TOOLS_SHARD_BENCH_PROCESSCOLLECTIVES_H

#include "Collectives.h"

#include "weft/runtime/Bootstrap.h"

#include <memory>
#include <string>

namespace weft::runtime {
class MpiEngine;
class MpiWorld;
} // namespace weft::runtime

namespace weft::tools {

class ProcessCollectives {
public:
  /// `ranks` is a multiple of the processes.
  static runtime::Result<std::unique_ptr<ProcessCollectives>>
  create(const runtime::Launch &launch, int ranks);
  ~ProcessCollectives();

  /// "Open MPI v4.1.4, 2 processes, 2 ranks", for the head of the table.
  std::string describe() const;
  /// Beside the library's own, where each process has one rank.
  runtime::Result<CollectiveTiming> time(const CollectiveCase &run,
                                         double seconds) const;

private:
  ProcessCollectives();

  int ranks = 1;
  std::unique_ptr<runtime::Bootstrap> bootstrap;
  runtime::MpiEngine *engine = nullptr;
  std::unique_ptr<runtime::MpiWorld> world;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_PROCESSCOLLECTIVES_H
