//===- SessionOptions.h - How a plan is run ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a session (Session.h) is created with.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SESSIONOPTIONS_H
#define WEFT_RUNTIME_SESSIONOPTIONS_H

#include "weft/runtime/Bootstrap.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace weft::runtime {

struct SessionOptions {
  /// CPU: threads that each rank computes with.
  int threads = 1;
  /// Longest wait of a rank for the others in one collective;
  /// nanoseconds::max() = as long as it takes. Time in which the process is
  /// stopped does not count.
  std::chrono::nanoseconds deadline = std::chrono::seconds(30);
  /// Bytes that the arenas of the ranks here may take together; 0 = the memory
  /// of this machine. On a device they must in any case fit what is free.
  uint64_t memoryLimit = 0;
  /// How many runs, from the first, the trace records.
  int traceRuns = 0;
  /// CUDA: the device, as the driver counts them; when the ranks are processes,
  /// that of the local rank.
  int device = 0;
  /// Set when the ranks are in several processes: one each of a plan for CUDA,
  /// which communicate over NCCL, or equally many of a plan for CPUs, over MPI.
  /// The session then holds the ranks of this one, and all processes make the
  /// same calls in the same order.
  std::shared_ptr<Bootstrap> bootstrap;
  /// CUDA: the same bits in every run: of collectives between processes, and of
  /// products, whose algorithms are then not chosen by measurement.
  bool deterministic = false;
  /// CUDA: one collective after the other, also where the plan lets one
  /// overtake another.
  bool serializeCollectives = false;
  /// CUDA: registers the arena with NCCL.
  bool registerArena = false;
  /// CUDA: whether an entry that has run twice is captured in a graph.
  bool cudaGraphs = true;
  /// CUDA: multiprocessors that products leave to collectives while some are in
  /// flight beside them; 0 = none.
  int processorsForCollectives = 0;
  /// Told what is no failure, but not what was asked for either: a library that
  /// was not found, an algorithm that was not measured, and why. Each text
  /// once, from any thread of the session, but from one at a time; never after
  /// the session has ended.
  std::function<void(const std::string &)> note;
  /// Asked about 20 times a second by the thread that has called `run`, between
  /// two instructions where that is the rank's: true stops the ranks at their
  /// next instruction, which is a failure.
  std::function<bool()> isInterrupted;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SESSIONOPTIONS_H
