//===- Objects.h - Streams, events, graphs and kernels ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_CUDART_OBJECTS_H
#define WEFT_EMULATOR_CUDART_OBJECTS_H

#include "Scheduler.h"
#include "ptx/Program.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>

namespace weft::emulator {

using Nodes = std::set<size_t>;

/// A graph: work with the nodes that come before it.
struct GraphBody {
  struct Node {
    std::string label;
    std::function<void()> run;
    Nodes dependencies;
  };
  std::vector<Node> nodes;
  /// What lives as long as the graph and all that is made of it.
  std::vector<std::shared_ptr<void>> held;
};

/// What streams are being captured into.
struct Capture {
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  cudaStream_t origin;
  GraphBody body;
  unsigned long long number = 0;
  bool isValid = true;
};

} // namespace weft::emulator

struct CUstream_st {
  int device = 0;
  bool isBlocking = true;
  /// The last work; what is added comes after it.
  weft::emulator::WorkPointer tail;
  /// Where it is captured, and the nodes that its next one depends on.
  std::shared_ptr<weft::emulator::Capture> capture;
  weft::emulator::Nodes captured;
};

struct CUevent_st {
  bool hasTime = true;
  /// The work that records it, or the nodes of a capture that it stands for.
  weft::emulator::WorkPointer work;
  std::shared_ptr<weft::emulator::Capture> capture;
  weft::emulator::Nodes captured;
  using Time = std::chrono::steady_clock::time_point;
  /// When the work was done.
  std::shared_ptr<std::optional<Time>> time;
};

struct CUgraph_st {
  weft::emulator::GraphBody body;
};

struct CUgraphExec_st {
  weft::emulator::GraphBody body;
  /// Launches of one graph follow one another.
  weft::emulator::WorkPointer last;
};

struct CUkern_st {
  weft::emulator::Program program;
  uint32_t dynamicSharedLimit = 0;
};

struct CUlib_st {
  std::map<std::string, CUkern_st> kernels;
  std::vector<void *> variables;
};

#endif // WEFT_EMULATOR_CUDART_OBJECTS_H
