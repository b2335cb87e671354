//===- ChainRecomputation.h - What a chain keeps and recomputes -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A deep model is a chain: region i makes the input of region i + 1. Its
// backward pass goes through the regions from the last to the first, and needs
// at each the values of the region's forward pass. Either they were kept, all
// or some, or the region is recomputed from its input; a range of regions
// may be, from the input of its first one.
//
// `planChain` chooses so that the work done again is least while the memory
// stays under a limit. It is the dynamic program of Beaumont,
// Eyraud-Dubois, Herrmann, Joly and Shilova, "Optimal checkpointing for
// heterogeneous chains: how to train deep neural networks with limited memory"
// (Inria report 9302, 2019), which generalises Griewank and Walther's revolve
// and Chen et al., "Training deep nets with sublinear memory cost" (2016), with
// two additions: a region may keep a part of its values, and each region has
// bytes that are alive beside the chain while its derivative is computed (the
// states, the gradients so far, temporaries).
//
// Among the schedules in which an input, once kept, stays until it has been
// used, the answer is optimal up to the unit in which memory is counted;
// test/Unit/Autodiff measures the distance to schedules without that condition.
//
// Example: four regions, each with an input of 1 and values of 4 bytes, and
// room for 12: the first two regions are recomputed from the chain's input,
// one inside the other ([0, 2) and in it [0, 1)), the others keep all.
//
// Plain C++: bytes and work in, ranges out. Work may be in any unit, such as
// FLOPs.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SEARCH_CHAINRECOMPUTATION_H
#define WEFT_SEARCH_CHAINRECOMPUTATION_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

/// A way to keep some of the values of a region.
struct PartialKeep {
  /// Bytes kept, and the work of making the others again.
  int64_t bytes = 0;
  double work = 0;
};

struct ChainRegion {
  /// Bytes of the input, which the region before made.
  int64_t inputBytes = 0;
  /// Bytes of the values that the derivative of the region needs beside the
  /// input.
  int64_t valueBytes = 0;
  /// Work of computing the region again.
  double work = 0;
  /// Bytes alive beside the values of the chain while its derivative is
  /// computed.
  int64_t besideBytes = 0;
  /// The results of matmuls only, if that is possible.
  std::optional<PartialKeep> dots;
};

/// A range of regions [begin, end) of which something is recomputed.
struct RecomputedRange {
  size_t begin = 0, end = 0;
  /// Of one region: the results of its matmuls are kept. Otherwise the
  /// range is recomputed from the input of its first region.
  bool keepsDots = false;
};

struct ChainPlan {
  /// Nested or disjoint; those that contain others come first, otherwise in the
  /// order of the chain.
  std::vector<RecomputedRange> ranges;
  /// Work that is done again.
  double work = 0;
};

/// The plan of least work whose memory stays at or under `limit`. No value if
/// there is none. Memory is counted in at most `units` pieces of equal size,
/// rounded up; 0 chooses their number by the length of the chain.
std::optional<ChainPlan> planChain(const std::vector<ChainRegion> &regions,
                                   int64_t limit, size_t units = 0);

} // namespace weft

#endif // WEFT_SEARCH_CHAINRECOMPUTATION_H
