//===- ReshardPlanner.h - Cheapest way between two shardings ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the collectives that turn a value from one sharding into another: a
// shortest path over shardings, whose edges are collectives priced by latency
// and bytes. Used by the partitioner to choose shardings (by the price) and to
// lower reshards (by the steps).
//
// Example, on <["a"=8, "b"=2]>: [{"a"}] -> [{"b"}] of tensor<S>
//   gather "a", slice "b"                                sends 7/8 S
//   permute "a" to "b", "a":(1)4, then gather "a":(1)4   sends 1/8 S + 3/8 S
// so the plan is the second.
//
// Axes that neither sharding mentions help: what the devices along them hold
// alike they need not all send. On <["a"=2, "b"=4, "c"=2]>:
//   [{"a"}, {"b"}] -> [{"b"}, {"a"}]
//     slice "c", permute all three, gather "c"           sends 1/16 S + 1/16 S
//     without "c", a permute and an all-to-all           send 1/8 S + 1/16 S
//
// What a plan promises:
//   - No sequence of steps has fewer bytes and no more collectives, as long as
//     the mesh has few prime factors; see docs/Rationale/Partition.md for how
//     often plans of larger meshes are beaten.
//   - An unreduced axis that the target splits is reduce-scattered, never
//     all-reduced and sliced.
//   - Every intermediate sharding divides the shape.
//
// How it searches: the axes are cut into digits so that both shardings are
// lists of whole digits. The states are the placements of the digits, finite in
// number; an A* search is cut off by the best plan known. Digits that the two
// shardings use alike stay, and axes that neither mentions are at hand whole.
// Where the plan found has a collective, the digits are cut into primes, none
// stays, and the search is repeated as far as their number allows: this finds
// permutes between axes of different sizes. Where the two cut an axis in ways
// that have no common digits, a permute turns one cut into the other, or what
// is split over the axis is gathered and sliced anew, whichever is cheaper.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SHARDING_RESHARDPLANNER_H
#define WEFT_SHARDING_RESHARDPLANNER_H

#include "weft/Cost/CollectiveCost.h"
#include "weft/Sharding/Sharding.h"

namespace weft::sharding {

enum class ReshardKind : uint8_t {
  /// Keep the own part of `dim`, now split over `axes` too. Local.
  AllSlice,
  /// Undo the minor-most `axes` of `dim`.
  AllGather,
  /// Move the minor-most `axes` of `concatDim` to the minor end of `dim`.
  AllToAll,
  /// Relabel: the device at position p along `toAxes` receives what the one at
  /// position p along `axes` held.
  Permute,
  /// Reduce over `axes`, now the minor-most of `dim`.
  ReduceScatter,
  /// Reduce over `axes`; every device has the result.
  AllReduce,
  /// Position 0 along `axes` keeps the value, the others take the neutral
  /// element of the reduction. Local.
  MaskToUnreduced,
};

struct ReshardStep {
  ReshardKind kind;
  /// The dimension that gains or loses axes; -1 where there is none.
  int64_t dim = -1;
  /// AllToAll only: the dimension that loses the axes.
  int64_t concatDim = -1;
  AxisList axes;
  /// Permute only.
  AxisList toAxes;
  /// Where the value is after the step.
  Sharding result;
  /// Bytes that each device sends; 0 for a local step.
  int64_t wireBytes = 0;
  double seconds = 0;

  bool isLocal() const {
    return kind == ReshardKind::AllSlice ||
           kind == ReshardKind::MaskToUnreduced;
  }
};

struct ReshardPlan {
  llvm::SmallVector<ReshardStep, 2> steps;

  int64_t wireBytes() const;
  double seconds() const;
  size_t numCollectives() const;
};

/// How long a plan may be looked for. An estimate is for prices of many
/// reshards: where shardings differ in more than four sub-axes there may be a
/// cheaper plan.
enum class PlanEffort : uint8_t { Best, Estimate };

/// The cheapest steps from `from` to `to`; no steps if the two place data
/// alike. None if a sharding does not fit the shape: another rank, axes that do
/// not divide a dimension, or sharding::checkSharding has something to say; and
/// if the two differ in more than 30 sub-axes.
std::optional<ReshardPlan> planReshard(const Mesh &mesh,
                                       llvm::ArrayRef<int64_t> shape,
                                       int64_t elementBytes,
                                       const Sharding &from, const Sharding &to,
                                       const cost::CollectiveCost &cost,
                                       PlanEffort effort = PlanEffort::Best);

/// `all_gather dim 0 over {"a"}`, in the words of the collective ops.
std::string print(const Mesh &mesh, const ReshardStep &step);

} // namespace weft::sharding

#endif // WEFT_SHARDING_RESHARDPLANNER_H
