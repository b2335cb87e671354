//===- ShardCopy.cpp - Parts of a tensor and the whole ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/ShardCopy.h"

#include "comm/Reduce.h"
#include "plan/Text.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace weft::runtime {

size_t partBytes(const plan::TensorType &type) {
  const auto &shape = *type.local_shape();
  return elementCountOf({shape.data(), shape.size()}) *
         byteSize(dtypeOf(type.dtype()));
}

Box heldBox(const plan::TensorType &type, const Mesh &mesh, int64_t rank) {
  Box box;
  for (uint32_t d = 0; d < type.global_shape()->size(); ++d) {
    const int64_t part = type.local_shape()->Get(d);
    const int64_t start =
        part * mesh.position(rank, axesOf(type.dim_axes()->Get(d)));
    box.start.push_back(start);
    box.extent.push_back(
        std::clamp<int64_t>(type.global_shape()->Get(d) - start, 0, part));
  }
  return box;
}

static std::span<const int64_t>
extents(const flatbuffers::Vector<int64_t> &shape) {
  return {shape.data(), shape.size()};
}

static bool isPadded(const plan::TensorType &type, const Box &box) {
  return !std::ranges::equal(box.extent, extents(*type.local_shape()));
}

/// Calls `copy(byte offset in the whole, byte offset in the part, bytes)` for
/// each contiguous run of the box.
template <typename Copy>
static void forEachRun(const plan::TensorType &type, const Box &box,
                       Copy &&copy) {
  const size_t bytes = byteSize(dtypeOf(type.dtype()));
  const std::vector<int64_t> origin(box.extent.size());
  forEachRun({extents(*type.global_shape()), box.start},
             {extents(*type.local_shape()), origin}, box.extent,
             [&](int64_t inWhole, int64_t inPart, int64_t count) {
               copy(inWhole * bytes, inPart * bytes, count * bytes);
             });
}

static size_t wholeBytes(const plan::TensorType &type) {
  size_t bytes = byteSize(dtypeOf(type.dtype()));
  for (int64_t extent : *type.global_shape())
    bytes *= extent;
  return bytes;
}

bool isReplicated(const plan::TensorType &type) {
  const auto &whole = *type.global_shape(), &part = *type.local_shape();
  // A part that is as large as the whole may still be one of several: 3
  // elements over 2 ranks are 3 and padding, where others need them in 6.
  for (const plan::AxisList *axes : *type.dim_axes())
    if (groupSize(axesOf(axes)) != 1)
      return false;
  return (!type.unreduced() || type.unreduced()->axes()->size() == 0) &&
         std::equal(whole.begin(), whole.end(), part.begin(), part.end());
}

/// A maximum or minimum may take the value any number of times, a sum once.
static bool isGiven(const plan::TensorType &type, const Mesh &mesh,
                    int64_t rank) {
  return type.unreduced_kind() != plan::Reduction::Sum ||
         mesh.position(rank, axesOf(type.unreduced())) == 0;
}

void extractShard(const plan::TensorType &type, const Mesh &mesh, int64_t rank,
                  const std::byte *whole, std::byte *part) {
  if (isReplicated(type)) {
    std::memcpy(part, whole, wholeBytes(type));
    return;
  }
  const bool holdsTerm = isGiven(type, mesh, rank);
  const Box box = heldBox(type, mesh, rank);
  if (isPadded(type, box) || !holdsTerm)
    std::memset(part, 0, partBytes(type));
  if (holdsTerm)
    forEachRun(type, box, [&](size_t from, size_t to, size_t bytes) {
      std::memcpy(part + to, whole + from, bytes);
    });
}

bool isOfLongRuns(const plan::TensorType &type, const Mesh &mesh,
                  int64_t rank) {
  constexpr size_t longRun = 4096;
  const Box box = heldBox(type, mesh, rank);
  size_t runs = 0, all = 0;
  forEachRun(type, box, [&](size_t, size_t, size_t bytes) {
    ++runs;
    all += bytes;
  });
  return runs <= 1 || all >= runs * longRun;
}

Status
readShard(const plan::TensorType &type, const Mesh &mesh, int64_t rank,
          const std::function<Status(uint64_t, std::span<std::byte>)> &read,
          std::byte *part) {
  const Box box = heldBox(type, mesh, rank);
  const bool holdsTerm = isGiven(type, mesh, rank);
  if (isPadded(type, box) || !holdsTerm)
    std::memset(part, 0, partBytes(type));
  Status status;
  if (holdsTerm)
    forEachRun(type, box, [&](size_t from, size_t to, size_t bytes) {
      if (status.ok())
        status = read(from, {part + to, bytes});
    });
  return status;
}

void copyShard(const plan::TensorType &type, const Mesh &mesh, int64_t rank,
               const std::byte *from, std::byte *to) {
  const Box box = heldBox(type, mesh, rank);
  if (!isPadded(type, box)) {
    std::memcpy(to, from, partBytes(type));
    return;
  }
  std::memset(to, 0, partBytes(type));
  forEachRun(type, box, [&](size_t, size_t offset, size_t bytes) {
    std::memcpy(to + offset, from + offset, bytes);
  });
}

static void insertShard(const plan::TensorType &type, const Mesh &mesh,
                        int64_t rank, const std::byte *part, std::byte *whole) {
  forEachRun(type, heldBox(type, mesh, rank),
             [&](size_t to, size_t from, size_t bytes) {
               std::memcpy(whole + to, part + from, bytes);
             });
}

/// Combines tensors element by element, in order, into the first.
static Array combine(std::vector<Array> terms, plan::Reduction kind) {
  std::vector<const void *> sources;
  for (const Array &term : terms)
    sources.push_back(term.data.data());
  void *const total = terms[0].data.data();
  ReduceRegion region;
  region.sources = sources;
  region.destinations = {&total, 1};
  region.columns = terms[0].size();
  region.sourceStride = terms[0].size();
  // The verifier refuses what has no function: the sum of pred.
  if (ReduceFunction reduce =
          reduceFunction(terms[0].dtype, static_cast<Reduction>(kind)))
    reduce(region);
  return std::move(terms[0]);
}

Array assembleShards(const plan::TensorType &type, const Mesh &mesh,
                     const std::function<const std::byte *(int64_t)> &partOf) {
  const std::vector<int64_t> shape(type.global_shape()->begin(),
                                   type.global_shape()->end());
  const auto unreduced = axesOf(type.unreduced());
  std::vector<plan::AxisRef> distinguishing = unreduced;
  for (const plan::AxisList *axes : *type.dim_axes())
    for (const plan::AxisRef &ref : axesOf(axes))
      distinguishing.push_back(ref);

  std::vector<Array> terms(groupSize(unreduced),
                           Array(dtypeOf(type.dtype()), shape));
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    // Of the ranks that hold copies the first has coordinate 0 elsewhere.
    const int64_t first =
        mesh.rankAt(0, distinguishing, mesh.position(rank, distinguishing));
    if (rank == first)
      insertShard(type, mesh, rank, partOf(rank),
                  terms[mesh.position(rank, unreduced)].data.data());
  }
  return terms.size() == 1 ? std::move(terms[0])
                           : combine(std::move(terms), type.unreduced_kind());
}

} // namespace weft::runtime
