//===- LoopbackChannel.h - A queue between ranks of one GPU -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads of the two ranks meet as those of ranks in host memory do
// (InProcessChannel.h). Who moves a message puts a copy on the stream of the
// queue, behind what both computations had done when they started it; the
// thread of a rank that waits for a message waits until that is enqueued, and
// its device for the copy.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_COMM_LOOPBACKCHANNEL_H
#define WEFT_RUNTIME_SRC_CUDA_COMM_LOOPBACKCHANNEL_H

#include "comm/InProcessChannel.h"
#include "cuda/comm/DeviceWorld.h"
#include "cuda/platform/Handles.h"

namespace weft::runtime {

/// What the two ends share.
class LoopbackQueue {
public:
  LoopbackQueue(const Cudart &cudart, StreamOwner stream, int sender,
                int receiver, size_t capacity, const SpinPolicy &spin);

private:
  Status move(const DeviceTransfer &from, const DeviceTransfer &to) const;

  const Cudart &cudart;
  const StreamOwner stream;

public:
  /// Where the threads meet.
  InProcessQueue hosts;
};

class LoopbackChannel final : public DeviceChannel {
public:
  explicit LoopbackChannel(Channel &hosts) : hosts(hosts) {}

  Status start(DeviceTransfer &transfer) override {
    transfer.ticket = hosts.start(transfer);
    return {};
  }
  Status wait(DeviceTransfer &transfer) override {
    return hosts.wait(transfer.ticket);
  }

private:
  Channel &hosts;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_COMM_LOOPBACKCHANNEL_H
