//===- NcclIssuer.h - The thread that talks to NCCL -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All communicators of a device are made, used and destroyed by one thread
// (rules N4 and N5), which waits for each call before the next (N6). This is
// what they share; its functions are called in that thread only, `abort` and
// `asyncError` excepted.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLISSUER_H
#define WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLISSUER_H

#include "comm/EventCount.h"
#include "cuda/comm/Blocks.h"
#include "cuda/platform/Libraries.h"
#include "watch/Progress.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

namespace weft::runtime {

class NcclIssuer {
public:
  NcclIssuer(const Nccl &nccl, const Cudart &cudart)
      : nccl(nccl), cudart(cudart) {}

  ~NcclIssuer();
  NcclIssuer(const NcclIssuer &) = delete;
  NcclIssuer &operator=(const NcclIssuer &) = delete;

  /// Makes the calling thread the one that talks to NCCL. A run executes at
  /// most `mostNumbered` collectives, and as many messages in each of the
  /// `messageQueues`.
  Status attach(uint32_t mostNumbered, size_t messageQueues,
                std::chrono::nanoseconds setup,
                std::chrono::nanoseconds deadline);
  /// Frees what `attach` allocated, after the communicators are gone.
  void detach();

  /// Success in the thread that attached, before any failure.
  Status check() const;

  /// Makes a call and waits while it is in progress (N6). Failures name the
  /// call, and all but a wrong argument are final (N14).
  template <typename Call>
  Status call(const char *name, ncclComm_t communicator,
              std::chrono::nanoseconds timeout, Call &&function) {
    const Inside inside(calling);
    return settle(function(), name, communicator, timeout);
  }
  /// The same for a call of a step.
  template <typename Call>
  Status call(const char *name, ncclComm_t communicator, Call &&function) {
    return call(name, communicator, deadline, std::forward<Call>(function));
  }
  /// The calls between are one operation of NCCL (N9).
  template <typename Calls>
  Status group(ncclComm_t communicator, Calls &&calls) {
    const Inside inside(calling);
    WEFT_RETURN_IF_ERROR(call("ncclGroupStart", communicator,
                              [&] { return nccl.groupStart(); }));
    const Status called = calls();
    // Ended in any case, or the next call would belong to this group.
    const Status ended =
        call("ncclGroupEnd", communicator, [&] { return nccl.groupEnd(); });
    const Status &result = called.ok() ? ended : called;
    if (!result.ok()) // whatever it is, no communicator of a group survives it
      abort(result);
    return result;
  }

  /// Puts a note on the stream that the device begins the next collective of
  /// the run. Those of a loop are counted in each iteration: the numbers of
  /// their instructions go back.
  Status mark(size_t queue, cudaStream_t stream);
  /// The same for the next message of a queue of the pipeline.
  Status markMessage(size_t queue, cudaStream_t stream);
  /// The last notes the device has written; 0 after `beginRun`.
  Begun lastMarks() const;

  /// Before the collectives of a run, with an idle device.
  void beginRun();
  /// Refuses to capture a collective that was never run outside of a graph
  /// (N12), and collectives of which some are captured and others are not in
  /// one run (N13): between two runs the device is idle, and so captured ones
  /// never run beside others.
  Status checkCapture(const void *collective, cudaStream_t stream);

  /// Registers a communicator for `asyncError`, and takes it off before its
  /// end.
  void watch(ncclComm_t communicator);
  void unwatch(ncclComm_t communicator);
  /// What went wrong inside NCCL (N15), asked by any thread; nothing while the
  /// owner is in a call, because asking ends calls that are in progress.
  Status asyncError();

  /// The first failure stays; later calls return it.
  void abort(const Status &reason);
  Status status() const;

  const Nccl &nccl;
  const Cudart &cudart;
  /// Loaded by `attach`.
  std::optional<BlockKernels> blocks;
  std::chrono::nanoseconds setup{};
  std::chrono::nanoseconds deadline{};

private:
  void clearMarks();
  Status writeMark(size_t mark, uint32_t number, cudaStream_t stream) const;
  using Inside = std::lock_guard<std::recursive_mutex>;
  Status settle(ncclResult_t result, const char *call, ncclComm_t communicator,
                std::chrono::nanoseconds timeout);
  Status describe(ncclResult_t result, const char *call,
                  ncclComm_t communicator) const;

  std::thread::id owner;
  /// On the device the numbers from 0; on the host marks of the last ones,
  /// one a queue, those of collectives first.
  uint32_t *numbers = nullptr;
  uint32_t *marks = nullptr;
  /// Nothing before `attach`, and seen by the watchdog when it is there.
  std::atomic<size_t> markCount{0};
  /// Collectives that were enqueued, or captured, in this run.
  uint32_t enqueued = 0;
  /// By queue of the pipeline, messages that were.
  std::vector<uint32_t> started;
  std::unordered_set<const void *> wasRun;
  /// Whether the collectives of this run are captured, from the first on.
  std::optional<bool> isCaptured;

  mutable std::mutex mutex;
  Status failure;
  std::atomic<bool> failed{false};
  /// Held by whoever is in a call of NCCL.
  std::recursive_mutex calling;
  std::vector<ncclComm_t> watched;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLISSUER_H
