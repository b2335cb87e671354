//===- CollectiveLanes.h - Which collectives run side by side ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective overtakes another when it starts later and its wait comes
// earlier. In one queue it would keep the computation waiting for both:
//
//   0: start #0 all_reduce      gradient, wanted at the end of the step
//   1: start #1 all_reduce      activation, wanted at once
//   2: wait #1                  in one queue: for #0 as well
//   ...
//   9: wait #0
//
// So devices have two lanes, each with a stream and communicators of its own: a
// collective that some other overtakes is in lane 1, all others are in lane 0.
// The plan decides, and so all ranks alike.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_COLLECTIVELANES_H
#define WEFT_RUNTIME_SRC_PLAN_COLLECTIVELANES_H

#include "weft/runtime/plan_generated.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::runtime {

/// More than two collectives at once would take each other's bandwidth.
constexpr size_t maxLanes = 2;

class CollectiveLanes {
public:
  /// Of a verified plan. With `serialize` there is one lane for all.
  CollectiveLanes(const plan::Plan &plan, bool serialize);
  /// One lane, for groups that no plan is known of.
  explicit CollectiveLanes(size_t groups);

  /// 1, or 2 when a collective of some entry is overtaken.
  size_t count() const { return lanes; }
  /// The lane of the collective with number `id` of an entry.
  size_t of(size_t entry, uint32_t id) const {
    return lanes == 1 ? 0 : entries[entry][id];
  }
  /// Whether a group needs a communicator for a lane: it has collectives there,
  /// or none at all and the lane is the first.
  bool needs(size_t group, size_t lane) const { return uses[group][lane]; }

private:
  size_t lanes = 1;
  /// [entry][collective]
  std::vector<std::vector<uint8_t>> entries;
  /// [group][lane]
  std::vector<std::array<bool, maxLanes>> uses;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_COLLECTIVELANES_H
