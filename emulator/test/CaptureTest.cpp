//===- CaptureTest.cpp - Captures and graphs ------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda.h"

using namespace weft::emulator;
using testing::ElementsAre;

namespace {

class Captures : public testing::Test {
protected:
  Kernels kernels;
  cudaStream_t main = makeStream(), side = makeStream();
  cudaEvent_t fork = makeEvent(), join = makeEvent();
  DeviceFloats x{std::vector<float>{0}}, y{std::vector<float>{0}};

  void begin() {
    EXPECT_CUDA(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  }
  void addOne(DeviceFloats &target, cudaStream_t stream) {
    EXPECT_CUDA(
        kernels.launch("add_one", dim3(1), dim3(32), stream, target.data, 1));
  }
  cudaError_t end() {
    cudaGraph_t graph = nullptr;
    cudaError_t error = cudaStreamEndCapture(main, &graph);
    EXPECT_EQ(graph != nullptr, error == cudaSuccess);
    return error;
  }
  cudaGraphExec_t finish() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    EXPECT_CUDA(cudaStreamEndCapture(main, &graph));
    EXPECT_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    EXPECT_CUDA(cudaGraphDestroy(graph));
    return executable;
  }
};

TEST_F(Captures, RecordInsteadOfDoing) {
  begin();
  addOne(x, main);
  cudaStreamCaptureStatus status;
  EXPECT_CUDA(cudaStreamIsCapturing(main, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  cudaGraphExec_t graph = finish();
  EXPECT_CUDA(cudaStreamIsCapturing(main, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_THAT(x.read(), ElementsAre(0));
  for (int i = 0; i < 3; ++i)
    EXPECT_CUDA(cudaGraphLaunch(graph, main));
  EXPECT_THAT(x.read(), ElementsAre(3));
  EXPECT_CUDA(cudaGraphExecDestroy(graph));
}

TEST_F(Captures, ForkAndJoinByEvents) {
  begin();
  addOne(x, main);
  EXPECT_CUDA(cudaEventRecord(fork, main));
  EXPECT_CUDA(cudaStreamWaitEvent(side, fork, 0));
  EXPECT_CUDA(
      cudaMemcpyAsync(y.data, x.data, 4, cudaMemcpyDeviceToDevice, side));
  EXPECT_CUDA(cudaEventRecord(join, side));
  EXPECT_CUDA(cudaStreamWaitEvent(main, join, 0));
  EXPECT_CUDA(cudaMemsetAsync(x.data, 0, 4, main));
  cudaGraphExec_t graph = finish();
  for (int i = 0; i < 50; ++i) {
    EXPECT_CUDA(cudaMemsetAsync(y.data, 0, 4, main));
    EXPECT_CUDA(cudaGraphLaunch(graph, main));
    EXPECT_THAT(y.read(), ElementsAre(1));
  }
}

TEST_F(Captures, NodesRunInAnyOrder) {
  begin();
  EXPECT_CUDA(cudaEventRecord(fork, main));
  EXPECT_CUDA(cudaStreamWaitEvent(side, fork, 0));
  addOne(x, main);
  // Nothing orders the copy and the kernel.
  EXPECT_CUDA(
      cudaMemcpyAsync(y.data, x.data, 4, cudaMemcpyDeviceToDevice, side));
  EXPECT_CUDA(cudaEventRecord(join, side));
  EXPECT_CUDA(cudaStreamWaitEvent(main, join, 0));
  cudaGraphExec_t graph = finish();
  int early = 0;
  for (int i = 0; i < 100; ++i) {
    EXPECT_CUDA(cudaMemsetAsync(x.data, 0, 4, main));
    EXPECT_CUDA(cudaGraphLaunch(graph, main));
    early += y.read()[0] == 0;
  }
  EXPECT_GT(early, 10);
  EXPECT_LT(early, 90);
}

TEST_F(Captures, RejectUnjoinedWork) {
  begin();
  EXPECT_CUDA(cudaEventRecord(fork, main));
  EXPECT_CUDA(cudaStreamWaitEvent(side, fork, 0));
  addOne(x, side);
  EXPECT_EQ(end(), cudaErrorStreamCaptureUnjoined);
}

TEST_F(Captures, RejectWaitingAndAllocating) {
  begin();
  EXPECT_EQ(cudaStreamSynchronize(main), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  begin();
  void *memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(kernels.launch("add_one", dim3(1), dim3(1), main, x.data, 1),
            cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  begin();
  EXPECT_CUDA(cudaEventRecord(fork, main));
  EXPECT_EQ(cudaEventSynchronize(fork), cudaErrorCapturedEvent);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  begin();
  float value = 0;
  EXPECT_EQ(cudaMemcpyAsync(x.data, &value, 4, cudaMemcpyHostToDevice, main),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, RejectEventsFromOutside) {
  EXPECT_CUDA(cudaEventRecord(fork, side));
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(main, fork, 0),
            cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, RejectTheLegacyStream) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_CUDA(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaMemsetAsync(x.data, 0, 4, nullptr),
            cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, EndOnTheStreamOnWhichTheyBegan) {
  begin();
  EXPECT_CUDA(cudaEventRecord(fork, main));
  EXPECT_CUDA(cudaStreamWaitEvent(side, fork, 0));
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(side, &graph),
            cudaErrorStreamCaptureUnmatched);
  EXPECT_CUDA(end());
  EXPECT_EQ(cudaStreamEndCapture(main, &graph), cudaErrorIllegalState);
}

} // namespace
