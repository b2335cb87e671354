//===- RandomSharding.cpp - Random meshes and legal shardings -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomSharding.h"

#include <algorithm>

using namespace weft;
using namespace weft::sharding;
using namespace weft::test;

Mesh weft::test::randomMesh(Random &random) {
  static const std::vector<std::vector<int64_t>> grids = {
      {2},    {3},    {4},    {5},    {6},    {7},       {8},       {2, 2},
      {2, 3}, {3, 2}, {2, 4}, {4, 2}, {1, 4}, {2, 1, 3}, {2, 2, 2}, {2, 2, 2}};
  std::vector<MeshAxis> axes;
  for (int64_t size : random.pick(grids))
    axes.push_back(
        {std::string(1, static_cast<char>('a' + axes.size())), size});
  return Mesh(std::move(axes));
}

/// The axis, or the two or three parts of a random factorisation of it.
static std::vector<AxisRef> randomParts(Random &random, AxisRef axis) {
  std::vector<AxisRef> parts;
  int64_t pre = 1;
  for (int64_t rest = axis.size; rest > 1;) {
    std::vector<int64_t> sizes = {rest};
    for (int64_t size = 2; size < rest; ++size)
      if (rest % size == 0)
        sizes.push_back(size);
    const int64_t size = random.oneIn(2) ? rest : random.pick(sizes);
    parts.push_back({axis.axis, pre, size});
    pre *= size;
    rest /= size;
  }
  if (parts.empty())
    parts.push_back(axis);
  return parts;
}

Sharding weft::test::randomSharding(Random &random, const Mesh &mesh,
                                    llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<AxisRef> unreduced) {
  std::vector<AxisRef> parts;
  for (size_t i = 0; i < mesh.axes().size(); ++i) {
    const AxisRef axis = mesh.fullAxis(static_cast<int32_t>(i));
    if (llvm::none_of(unreduced,
                      [&](const AxisRef &u) { return u.overlaps(axis); }))
      for (const AxisRef &part : randomParts(random, axis))
        parts.push_back(part);
  }
  random.shuffle(parts);
  const bool uneven = random.oneIn(3);

  Sharding result;
  result.unreduced.assign(unreduced.begin(), unreduced.end());
  std::vector<int64_t> rest(shape.begin(), shape.end());
  result.dims.resize(shape.size());
  for (const AxisRef &part : parts) {
    // The choices: each dimension twice, replicated, nowhere.
    const int64_t choice =
        random.below(2 * static_cast<int64_t>(shape.size()) + 2) / 2;
    if (choice < static_cast<int64_t>(shape.size())) {
      AxisList &axes = result.dims[choice].axes;
      const bool divides = rest[choice] > 0 && rest[choice] % part.size == 0,
                 hasElements = numShards(axes) * part.size <= shape[choice];
      if (divides || (hasElements && uneven)) {
        appendMerging(axes, part);
        rest[choice] = divides ? rest[choice] / part.size : 0;
      }
    } else if (random.oneIn(3)) {
      result.replicated.push_back(part);
    }
  }
  for (DimSharding &dim : result.dims)
    dim.closed = random.oneIn(2);
  std::sort(result.replicated.begin(), result.replicated.end());
  AxisList merged;
  for (const AxisRef &part : result.replicated)
    appendMerging(merged, part);
  result.replicated = merged;
  return result;
}
