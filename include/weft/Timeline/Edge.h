//===- Edge.h - What crosses from stage to stage ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pipeline hands activations from each stage to the next and gradients back.
// A skip connection is an edge more in either direction: the output of stage 0
// that stage 3 reads as well is {0, 3, false} and {3, 0, true}.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_EDGE_H
#define WEFT_TIMELINE_EDGE_H

#include <cstdint>
#include <vector>

namespace weft::timeline {

struct Edge {
  int32_t source = 0;
  int32_t destination = 0;
  /// Carries gradients, which the destination needs for its backward pass;
  /// else activations for its forward pass.
  bool isBackward = false;
  /// Of one micro-batch.
  int64_t bytes = 0;

  bool operator==(const Edge &) const = default;
};

/// What is sent once a step, in one message: from a level of what one stage
/// computes before the micro-batches (prologue) or behind them (update) to the
/// next level of another stage; where that has none, from the prologue to its
/// first action, from the update to its state.
struct OnceEdge {
  int32_t source = 0;
  int32_t destination = 0;
  bool isUpdate = false;
  /// Of the source.
  int32_t level = 0;
  int64_t bytes = 0;

  bool operator==(const OnceEdge &) const = default;
};

/// Edges between neighbours in both directions, activations first.
inline std::vector<Edge> neighbourEdges(int32_t stages, int64_t bytes = 0) {
  std::vector<Edge> edges;
  for (int32_t stage = 0; stage + 1 < stages; ++stage)
    edges.push_back({stage, stage + 1, false, bytes});
  for (int32_t stage = 0; stage + 1 < stages; ++stage)
    edges.push_back({stage + 1, stage, true, bytes});
  return edges;
}

} // namespace weft::timeline

#endif // WEFT_TIMELINE_EDGE_H
