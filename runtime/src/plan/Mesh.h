//===- Mesh.h - Ranks as coordinates of a mesh ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the axes of a plan into numbers: positions, groups of ranks, and the
// sender of a permutation. All inputs come from a verified plan, or from the
// verifier after `checkAxes` accepted them. Here alone is known which position
// of the grid a rank has: its number, or what the plan's devices say.
//
// Example: mesh <["data"=2, "model"=4]>, rank 6 = (data 1, model 2)
//   position of {"data"}            1
//   position of {"model":(2)2}      0    (2 = digits [1, 0])
//   groups of {"data"}              {{0, 4}, {1, 5}, {2, 6}, {3, 7}}
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_MESH_H
#define WEFT_RUNTIME_SRC_PLAN_MESH_H

#include "weft/runtime/Status.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::runtime {

class Mesh {
public:
  explicit Mesh(const plan::Plan &plan);

  /// Number of devices.
  int64_t ranks() const { return rankCount; }

  /// Whether every reference names an existing part of an existing axis, and no
  /// two overlap. `what` starts the message ("group 2").
  Status checkAxes(const std::vector<plan::AxisRef> &axes,
                   const std::string &what) const;

  /// Whether the parts that `axes` name contain all of `ref`, as digits that
  /// one factorisation has.
  bool covers(const std::vector<plan::AxisRef> &axes,
              const plan::AxisRef &ref) const;

  /// Whether digits of `from` and `to` have one size and one factorisation.
  Status checkPermutation(const std::vector<plan::AxisRef> &from,
                          const std::vector<plan::AxisRef> &to) const;

  /// The mixed-radix number that the coordinates of `rank` spell.
  int64_t position(int64_t rank, const std::vector<plan::AxisRef> &axes) const;

  /// `rank` with its digits along `axes` replaced by those of `position`.
  int64_t rankAt(int64_t rank, const std::vector<plan::AxisRef> &axes,
                 int64_t position) const;

  /// All groups of ranks that differ along `axes` only, each in order of
  /// position, the groups in order of their first rank.
  std::vector<std::vector<int>>
  groups(const std::vector<plan::AxisRef> &axes) const;

  /// The rank that `rank` receives from (CollectiveKind.Permute).
  int64_t permuteSource(int64_t rank, const std::vector<plan::AxisRef> &from,
                        const std::vector<plan::AxisRef> &to,
                        int64_t shift = 0) const;

  /// `{"data", "model":(1)2}`.
  std::string toString(const std::vector<plan::AxisRef> &axes) const;

private:
  struct Axis {
    std::string name;
    int64_t size = 1;
    /// Distance in positions of the grid of two neighbours along the axis.
    int64_t stride = 1;
  };
  /// The part of `of` that `without` does not name, as digits both agree on.
  std::vector<plan::AxisRef>
  difference(const std::vector<plan::AxisRef> &of,
             const std::vector<plan::AxisRef> &without) const;
  int64_t digitStride(const plan::AxisRef &ref) const;
  /// Of a position of the grid.
  int64_t digit(int64_t at, const plan::AxisRef &ref) const;
  int64_t gridPosition(int64_t rank) const {
    return positionOfRank.empty() ? rank : positionOfRank[rank];
  }

  std::vector<Axis> axes;
  /// Empty where a rank is its position.
  std::vector<int64_t> positionOfRank, rankOfPosition;
  int64_t rankCount = 1;
};

/// The references of an optional list; empty when it is absent.
std::vector<plan::AxisRef> axesOf(const plan::AxisList *list);

/// The product of the sizes: ranks of a group, parts of a dimension.
int64_t groupSize(const std::vector<plan::AxisRef> &axes);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_MESH_H
