//===- ShardCopy.h - Parts of a tensor and the whole ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves the part of one rank between the whole tensor and the rank's memory,
// and puts a whole tensor together from the parts of all ranks.
//
// Example: f32[4x8], dim 1 split over "model"=2: rank 1 holds [0:4, 4:8]. Of
// f32[7x8], dim 0 split over "model"=2, it holds [4:7, 0:8] and a row of zeros.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_SESSION_SHARDCOPY_H
#define WEFT_RUNTIME_SRC_SESSION_SHARDCOPY_H

#include "plan/Mesh.h"
#include "weft/runtime/Array.h"
#include "weft/runtime/Box.h"
#include "weft/runtime/Status.h"
#include "weft/runtime/plan_generated.h"

#include <cstddef>
#include <functional>
#include <span>

namespace weft::runtime {

/// Of the shard of a rank, with its padding.
size_t partBytes(const plan::TensorType &type);

/// Whether every rank holds the whole tensor.
bool isReplicated(const plan::TensorType &type);

/// The elements of the whole tensor that the part of `rank` has; in the part
/// they begin at its first element, and behind them it is padded.
Box heldBox(const plan::TensorType &type, const Mesh &mesh, int64_t rank);

/// Whether the contiguous runs that the part of `rank` is in the whole tensor
/// are worth a read each.
bool isOfLongRuns(const plan::TensorType &type, const Mesh &mesh, int64_t rank);

/// Copies the part of `rank` out of the whole tensor into `part`, with zeros
/// where it is padded. Where ranks
/// hold partial sums, the first takes the value and the others take zero;
/// where they hold partial maxima or minima, all take the value.
void extractShard(const plan::TensorType &type, const Mesh &mesh, int64_t rank,
                  const std::byte *whole, std::byte *part);

/// The same of a tensor whose bytes `read(offset, memory)` gives: one call for
/// each run.
Status
readShard(const plan::TensorType &type, const Mesh &mesh, int64_t rank,
          const std::function<Status(uint64_t, std::span<std::byte>)> &read,
          std::byte *part);

/// Copies the part of `rank`, with zeros where it is padded.
void copyShard(const plan::TensorType &type, const Mesh &mesh, int64_t rank,
               const std::byte *from, std::byte *to);

/// Puts the whole tensor together. `partOf` gives the memory of a rank's part.
/// Where ranks hold copies, that of the first rank is taken; where they hold
/// partial values, these are combined in the order of the ranks, sums of 16-bit
/// floats in fp32.
Array assembleShards(const plan::TensorType &type, const Mesh &mesh,
                     const std::function<const std::byte *(int64_t)> &partOf);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_SESSION_SHARDCOPY_H
