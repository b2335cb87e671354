//===- FindPadding.cpp - Dimensions that a plan pads ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Report/PlanReport.h"

#include "weft/runtime/DType.h"
#include "weft/runtime/plan_generated.h"

#include <set>

namespace weft {

static int64_t shardsOf(const plan::AxisList &axes) {
  int64_t shards = 1;
  for (const plan::AxisRef *ref : *axes.axes())
    shards *= ref->size();
  return shards;
}

static void addPadding(const std::string &name, const plan::TensorType &type,
                       std::vector<PaddingRecord> &records) {
  int64_t allShards = 1,
          localBytes =
              runtime::byteSize(static_cast<runtime::DType>(type.dtype()));
  for (uint32_t d = 0; d < type.global_shape()->size(); ++d) {
    allShards *= shardsOf(*type.dim_axes()->Get(d));
    localBytes *= type.local_shape()->Get(d);
  }
  for (uint32_t d = 0; d < type.global_shape()->size(); ++d) {
    int64_t shards = shardsOf(*type.dim_axes()->Get(d)),
            local = type.local_shape()->Get(d),
            padding = local * shards - type.global_shape()->Get(d);
    if (padding <= 0)
      continue;
    // The other dimensions in all their parts, padding included.
    int64_t bytesOfOne = localBytes / local * (allShards / shards);
    records.push_back({name, d, type.global_shape()->Get(d), shards, local,
                       static_cast<uint64_t>(padding * bytesOfOne)});
  }
}

std::vector<PaddingRecord> findPadding(const plan::Plan &plan) {
  std::vector<PaddingRecord> records;
  std::set<std::string> names;
  for (const plan::Entry *entry : *plan.entries()) {
    // What segments take and leave.
    if (entry->role())
      continue;
    for (const auto *bindings : {entry->inputs(), entry->outputs()})
      for (const plan::Binding *binding : *bindings)
        if (std::string name = binding->name()->str();
            names.insert(name).second)
          if (binding->type())
            addPadding(name, *binding->type(), records);
  }
  return records;
}

} // namespace weft
