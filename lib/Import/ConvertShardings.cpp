//===- ConvertShardings.cpp - Ops that speak of devices -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converters.h"
#include "Importer.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// `sdy.sharding_constraint` and `sdy.reshard`: the sharding that the value has
/// from here on.
static Value convertConstraint(Conversion &c) {
  if (!c.hasOperands(1))
    return {};
  Attribute attr = c.getSource()->getAttr("sharding");
  std::optional<ShardySharding> written = readSharding(attr);
  if (!written) {
    c.malformedAttribute("sharding");
    return {};
  }
  ShardingAttr sharding = c.getImporter().getMeshes().convert(c.loc, *written);
  // Of a scalar there is nothing to say.
  if (!sharding || (sharding.getRank() == 0 && sharding.getUnreduced().empty()))
    return c.operand(0);
  return c.make<ConstraintOp>(c.operand(0), sharding);
}

/// Collectives appear in a program of all devices where the axes of a shard_map
/// have size 1: then every device is a group of its own.
static Values convertCollective(Conversion &c) {
  Operation *op = c.getSource();
  auto groups = dyn_cast_or_null<DenseIntElementsAttr>(
      op->getAttr(op->getName().getStringRef() == "stablehlo.collective_permute"
                      ? "source_target_pairs"
                      : "replica_groups"));
  bool isAlone = groups && groups.getType().getRank() == 2 &&
                 (op->hasAttr("source_target_pairs")
                      ? groups.getNumElements() == 2 && groups.isSplat()
                      : groups.getType().getDimSize(1) == 1);
  if (isAlone)
    return Values(c.getOperands());
  c.unsupported("a collective between devices (of shard_map); a graph is the "
                "program of all devices");
  return {};
}

/// What orders shardings to be alike is a wish for propagation.
static Values ignoreGroup(Conversion &c) {
  c.getImporter().getProblems().ignored(c.loc, c.name());
  return {};
}

std::vector<Converter> weft::stablehlo::shardingConverters() {
  std::vector<Converter> table = {
      {"sdy.sharding_constraint", single(convertConstraint), {"sharding"}},
      {"sdy.reshard", single(convertConstraint), {"sharding"}},
      {"sdy.sharding_group", ignoreGroup, {"group_id"}},
  };
  for (StringRef op :
       {"stablehlo.all_reduce", "stablehlo.all_gather",
        "stablehlo.reduce_scatter", "stablehlo.all_to_all",
        "stablehlo.collective_permute", "stablehlo.collective_broadcast"})
    table.push_back(
        {op,
         convertCollective,
         {"replica_groups", "source_target_pairs", "channel_handle",
          "use_global_device_ids", "all_gather_dim", "scatter_dimension",
          "split_dimension", "concat_dimension", "split_count"}});
  return table;
}
