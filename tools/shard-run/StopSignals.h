//===- StopSignals.h - Signals that end a run early -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_STOPSIGNALS_H
#define WEFT_TOOLS_SHARD_RUN_STOPSIGNALS_H

#include "weft/runtime/Preemption.h"

#include <array>
#include <csignal>

namespace weft::tools {

/// While it lives, the first SIGINT, SIGTERM or SIGUSR1, which mpirun passes
/// on, asks a job to save and to stop, and the next one does what it did
/// before; one that is ignored stays ignored. There is one at a time.
class StopSignals {
public:
  explicit StopSignals(runtime::Preemption &preemption);
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

private:
  static void ask(int signal);

  static constexpr std::array signals{SIGINT, SIGTERM, SIGUSR1};
  static std::array<struct sigaction, signals.size()> before;
  static runtime::Preemption *asked;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_STOPSIGNALS_H
