//===- ReshardPrices.cpp - Remembered prices of reshards ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardPrices.h"

#include "ReduceDtype.h"

#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

RankedTensorType ReshardPrices::typeToSum(Value value) const {
  RankedTensorType type = typeOf(value);
  return sumsInFloat32 && isNarrowGradient(value)
             ? type.clone(Float32Type::get(type.getContext()))
             : type;
}

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

static void spell(std::vector<int64_t> &key, const AxisList &axes) {
  for (const AxisRef &ref : axes)
    key.insert(key.end(), {ref.axis, ref.pre, ref.size});
  key.push_back(-1);
}

static std::vector<int64_t> spell(const Sharding &sharding) {
  std::vector<int64_t> key;
  for (const DimSharding &dim : sharding.dims)
    spell(key, dim.axes);
  spell(key, sharding.unreduced);
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

std::optional<cost::CollectiveKind>
weft::collectiveOf(const ReshardStep &step) {
  switch (step.kind) {
  case ReshardKind::AllGather:
    return cost::CollectiveKind::AllGather;
  case ReshardKind::AllToAll:
    return cost::CollectiveKind::AllToAll;
  case ReshardKind::Permute:
    return cost::CollectiveKind::Permute;
  case ReshardKind::ReduceScatter:
    return cost::CollectiveKind::ReduceScatter;
  case ReshardKind::AllReduce:
    return cost::CollectiveKind::AllReduce;
  case ReshardKind::AllSlice:
  case ReshardKind::MaskToUnreduced:
    return std::nullopt;
  }
  llvm_unreachable("unknown kind of a step");
}

/// `step` is a collective.
ReshardPrices::Call ReshardPrices::describe(const ReshardStep &step,
                                            Reduction reduction, Type element) {
  Call call{*collectiveOf(step), -1,
            links.link(mesh.span(step.axes)).latencySeconds};
  if (step.kind == ReshardKind::AllToAll || step.kind == ReshardKind::Permute)
    return call;
  std::vector<int64_t> key = {static_cast<int64_t>(call.kind)};
  if (step.kind != ReshardKind::AllGather)
    key.push_back(static_cast<int64_t>(reduction));
  spell(key, step.axes);
  call.combinable =
      combinables
          .try_emplace({std::move(key), element.getAsOpaquePointer()},
                       static_cast<int32_t>(combinables.size()))
          .first->second;
  return call;
}

double ReshardPrices::secondsWithoutLatency(Id from, Id to,
                                            RankedTensorType type) {
  const Price &whole = price(from, to, type);
  double seconds = whole.seconds;
  for (const Call &call : whole.calls)
    seconds -= latencyShare * call.latencySeconds;
  return seconds;
}

double
ReshardPrices::secondsWithFreeSums(Id from, Id to, RankedTensorType type,
                                   std::optional<ArrayRef<int32_t>> free) {
  const Price &whole = price(from, to, type);
  double seconds = whole.seconds;
  for (const Call &call : whole.calls)
    if (call.kind == cost::CollectiveKind::AllReduce &&
        (!free || llvm::is_contained(*free, call.combinable)))
      seconds -= latencyShare * call.latencySeconds;
  return seconds;
}

double ReshardPrices::smallBytes() const {
  const cost::Link &nearest = links.link(1);
  return nearest.latencySeconds / nearest.secondsPerByte;
}

const ReshardPrices::Price &ReshardPrices::price(Id from, Id to,
                                                 RankedTensorType type) {
  static const Price nothing;
  if (from == to)
    return nothing;
  auto [entry, isNew] = prices.try_emplace({from, to, type}, Price());
  if (!isNew)
    return entry->second;
  std::optional<ReshardPlan> plan =
      planReshard(mesh, type.getShape(), elementBytes(type), get(from), get(to),
                  cost, effort);
  Price &price = entry->second;
  if (!plan) {
    price.seconds = std::numeric_limits<double>::infinity();
    return price;
  }
  price.seconds = plan->seconds();
  price.wireBytes = plan->wireBytes();
  for (const ReshardStep &step : plan->steps)
    if (!step.isLocal())
      price.calls.push_back(
          describe(step, get(from).unreducedKind, type.getElementType()));
  return price;
}
