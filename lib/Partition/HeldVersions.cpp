//===- HeldVersions.cpp - In which shardings values are there -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeldVersions.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

using Id = HeldVersions::Id;

bool weft::isMarker(Operation *op) { return isa<ConstraintOp, ReshardOp>(op); }

void HeldVersions::define(Value value, Id made) {
  groups[value] = all.size();
  all.push_back({value, {made}, {}});
}

void HeldVersions::share(Value value, Value other) {
  size_t group = groupOf(other);
  groups[value] = group;
}

void HeldVersions::widen(Value wide, Value narrow) {
  all[groupOf(wide)].narrow = narrow;
}

RankedTensorType HeldVersions::typeToMove(Value value) const {
  Value narrow = all[groupOf(value)].narrow;
  return typeOf(narrow ? narrow : value);
}

size_t HeldVersions::versionToKeep(Value value) const {
  for (auto [index, version] : llvm::enumerate(versionsOf(value)))
    if (prices.get(version).unreduced.empty())
      return index;
  return 0;
}

/// The version of which `need` is made at the least price, if it can be made.
std::optional<HeldVersions::Nearest>
HeldVersions::findNearest(const Group &group, Id need, bool mayReduce) const {
  std::optional<Nearest> nearest;
  double least = std::numeric_limits<double>::infinity();
  for (auto [index, version] : llvm::enumerate(group.versions)) {
    if (!mayReduce && prices.reduces(version, need))
      continue;
    double seconds = prices.seconds(version, need, typeOf(group.value));
    if (seconds < least) {
      least = seconds;
      nearest = {index, seconds,
                 prices.wireBytes(version, need, typeOf(group.value))};
    }
  }
  return nearest;
}

/// Moves what the value was converted from, and converts it there, if that
/// takes less time. Terms are added up in the wide type: they stay as they are.
bool HeldVersions::moveNarrow(const Group &group, Id need,
                              Provision &provision) {
  if (!group.narrow || prices.reduces(group.versions[provision.source], need))
    return false;
  Group &narrow = all[groupOf(group.narrow)];
  auto nearest = findNearest(narrow, need, /*mayReduce=*/false);
  if (!nearest || nearest->seconds >= provision.seconds)
    return false;
  provision.narrow = group.narrow;
  provision.source = nearest->version;
  provision.seconds = nearest->seconds;
  provision.wireBytes = nearest->wireBytes;
  provision.narrowWasThere = narrow.versions[nearest->version] == need;
  provision.narrowVersion = nearest->version;
  if (!provision.narrowWasThere) {
    provision.narrowVersion = narrow.versions.size();
    narrow.versions.push_back(need);
  }
  return true;
}

HeldVersions::Provision HeldVersions::provide(Value value, Id need) {
  Group &group = all[groupOf(value)];
  Provision provision;
  auto there = llvm::find(group.versions, need);
  provision.version = there - group.versions.begin();
  if (there != group.versions.end()) {
    provision.wasThere = true;
    return provision;
  }
  auto nearest = findNearest(group, need, /*mayReduce=*/true);
  if (!nearest) // no way; said where the reshard is lowered
    nearest = {0, std::numeric_limits<double>::infinity(), 0};
  provision.source = nearest->version;
  provision.seconds = nearest->seconds;
  provision.wireBytes = nearest->wireBytes;
  moveNarrow(group, need, provision);
  group.versions.push_back(need);
  return provision;
}
