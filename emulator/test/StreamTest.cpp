//===- StreamTest.cpp - Streams and events --------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda.h"

#include <atomic>
#include <thread>

using namespace weft::emulator;
using testing::ElementsAre;

namespace {

/// x += 1 on a stream.
void addOne(const Kernels &kernels, DeviceFloats &x, cudaStream_t stream) {
  EXPECT_CUDA(kernels.launch("add_one", dim3(1), dim3(32), stream, x.data,
                             static_cast<int>(x.count)));
}

void copy(DeviceFloats &to, const DeviceFloats &from, cudaStream_t stream) {
  EXPECT_CUDA(cudaMemcpyAsync(to.data, from.data, 4 * to.count,
                              cudaMemcpyDeviceToDevice, stream));
}

TEST(Streams, WorkFollowsTheOrderOfItsStream) {
  Kernels kernels;
  DeviceFloats x({0}), y(Unset{1});
  cudaStream_t stream = makeStream();
  for (int i = 0; i < 100; ++i)
    addOne(kernels, x, stream);
  copy(y, x, stream);
  EXPECT_CUDA(cudaMemsetAsync(x.data, 0, 4, stream));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_THAT(y.read(), ElementsAre(100));
  EXPECT_THAT(x.read(), ElementsAre(0));
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST(Streams, NothingOrdersStreamsButEvents) {
  Kernels kernels;
  cudaStream_t first = makeStream(), second = makeStream();
  cudaEvent_t event = makeEvent();
  int wrong[2] = {0, 0};
  for (int i = 0; i < 200; ++i)
    for (bool waits : {false, true}) {
      DeviceFloats x({0}), y(Unset{1});
      addOne(kernels, x, first);
      EXPECT_CUDA(cudaEventRecord(event, first));
      if (waits)
        EXPECT_CUDA(cudaStreamWaitEvent(second, event, 0));
      copy(y, x, second);
      wrong[waits] += y.read()[0] != 1;
    }
  EXPECT_EQ(wrong[true], 0);
  EXPECT_GT(wrong[false], 20);
}

TEST(Streams, WaitingForAnEventThatWasNeverRecordedIsNothing) {
  cudaStream_t stream = makeStream();
  cudaEvent_t event = makeEvent();
  EXPECT_CUDA(cudaStreamWaitEvent(stream, event, 0));
  EXPECT_CUDA(cudaEventSynchronize(event));
  EXPECT_CUDA(cudaEventQuery(event));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
}

TEST(Streams, EventsMeanTheWorkThatWasThereWhenTheyWereRecorded) {
  Kernels kernels;
  DeviceFloats x({0});
  cudaStream_t stream = makeStream();
  cudaEvent_t event = makeEvent();
  EXPECT_CUDA(cudaEventRecord(event, stream));
  addOne(kernels, x, stream);
  EXPECT_CUDA(cudaEventSynchronize(event));
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess) << "one step was left";
  EXPECT_THAT(x.read(), ElementsAre(1));
}

TEST(Streams, QueriesMakeWorkGoOn) {
  Kernels kernels;
  DeviceFloats x({0});
  cudaStream_t stream = makeStream();
  for (int i = 0; i < 5; ++i)
    addOne(kernels, x, stream);
  int queries = 1;
  for (; cudaStreamQuery(stream) == cudaErrorNotReady; ++queries)
    ;
  EXPECT_EQ(queries, 5);
}

TEST(Streams, TheLegacyStreamWaitsForAllThatBlock) {
  Kernels kernels;
  cudaStream_t blocking = nullptr;
  EXPECT_CUDA(cudaStreamCreateWithPriority(&blocking, cudaStreamDefault, 0));
  for (int i = 0; i < 50; ++i) {
    DeviceFloats x({0}), y(Unset{1});
    addOne(kernels, x, blocking);
    copy(y, x, nullptr);
    addOne(kernels, y, blocking);
    EXPECT_THAT(y.read(), ElementsAre(2));
  }
}

TEST(Streams, CopiesFromPageableMemoryAreStaged) {
  DeviceFloats x(Unset{1});
  cudaStream_t stream = makeStream();
  float value = 1;
  EXPECT_CUDA(
      cudaMemcpyAsync(x.data, &value, 4, cudaMemcpyHostToDevice, stream));
  value = 2;
  EXPECT_THAT(x.read(), ElementsAre(1));
  // Pinned memory is read when the copy is carried out.
  float *pinned = nullptr;
  EXPECT_CUDA(cudaMallocHost(reinterpret_cast<void **>(&pinned), 4));
  *pinned = 1;
  EXPECT_CUDA(
      cudaMemcpyAsync(x.data, pinned, 4, cudaMemcpyHostToDevice, stream));
  *pinned = 2;
  EXPECT_THAT(x.read(), ElementsAre(2));
  EXPECT_CUDA(cudaFreeHost(pinned));
}

TEST(Streams, SeveralThreadsUseTheDevice) {
  Kernels kernels;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&kernels] {
      DeviceFloats x({0});
      cudaStream_t stream = makeStream();
      for (int step = 0; step < 200; ++step) {
        addOne(kernels, x, stream);
        if (step % 10 == 0)
          EXPECT_CUDA(cudaStreamSynchronize(stream));
      }
      EXPECT_THAT(x.read(), ElementsAre(200));
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// As the runtime reads how far a device has come.
TEST(Streams, ThreadsLookAtAWordThatTheDeviceWrites) {
  DeviceFloats numbers({1, 2, 3, 4, 5, 6, 7, 8});
  float *word = nullptr;
  EXPECT_CUDA(cudaMallocHost(reinterpret_cast<void **>(&word), 4));
  *word = 0;
  std::thread reader([word] {
    for (float seen = 0; seen < 8;) {
      const float now = std::atomic_ref(*word).load();
      EXPECT_GE(now, seen);
      seen = now;
    }
  });
  cudaStream_t stream = makeStream();
  for (size_t i = 0; i < numbers.count; ++i)
    EXPECT_CUDA(cudaMemcpyAsync(word, numbers.data + i, 4,
                                cudaMemcpyDeviceToHost, stream));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  reader.join();
  EXPECT_CUDA(cudaFreeHost(word));
}

TEST(Streams, EventsHaveTimes) {
  cudaEvent_t first = nullptr, last = nullptr;
  EXPECT_CUDA(cudaEventCreateWithFlags(&first, cudaEventDefault));
  EXPECT_CUDA(cudaEventCreateWithFlags(&last, cudaEventDefault));
  EXPECT_CUDA(cudaEventRecord(first, nullptr));
  EXPECT_CUDA(cudaEventRecord(last, nullptr));
  float time = -1;
  EXPECT_EQ(cudaEventElapsedTime(&time, first, last), cudaErrorNotReady);
  EXPECT_CUDA(cudaEventSynchronize(last));
  EXPECT_CUDA(cudaEventElapsedTime(&time, first, last));
  EXPECT_GE(time, 0);
  EXPECT_EQ(cudaEventElapsedTime(&time, first, makeEvent()),
            cudaErrorInvalidResourceHandle);
}

} // namespace
