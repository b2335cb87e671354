//===- Graphs.cpp - Exported: captures and graphs -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

using namespace weft::emulator;

/// Whether the nodes lead back to all nodes of the graph.
static bool reachAll(const GraphBody &body, const Nodes &from) {
  Nodes seen = from;
  std::vector<size_t> open(from.begin(), from.end());
  while (!open.empty()) {
    size_t node = open.back();
    open.pop_back();
    for (size_t before : body.nodes[node].dependencies)
      if (seen.insert(before).second)
        open.push_back(before);
  }
  return seen.size() == body.nodes.size();
}

/// The work of a graph: between `before` and what is returned, nodes in any
/// order that their dependencies allow.
static WorkPointer submitGraph(Device &device, const GraphBody &body,
                               const std::vector<WorkPointer> &before) {
  std::vector<WorkPointer> works;
  WorkPointer head = device.scheduler.submit("graph", nullptr, before);
  std::vector<bool> isLeaf(body.nodes.size(), true);
  for (const GraphBody::Node &node : body.nodes) {
    std::vector<WorkPointer> dependencies = {head};
    for (size_t index : node.dependencies) {
      dependencies.push_back(works[index]);
      isLeaf[index] = false;
    }
    works.push_back(
        device.scheduler.submit(node.label, node.run, dependencies));
  }
  std::vector<WorkPointer> leaves = {head};
  for (size_t i = 0; i < works.size(); ++i)
    if (isLeaf[i])
      leaves.push_back(works[i]);
  return device.scheduler.submit("graph end", nullptr, leaves);
}

extern "C" {

WEFT_EMULATOR_EXPORT cudaError_t
cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    require(stream && stream != cudaStreamLegacy,
            cudaErrorStreamCaptureUnsupported,
            "the legacy stream cannot be captured");
    CUstream_st &target = device.stream(stream);
    require(!target.capture, cudaErrorIllegalState,
            "the stream is captured already");
    auto capture = std::make_shared<Capture>();
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->origin = stream;
    static unsigned long long captures = 0;
    capture->number = ++captures;
    target.capture = capture;
    target.captured.clear();
    device.captures.insert(capture);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream,
                                                      cudaGraph_t *graph) {
  *graph = nullptr;
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    CUstream_st &target = device.stream(stream);
    std::shared_ptr<Capture> capture = target.capture;
    require(capture != nullptr, cudaErrorIllegalState,
            "the stream is not captured");
    require(capture->origin == stream, cudaErrorStreamCaptureUnmatched,
            "the capture began on another stream");
    require(capture->mode == cudaStreamCaptureModeRelaxed ||
                capture->thread == std::this_thread::get_id(),
            cudaErrorStreamCaptureWrongThread,
            "the capture began in another thread");
    Nodes last = target.captured;
    device.captures.erase(capture);
    for (cudaStream_t other : device.streams)
      if (other->capture == capture) {
        other->capture = nullptr;
        other->captured.clear();
      }
    require(capture->isValid, cudaErrorStreamCaptureInvalidated,
            "a call during the capture made it void");
    require(reachAll(capture->body, last), cudaErrorStreamCaptureUnjoined,
            "work on another stream of the capture is not waited for");
    auto result = std::make_unique<CUgraph_st>();
    result->body = std::move(capture->body);
    device.graphs.insert(*graph = result.release());
  });
}

WEFT_EMULATOR_EXPORT cudaError_t
cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    const CUstream_st &target = device.stream(stream);
    *status = !target.capture           ? cudaStreamCaptureStatusNone
              : target.capture->isValid ? cudaStreamCaptureStatusActive
                                        : cudaStreamCaptureStatusInvalidated;
  });
}

/// The runtime does not call the next two; libraries in the place of NCCL do.
/// Of a capture it tells the number only.
WEFT_EMULATOR_EXPORT cudaError_t cudaStreamGetCaptureInfo(
    cudaStream_t stream, cudaStreamCaptureStatus *status,
    unsigned long long *number, cudaGraph_t *graph, const cudaGraphNode_t **,
    const cudaGraphEdgeData **, size_t *) {
  if (cudaError_t error = cudaStreamIsCapturing(stream, status))
    return error;
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    require(!graph, cudaErrorNotSupported, "a capture has no graph yet");
    if (const auto &capture = device.stream(stream).capture; capture && number)
      *number = capture->number;
  });
}

/// In the place of user objects: `release` is called when the graph that the
/// stream is captured in, and all that is made of it, are destroyed.
WEFT_EMULATOR_EXPORT cudaError_t weftEmulatorHold(cudaStream_t stream,
                                                  void *object,
                                                  void (*release)(void *)) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    const auto &capture = device.stream(stream).capture;
    require(capture != nullptr, cudaErrorInvalidValue,
            "the stream is not captured");
    capture->body.held.emplace_back(object, release);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaGraphInstantiate(
    cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    require(device.graphs.contains(graph), cudaErrorInvalidValue,
            "there is no such graph");
    auto result = std::make_unique<CUgraphExec_st>();
    result->body = graph->body;
    device.executables.insert(*executable = result.release());
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaGraphUpload(cudaGraphExec_t executable,
                                                 cudaStream_t) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    require(device.executables.contains(executable), cudaErrorInvalidValue,
            "there is no such graph");
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t executable,
                                                 cudaStream_t stream) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    require(device.executables.contains(executable), cudaErrorInvalidValue,
            "there is no such graph");
    CUstream_st &target = device.stream(stream);
    require(!target.capture, cudaErrorStreamCaptureUnsupported,
            "the emulator captures no graphs in graphs");
    // Empty work: what the stream waits for, the legacy stream included.
    WorkPointer before = device.enqueue(target, "graph launch", nullptr);
    target.tail = executable->last =
        submitGraph(device, executable->body, {before, executable->last});
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    require(device.graphs.erase(graph) == 1, cudaErrorInvalidValue,
            "there is no such graph");
    delete graph;
  });
}

WEFT_EMULATOR_EXPORT cudaError_t
cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return call(__func__, [&](Device &device) {
    std::lock_guard lock(device.mutex);
    require(device.executables.erase(executable) == 1, cudaErrorInvalidValue,
            "there is no such graph");
    delete executable;
  });
}

} // extern "C"
