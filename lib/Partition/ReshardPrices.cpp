//===- ReshardPrices.cpp - Remembered prices of reshards ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardPrices.h"

#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

AxisList weft::withoutUnitAxes(const AxisList &axes) {
  AxisList result;
  for (const AxisRef &ref : axes)
    if (ref.size != 1)
      appendMerging(result, ref);
  return result;
}

/// What matters of a sharding for where data is.
static Sharding normalize(const Sharding &sharding) {
  Sharding result = Sharding::closed(sharding.dims.size());
  for (auto [dim, axes] : llvm::zip_equal(result.dims, sharding.dims))
    dim.axes = withoutUnitAxes(axes.axes);
  result.unreduced = withoutUnitAxes(sharding.unreduced);
  if (!result.unreduced.empty())
    result.unreducedKind = sharding.unreducedKind;
  return result;
}

static void addAxes(std::vector<int64_t> &key, const AxisList &axes) {
  for (const AxisRef &ref : axes)
    key.insert(key.end(), {ref.axis, ref.pre, ref.size});
  key.push_back(-1);
}

static std::vector<int64_t> spell(const Sharding &sharding) {
  std::vector<int64_t> key;
  for (const DimSharding &dim : sharding.dims)
    addAxes(key, dim.axes);
  addAxes(key, sharding.unreduced);
  key.push_back(static_cast<int64_t>(sharding.unreducedKind));
  return key;
}

ReshardPrices::Id ReshardPrices::intern(const Sharding &sharding) {
  Sharding normal = normalize(sharding);
  auto [entry, isNew] =
      ids.try_emplace(spell(normal), static_cast<Id>(shardings.size()));
  if (isNew) {
    shardings.push_back(std::move(normal));
    attrs.emplace_back();
  }
  return entry->second;
}

ReshardPrices::Id ReshardPrices::intern(ShardingAttr attr, size_t rank) {
  if (!attr)
    return intern(Sharding::closed(rank));
  auto known = attrIds.find(attr);
  if (known != attrIds.end())
    return known->second;
  FailureOr<Sharding> sharding = attr.toSharding(mesh);
  Id id = intern(succeeded(sharding) ? *sharding : Sharding::closed(rank));
  attrIds[attr] = id;
  return id;
}

ShardingAttr ReshardPrices::getAttr(Id id) {
  if (!attrs[id])
    attrs[id] =
        ShardingAttr::get(symbol.getContext(), symbol, mesh, shardings[id]);
  return attrs[id];
}

double ReshardPrices::combinableLatency(const ReshardPlan &plan) const {
  double latency = 0;
  for (const ReshardStep &step : plan.steps)
    if (step.kind == ReshardKind::AllReduce ||
        step.kind == ReshardKind::AllGather ||
        step.kind == ReshardKind::ReduceScatter)
      latency += cost.link(mesh.span(step.axes)).latencySeconds;
  return latency;
}

int32_t ReshardPrices::kindOfSums(const ReshardPlan &plan, Reduction reduction,
                                  Type element) {
  std::vector<int64_t> key;
  for (const ReshardStep &step : plan.steps)
    if (step.kind == ReshardKind::AllReduce)
      addAxes(key, step.axes);
  if (key.empty())
    return -1;
  key.push_back(static_cast<int64_t>(reduction));
  return kindsOfSums
      .try_emplace({std::move(key), element.getAsOpaquePointer()},
                   static_cast<int32_t>(kindsOfSums.size()))
      .first->second;
}

ReshardPrices::Price ReshardPrices::price(Id from, Id to,
                                          RankedTensorType type) {
  if (from == to)
    return {};
  auto [entry, isNew] = prices.try_emplace({from, to, type}, Price());
  if (!isNew)
    return entry->second;
  std::optional<ReshardPlan> plan = planReshard(
      mesh, type.getShape(), elementBytes(type), get(from), get(to), cost);
  Price price;
  price.seconds = std::numeric_limits<double>::infinity();
  if (plan)
    price = {plan->seconds(), combinableLatency(*plan), plan->wireBytes(),
             kindOfSums(*plan, get(from).unreducedKind, type.getElementType())};
  return prices[{from, to, type}] = price;
}
