//===- Context.cpp - What operations on a device are bound to ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/platform/Context.h"

#include "comm/Call.h"
#include "cuda/platform/DeviceFailure.h"
#include "cuda/platform/StreamPoll.h"

#include <fmt/format.h>

namespace weft::runtime {

static Status waitFor(cudaStream_t stream, std::string_view what,
                      const CudaContext &context) {
  WaitBudget budget(context.patience);
  StreamPoll poll(context.cudart, stream);
  while (true) {
    const cudaError_t state = poll.ask();
    if (isDeviceFailure(state))
      return deviceFailure(context.cudart, state, fmt::format("in {}", what));
    if (state != cudaErrorNotReady)
      return cudaStatus(context.cudart, state, what);
    WEFT_RETURN_IF_ERROR(context.whyToStop());
    if (budget.isSpent())
      return deadlineExceeded(
          fmt::format("the device did not end {} on rank {} within {}", what,
                      context.rank, describeDuration(context.patience)));
    poll.pause();
  }
}

Status CudaContext::synchronize(std::string_view what) const {
  return synchronize(compute, what);
}

Status CudaContext::synchronize(cudaStream_t stream,
                                std::string_view what) const {
  Status status = waitFor(stream, what, *this);
  waitFailed |= !status.ok();
  return status;
}

void CudaContext::leave(std::shared_ptr<const void> used) const {
  if (waitFailed)
    left.push_back(std::move(used));
}

} // namespace weft::runtime
