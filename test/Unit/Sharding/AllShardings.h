//===- AllShardings.h - Every sharding over a small mesh --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerates shardings for tests that state laws over all of them: each axis is
// cut into digits in every way, every digit goes to a dimension, to the
// replicated or unreduced axes, or nowhere, and the digits of a dimension are
// ordered in every way.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_UNIT_SHARDING_ALLSHARDINGS_H
#define WEFT_TEST_UNIT_SHARDING_ALLSHARDINGS_H

#include "weft/Sharding/Sharding.h"

#include <algorithm>
#include <map>

namespace weft::sharding {

/// All ways to write `size` as an ordered product of numbers above 1.
inline std::vector<std::vector<int64_t>> orderedFactorizations(int64_t size) {
  if (size == 1)
    return {{}};
  std::vector<std::vector<int64_t>> all;
  for (int64_t major = 2; major <= size; ++major) {
    if (size % major != 0)
      continue;
    for (std::vector<int64_t> &rest : orderedFactorizations(size / major)) {
      rest.insert(rest.begin(), major);
      all.push_back(rest);
    }
  }
  return all;
}

/// All ways to cut every axis of `mesh` into digits.
inline std::vector<std::vector<AxisRef>> allDigits(const Mesh &mesh) {
  std::vector<std::vector<AxisRef>> all = {{}};
  for (int32_t axis = 0; axis < int32_t(mesh.axes().size()); ++axis) {
    std::vector<std::vector<AxisRef>> extended;
    for (const std::vector<AxisRef> &digits : all)
      for (const auto &sizes : orderedFactorizations(mesh.axisSize(axis))) {
        extended.push_back(digits);
        int64_t pre = 1;
        for (int64_t size : sizes) {
          extended.back().push_back({axis, pre, size});
          pre *= size;
        }
      }
    all = std::move(extended);
  }
  return all;
}

/// All ways to order the axes of each dimension.
inline void collectOrders(const Mesh &mesh, Sharding sharding, size_t dim,
                          std::map<std::string, Sharding> &all) {
  if (dim == sharding.dims.size()) {
    for (DimSharding &each : sharding.dims) {
      AxisList merged;
      for (const AxisRef &ref : each.axes)
        appendMerging(merged, ref);
      each.axes = merged;
    }
    all.emplace(print(mesh, sharding), sharding);
    return;
  }
  AxisList &axes = sharding.dims[dim].axes;
  std::sort(axes.begin(), axes.end());
  do
    collectOrders(mesh, sharding, dim + 1, all);
  while (std::next_permutation(axes.begin(), axes.end()));
}

/// Every legal sharding of a tensor of `rank`, open in every dimension.
inline std::vector<Sharding> allShardings(const Mesh &mesh, size_t rank) {
  std::map<std::string, Sharding> all;
  for (const std::vector<AxisRef> &digits : allDigits(mesh)) {
    size_t uses = rank + 3, count = 1;
    for (size_t i = 0; i < digits.size(); ++i)
      count *= uses;
    for (size_t choice = 0; choice < count; ++choice) {
      Sharding sharding = Sharding::open(rank);
      size_t rest = choice;
      for (const AxisRef &digit : digits) {
        size_t use = rest % uses;
        rest /= uses;
        if (use < rank)
          sharding.dims[use].axes.push_back(digit);
        else if (use == rank)
          appendMerging(sharding.replicated, digit);
        else if (use == rank + 1)
          appendMerging(sharding.unreduced, digit);
      }
      collectOrders(mesh, sharding, 0, all);
    }
  }
  std::vector<Sharding> list;
  for (auto &[text, sharding] : all)
    list.push_back(sharding);
  return list;
}

/// Meshes with one, two and three axes, of prime and composite sizes.
inline std::vector<Mesh> smallMeshes() {
  return {Mesh({{"a", 2}}),           Mesh({{"a", 8}}),
          Mesh({{"a", 12}}),          Mesh({{"a", 2}, {"b", 3}}),
          Mesh({{"a", 4}, {"b", 2}}), Mesh({{"a", 2}, {"b", 2}, {"c", 2}}),
          Mesh({{"a", 1}, {"b", 6}})};
}

} // namespace weft::sharding

#endif // WEFT_TEST_UNIT_SHARDING_ALLSHARDINGS_H
