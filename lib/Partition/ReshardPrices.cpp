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

static std::vector<int64_t> spell(const Sharding &sharding) {
  std::vector<int64_t> key;
  auto add = [&](const AxisList &axes) {
    for (const AxisRef &ref : axes)
      key.insert(key.end(), {ref.axis, ref.pre, ref.size});
    key.push_back(-1);
  };
  for (const DimSharding &dim : sharding.dims)
    add(dim.axes);
  add(sharding.unreduced);
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

ReshardPrices::Price ReshardPrices::price(Id from, Id to,
                                          RankedTensorType type) {
  if (from == to)
    return {};
  auto [entry, isNew] = prices.try_emplace({from, to, type}, Price());
  if (!isNew)
    return entry->second;
  std::optional<ReshardPlan> plan = planReshard(
      mesh, type.getShape(), elementBytes(type), get(from), get(to), cost);
  Price price{std::numeric_limits<double>::infinity(), 0};
  if (plan)
    price = {plan->seconds(), plan->wireBytes()};
  return prices[{from, to, type}] = price;
}
