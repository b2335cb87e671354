//===- ParameterActions.h - Gathers and reductions of a row -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds to a row of computation what its stages need from the ranks that hold
// the same stages: gathers of sharded parameters, reductions of gradients.
//
//   0F0,0B0 -> 0UNSHARD,0F0,0B0,0REDUCE_GRAD,0RESHARD
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_PARAMETERACTIONS_H
#define WEFT_TIMELINE_PARAMETERACTIONS_H

#include "weft/Timeline/Table.h"

#include <optional>

namespace weft::timeline {

/// Adds what stages with sharded parameters (FSDP) need: before each action
/// the next `lookAhead` distinct stages of the row are gathered, in the order
/// of their use, after those that are not among them have been freed.
Row addUnshards(const Row &row, int32_t lookAhead = 3);

/// Gathers those of `stages` that the row computes once, in front of it: in the
/// order of their first use, with nothing freed.
Row addFirstGathers(const Row &row, const std::vector<int32_t> &stages);

/// Gathers what `passes` need first, for each micro-batch, while the rank does
/// what stands before: one action ahead, but behind the last action of the same
/// pass, over whose parameters it gathers.
///
///   0F0,0F1,0B0 -> 0UNSHARD_F0,0F0,0UNSHARD_F1,0UNSHARD_B0,0F1,0B0
Row addPassGathers(const Row &row, const std::vector<GatheredPass> &passes);

/// Adds the reduction of the gradients of `stages`, or of all, behind the last
/// of their `microbatches` weight gradients.
Row addGradientReductions(
    const Row &row, int32_t microbatches,
    const std::optional<std::vector<int32_t>> &stages = std::nullopt);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_PARAMETERACTIONS_H
