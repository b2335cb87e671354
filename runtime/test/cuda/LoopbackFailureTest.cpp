//===- LoopbackFailureTest.cpp - Ranks on a GPU that fail -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who does not come to a collective, and who comes to another one, is named.
//
//===----------------------------------------------------------------------===//

#include "DeviceLibraries.h"
#include "cuda/comm/LoopbackWorld.h"
#include "cuda/platform/Handles.h"

#include <gmock/gmock.h>

#include <thread>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

/// Two ranks with a stream and 64 floats each.
struct LoopbackFailure : testing::Test {
  void SetUp() override {
    auto loaded = loadCudart(CudaLibrarySearch::fromEnvironment());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    cudart = *loaded;
    ASSERT_EQ(cudart.setDevice(0), cudaSuccess);
    auto made = LoopbackWorld::create(
        cudart, 2, {{{0, 1}}}, CollectiveQueues(1),
        std::chrono::milliseconds(200), {{.pairs = {{0, 1}}, .capacity = 2}});
    ASSERT_TRUE(made.ok()) << made.status().message();
    world = *std::move(made);
    for (int rank = 0; rank < 2; ++rank) {
      streams.push_back(*createStream(cudart, 0));
      memory.push_back(*allocateDevice(cudart, 512, "test"));
    }
  }

  DeviceCollective allReduce(int rank, int64_t count) {
    auto *floats = static_cast<float *>(memory[rank].get());
    DeviceCollective collective;
    collective.source = floats;
    collective.destination = floats + 64;
    collective.inner = count;
    collective.instruction = 17;
    collective.cause = "gradient of w1";
    return collective;
  }
  DeviceTransfer transfer(int rank, size_t bytes) {
    DeviceTransfer transfer;
    transfer.parts = {
        {static_cast<std::byte *>(memory[rank].get()), bytes, DType::F32}};
    transfer.label = "h";
    transfer.role = static_cast<uint32_t>(rank);
    transfer.timeout = std::chrono::milliseconds(200);
    transfer.started = *createEvent(cudart);
    transfer.done = *createEvent(cudart);
    return transfer;
  }
  Status startAndWait(int rank, DeviceTransfer &transfer) {
    EXPECT_EQ(cudart.eventRecord(transfer.started.get(), streams[rank].get()),
              cudaSuccess);
    DeviceChannel &channel = *world->channel(rank, 0);
    const Status status = channel.start(transfer);
    return status.ok() ? channel.wait(transfer) : status;
  }
  Status enqueue(int rank, const DeviceCollective &collective) {
    return world->communicator(rank, 0, 0)
        ->enqueue(collective, streams[rank].get());
  }

  DeviceLibraries libraries;
  Cudart cudart;
  std::unique_ptr<LoopbackWorld> world;
  std::vector<StreamOwner> streams;
  std::vector<DeviceMemory> memory;
};

TEST_F(LoopbackFailure, ARankThatDoesNotCome) {
  const Status status = enqueue(0, allReduce(0, 64));
  EXPECT_EQ(status.code(), StatusCode::DeadlineExceeded);
  EXPECT_EQ(status.message(),
            "step 17 all_reduce on rank 0: rank 1 did not arrive within 200 ms "
            "(gradient of w1)");
  // Final for the group, and not for the world until somebody says so.
  EXPECT_EQ(enqueue(1, allReduce(1, 64)), status);
  EXPECT_TRUE(world->status().ok());
}

TEST_F(LoopbackFailure, ARankThatCallsAnother) {
  Status first;
  std::thread other([&] { first = enqueue(0, allReduce(0, 64)); });
  const Status second = enqueue(1, allReduce(1, 32));
  other.join();
  EXPECT_EQ(first.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(second.message(),
              HasSubstr("the ranks of group {0, 1} call different operations: "
                        "rank 0 calls all_reduce sum of f32[64] at step 17"));
}

TEST_F(LoopbackFailure, AMessageThatDoesNotCome) {
  DeviceTransfer received = transfer(1, 64), sent = transfer(0, 64);
  const Status status = startAndWait(1, received);
  EXPECT_EQ(status.code(), StatusCode::DeadlineExceeded);
  EXPECT_EQ(status.message(),
            "role 1 action 0: receive of message 0 \"h\" (micro-batch 0) on "
            "rank 1: rank 0 did not send it within 200 ms");
  EXPECT_EQ(startAndWait(0, sent), status);
}

TEST_F(LoopbackFailure, AMessageOfAnotherSize) {
  DeviceTransfer received = transfer(1, 64), sent = transfer(0, 32);
  Status first;
  std::thread other([&] { first = startAndWait(0, sent); });
  const Status second = startAndWait(1, received);
  other.join();
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(first.message(), HasSubstr("the two ends of a queue differ"));
}

TEST_F(LoopbackFailure, AbortEndsMessages) {
  const Status reason = unavailable("rank 1 is gone");
  DeviceTransfer received = transfer(1, 64);
  world->abort(reason);
  EXPECT_EQ(startAndWait(1, received), reason);
}

TEST_F(LoopbackFailure, AbortEndsCollectivesAndBarriers) {
  const Status reason = unavailable("rank 1 is gone");
  Status ofCollective, ofBarrier;
  std::thread waiting([&] {
    ofCollective = enqueue(0, allReduce(0, 64));
    ofBarrier = world->barrier(0);
  });
  world->abort(reason);
  waiting.join();
  EXPECT_EQ(ofCollective, reason);
  EXPECT_EQ(ofBarrier, reason);
  EXPECT_EQ(world->status(), reason);
}

} // namespace
} // namespace weft::runtime
