//===- StepTimer.h - When steps ran on the device ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two events a step, on the stream that it runs on. After the run their
// distances to an event whose time on the host is known become the slices of
// the trace.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_RANK_STEPTIMER_H
#define WEFT_RUNTIME_SRC_CUDA_RANK_STEPTIMER_H

#include "cuda/platform/Context.h"
#include "cuda/platform/Handles.h"
#include "cuda/rank/Roofline.h"
#include "executor/Trace.h"

#include <chrono>
#include <cstdint>
#include <vector>

namespace weft::runtime {

class StepTimer {
public:
  /// For runs of at most `steps` steps.
  static Result<StepTimer> create(const Cudart &cudart, size_t steps);

  /// Waits for the compute stream and notes the time.
  Status start(const CudaContext &context);
  /// Around what is enqueued for one step. The event has no times yet.
  Status begin(cudaStream_t stream);
  Status end(cudaStream_t stream, TraceTrack RankTrace::*track,
             const TraceEvent &event);
  /// Adds the steps, which the device has done, to the tracks, with what was to
  /// be expected of each.
  Status collect(const plan::Plan &plan, const Roofline &roofline,
                 RankTrace &trace) const;

private:
  struct Slice {
    EventOwner begin, end;
    TraceTrack RankTrace::*track = &RankTrace::compute;
    TraceEvent event;
  };
  explicit StepTimer(const Cudart &cudart) : cudart(&cudart) {}
  Result<std::chrono::steady_clock::time_point> timeOf(cudaEvent_t event) const;

  const Cudart *cudart;
  EventOwner origin;
  std::chrono::steady_clock::time_point originTime;
  std::vector<Slice> slices;
  size_t used = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_RANK_STEPTIMER_H
