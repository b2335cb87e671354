//===- Sharding.cpp - Shardings and the data they place -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/Sharding.h"

namespace weft::sharding {

static Sharding uniform(size_t rank, bool closed) {
  Sharding sharding;
  sharding.dims.resize(rank);
  for (DimSharding &dim : sharding.dims)
    dim.closed = closed;
  return sharding;
}

Sharding Sharding::open(size_t rank) { return uniform(rank, false); }
Sharding Sharding::closed(size_t rank) { return uniform(rank, true); }

bool Sharding::isEquivalentTo(const Sharding &other) const {
  if (dims.size() != other.dims.size() || unreduced != other.unreduced)
    return false;
  if (!unreduced.empty() && unreducedKind != other.unreducedKind)
    return false;
  for (auto [mine, theirs] : llvm::zip_equal(dims, other.dims))
    if (mine.axes != theirs.axes)
      return false;
  return true;
}

bool Sharding::isFullyReplicated() const {
  return unreduced.empty() && llvm::all_of(dims, [](const DimSharding &dim) {
           return dim.axes.empty();
         });
}

bool Sharding::mentions(const AxisRef &ref) const {
  auto overlaps = [&](const AxisRef &used) { return used.overlaps(ref); };
  return llvm::any_of(replicated, overlaps) ||
         llvm::any_of(unreduced, overlaps) ||
         llvm::any_of(dims, [&](const DimSharding &dim) {
           return llvm::any_of(dim.axes, overlaps);
         });
}

std::optional<Shape> localShape(llvm::ArrayRef<int64_t> global,
                                const Sharding &sharding) {
  Shape local;
  for (auto [size, dim] : llvm::zip_equal(global, sharding.dims)) {
    int64_t shards = numShards(dim.axes);
    if (size % shards != 0)
      return std::nullopt;
    local.push_back(size / shards);
  }
  return local;
}

Shape localOffsets(const Mesh &mesh, int64_t device,
                   llvm::ArrayRef<int64_t> global, const Sharding &sharding) {
  Shape offsets;
  for (auto [size, dim] : llvm::zip_equal(global, sharding.dims))
    offsets.push_back(mesh.position(device, dim.axes) *
                      (size / numShards(dim.axes)));
  return offsets;
}

static const char *spellReduction(Reduction kind) {
  switch (kind) {
  case Reduction::Sum:
    return "";
  case Reduction::Max:
    return "max";
  case Reduction::Min:
    return "min";
  }
  return "";
}

static std::string print(const Mesh &mesh, const DimSharding &dim) {
  std::string text = mesh.print(dim.axes);
  if (!dim.closed)
    text.insert(text.size() - 1, dim.axes.empty() ? "?" : ", ?");
  if (dim.priority)
    text += "p" + std::to_string(*dim.priority);
  return text;
}

std::string print(const Mesh &mesh, const Sharding &sharding) {
  std::string text = "[";
  for (auto [index, dim] : llvm::enumerate(sharding.dims))
    text += (index ? ", " : "") + print(mesh, dim);
  text += "]";
  if (!sharding.replicated.empty())
    text += ", replicated=" + mesh.print(sharding.replicated);
  if (!sharding.unreduced.empty())
    text += std::string(", unreduced=") +
            spellReduction(sharding.unreducedKind) +
            mesh.print(sharding.unreduced);
  return text;
}

} // namespace weft::sharding
