//===- StepTimer.cpp - When steps ran on the device -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/StepTimer.h"

namespace weft::runtime {

using Clock = std::chrono::steady_clock;

Result<StepTimer> StepTimer::create(const Cudart &cudart, size_t steps) {
  StepTimer timer(cudart);
  WEFT_ASSIGN_OR_RETURN(timer.origin, createEvent(cudart, /*isTimed=*/true));
  timer.slices.resize(steps);
  for (Slice &slice : timer.slices) {
    WEFT_ASSIGN_OR_RETURN(slice.begin, createEvent(cudart, /*isTimed=*/true));
    WEFT_ASSIGN_OR_RETURN(slice.end, createEvent(cudart, /*isTimed=*/true));
  }
  return timer;
}

Status StepTimer::start(const CudaContext &context) {
  used = 0;
  WEFT_RETURN_IF_ERROR(
      cudaStatus(*cudart, cudart->eventRecord(origin.get(), context.compute),
                 "cudaEventRecord"));
  WEFT_RETURN_IF_ERROR(context.synchronize("the start of a traced run"));
  originTime = Clock::now();
  return {};
}

Status StepTimer::begin(cudaStream_t stream) {
  return cudaStatus(*cudart,
                    cudart->eventRecord(slices[used].begin.get(), stream),
                    "cudaEventRecord");
}

Status StepTimer::end(cudaStream_t stream, TraceTrack RankTrace::*track,
                      const TraceEvent &event) {
  Slice &slice = slices[used++];
  slice.track = track;
  slice.event = event;
  return cudaStatus(*cudart, cudart->eventRecord(slice.end.get(), stream),
                    "cudaEventRecord");
}

Result<Clock::time_point> StepTimer::timeOf(cudaEvent_t event) const {
  float milliseconds = 0;
  WEFT_RETURN_IF_ERROR(cudaStatus(
      *cudart, cudart->eventElapsedTime(&milliseconds, origin.get(), event),
      "cudaEventElapsedTime"));
  return originTime +
         std::chrono::duration_cast<Clock::duration>(
             std::chrono::duration<double, std::milli>(milliseconds));
}

Status StepTimer::collect(const plan::Plan &plan, const Roofline &roofline,
                          RankTrace &trace) const {
  for (size_t i = 0; i < used; ++i) {
    const Slice &slice = slices[i];
    TraceEvent event = slice.event;
    WEFT_ASSIGN_OR_RETURN(event.begin, timeOf(slice.begin.get()));
    WEFT_ASSIGN_OR_RETURN(event.end, timeOf(slice.end.get()));
    const plan::Entry &entry = *plan.entries()->Get(event.entry);
    if (!entry.timeline())
      event.predicted = roofline.predict(
          entry, *entry.instructions()->Get(event.instruction));
    (trace.*slice.track).events.push_back(event);
  }
  return {};
}

} // namespace weft::runtime
