//===- MeshChoices.h - How devices can share a step -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ways to share a step that nobody has annotated: a mesh of stages, batch
// and tensors, with what is split along each axis.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SEARCH_MESHCHOICES_H
#define WEFT_SEARCH_MESHCHOICES_H

#include "weft/Phases.h"
#include "weft/Search/SharedDimensions.h"

namespace weft {

/// What is split along the axis of the batch beside the batch.
enum class SplitStates : uint8_t { None, Optimizer, All };

struct MeshChoice {
  /// Ranks that share the layers, the batch and the tensors.
  int64_t pipeline = 1, data = 1, tensor = 1;
  /// What tensors are split by: a number of MeshChoices::splits.
  size_t split = 0;
  SplitStates states = SplitStates::None;
  /// Of a pipeline.
  int64_t microbatches = 1;

  sharding::Mesh mesh() const;
  /// With stages that the compiler chooses; of one stage, no axis.
  StageOptions stages() const;
  /// `pipe=2 x data=4, states in parts, 8 micro-batches`
  std::string print() const;
};

class MeshChoices {
public:
  /// Fails with a diagnostic where the step has no batch. `graph` has the
  /// arguments of `module`, and gradients are resolved.
  static mlir::FailureOr<MeshChoices> find(mlir::ModuleOp module,
                                           mlir::ModuleOp graph);

  std::vector<MeshChoice> of(int64_t devices) const;
  /// Of states, on a rank of a pipeline whose stages have equal shares.
  double stateBytes(const MeshChoice &choice) const;
  /// Declares the mesh, and gives arguments and results their shardings.
  void annotate(mlir::ModuleOp module, const MeshChoice &choice) const;

private:
  sharding::Sharding shardingOf(unsigned argument,
                                const MeshChoice &choice) const;
  std::optional<unsigned> freeDimension(unsigned argument,
                                        const sharding::Sharding &taken,
                                        int64_t ways) const;
  void findSplits();
  std::vector<SplitStates> statesToSplit() const;

  std::vector<StepArgument> arguments;
  SharedDimension batch;
  /// The others, those of the most bytes first.
  std::vector<SharedDimension> weights;
  /// Sets of them, by number, to which none can be added without an argument of
  /// which two dimensions would be split.
  std::vector<std::vector<size_t>> splits;
};

} // namespace weft

#endif // WEFT_SEARCH_MESHCHOICES_H
