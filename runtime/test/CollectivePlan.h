//===- CollectivePlan.h - Every collective in one entry ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_COLLECTIVEPLAN_H
#define WEFT_RUNTIME_TEST_COLLECTIVEPLAN_H

#include "PlanBuilder.h"
#include "plan/ExchangeMap.h"

namespace weft::runtime {

/// The start with what its map sends at most, as the verifier of plans wants
/// it.
inline void countWireBytes(plan::CollectiveStartT &start, int64_t group,
                           DType dtype) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::CreateCollectiveStart(builder, &start));
  const auto *packed =
      flatbuffers::GetRoot<plan::CollectiveStart>(builder.GetBufferPointer());
  start.wire_bytes = static_cast<uint64_t>(start.outer * start.inner *
                                           mostSent(*packed, group)) *
                     byteSize(dtype);
}

/// A segment and a segment behind each other become a long and a short one: one
/// half turned around, and the other moved by one element.
inline void setExchange(plan::CollectiveStartT &start, int64_t group,
                        DType dtype) {
  const int64_t half = group * group;
  start.exchange_from = {group, group};
  start.exchange_to = {2 * group - 1, 1};
  start.exchange_runs = {{1, 0, half, 1}, {0, 2 * half - 1, 1, 1}};
  if (half > 1)
    start.exchange_runs.emplace_back(2 * half - 1, half, half - 1, -1);
  countWireBytes(start, group, dtype);
}

/// All kinds of collectives over the last axis of a mesh <["a"=others,
/// "b"=size]>, one after the other or all in flight at once, the first to start
/// the last to be waited for. Input "x", outputs "y0", "y1", ...
inline PlanBuilder collectivePlan(DType dtype, int64_t others, int64_t size,
                                  bool atOnce) {
  PlanBuilder builder({{"a", others}, {"b", size}});
  const uint32_t group = builder.group({"b"});
  EntryBuilder entry = builder.entry("e");
  const int64_t ranks = others * size, outer = 3, inner = 5, middle = 2;
  const int64_t elements = outer * size * middle * inner;
  const auto shard = [&](int64_t local) {
    return builder.type(dtype, {ranks * local}, {{"a", "b"}});
  };
  const uint32_t x = entry.input("x", shard(elements));
  uint32_t started = 0;
  const auto add = [&](plan::CollectiveKind kind, int64_t local, int64_t o,
                       int64_t m, int64_t i, plan::Reduction reduction,
                       bool splitFirst = false) {
    const uint32_t y =
        entry.output("y" + std::to_string(started), shard(local));
    auto &start = entry.start(kind, group, x, y, o, i);
    start.middle = m;
    start.reduction = reduction;
    start.split_first = splitFirst;
    if (kind == plan::CollectiveKind::Permute) {
      start.permute_from = builder.axes({"b"});
      start.permute_to = builder.axes({"b"});
      start.permute_shift = size > 1 ? 1 : 0;
    }
    if (kind == plan::CollectiveKind::Exchange)
      setExchange(start, size, dtype);
    if (!atOnce)
      entry.wait(started);
    ++started;
  };
  using Kind = plan::CollectiveKind;
  for (plan::Reduction reduction :
       {plan::Reduction::Max, plan::Reduction::Min, plan::Reduction::Sum}) {
    if (dtype == DType::Pred && reduction == plan::Reduction::Sum)
      continue;
    add(Kind::AllReduce, elements, outer, 1, elements / outer, reduction);
    add(Kind::ReduceScatter, elements / size, outer, 1, middle * inner,
        reduction);
  }
  add(Kind::AllGather, elements * size, outer, 1, elements / outer,
      plan::Reduction::Sum);
  add(Kind::AllToAll, elements, outer, middle, inner, plan::Reduction::Sum,
      true);
  add(Kind::AllToAll, elements, outer, middle, inner, plan::Reduction::Sum,
      false);
  add(Kind::Permute, elements, 1, 1, elements, plan::Reduction::Sum);
  add(Kind::Exchange, elements, outer, 1, inner, plan::Reduction::Sum);
  if (atOnce)
    for (uint32_t id = started; id-- > 0;)
      entry.wait(id);
  return builder;
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_COLLECTIVEPLAN_H
