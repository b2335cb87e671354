//===- UserPriority.cpp - Dimensions that wait for their turn -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UserPriority.h"

#include "llvm/ADT/STLExtras.h"

namespace weft::propagation {

using namespace sharding;

static int64_t priorityOf(const DimSharding &dim) {
  return dim.priority.value_or(0);
}

/// The replicated axes of `annotation` and the axes of its dimensions that
/// still wait when priorities up to `served` have had their turn.
static AxisList replicatedWhileWaiting(const Sharding &annotation,
                                       int64_t served) {
  AxisList axes = annotation.replicated;
  for (const DimSharding &dim : annotation.dims)
    if (priorityOf(dim) > served)
      axes.append(dim.axes);
  llvm::sort(axes);
  return axes;
}

UserPriorities::UserPriorities(Graph &graph) {
  for (auto [id, value] : llvm::enumerate(graph.values)) {
    if (!value.sharding)
      continue;
    auto waits = [](const DimSharding &dim) { return priorityOf(dim) > 0; };
    if (llvm::any_of(value.sharding->dims, waits))
      hidden.push_back({static_cast<ValueId>(id), *value.sharding});
    value.sharding->replicated = replicatedWhileWaiting(*value.sharding, 0);
    for (DimSharding &dim : value.sharding->dims) {
      if (waits(dim)) {
        priorities.insert(*dim.priority);
        dim.axes.clear();
        dim.closed = true;
      }
      dim.priority.reset();
    }
  }
}

std::vector<ValueId> UserPriorities::restore(Graph &graph, int64_t priority) {
  std::vector<ValueId> restored;
  for (const Hidden &each : hidden) {
    Sharding &sharding = *graph.values[each.value].sharding;
    bool any = false;
    for (auto [dim, annotated] : llvm::zip(sharding.dims, each.sharding.dims))
      if (annotated.priority == priority && priority > 0) {
        dim.axes = annotated.axes;
        dim.closed = annotated.closed;
        any = true;
      }
    if (!any)
      continue;
    sharding.replicated = replicatedWhileWaiting(each.sharding, priority);
    restored.push_back(each.value);
  }
  return restored;
}

} // namespace weft::propagation
