//===- ReshardSimulator.h - Reshard steps on actual arrays ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the steps of a plan for all devices of a mesh, from the definitions
// of the collectives and with no code of the planner.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_UNIT_SHARDING_RESHARDSIMULATOR_H
#define WEFT_TEST_UNIT_SHARDING_RESHARDSIMULATOR_H

#include "weft/Sharding/ReshardPlanner.h"

#include <string>

namespace weft::sharding {

/// Row-major array.
struct Array {
  std::vector<int64_t> shape;
  std::vector<int64_t> values;

  bool operator==(const Array &other) const = default;
};

class ReshardSimulator {
public:
  /// Places a tensor of distinct values as `sharding` says. Terms of an
  /// unreduced value are all different.
  ReshardSimulator(const Mesh &mesh, std::vector<int64_t> shape,
                   const Sharding &sharding);

  /// Executes a step; a problem in words, or nothing.
  std::string execute(const ReshardStep &step);
  /// Compares what the devices hold with what `sharding` promises.
  std::string compare(const Sharding &sharding) const;

private:
  int64_t valueAt(llvm::ArrayRef<int64_t> index) const;
  Array wholePart(int64_t device, const Sharding &sharding) const;
  /// The devices that differ from `device` along `axes` only, by position.
  std::vector<int64_t> group(int64_t device,
                             llvm::ArrayRef<AxisRef> axes) const;
  Array combineGroup(int64_t device, llvm::ArrayRef<AxisRef> axes) const;
  Array permuted(int64_t device, const ReshardStep &step,
                 std::string &problem) const;

  Mesh mesh;
  std::vector<int64_t> shape;
  Reduction reduction = Reduction::Sum;
  std::vector<Array> held;
};

} // namespace weft::sharding

#endif // WEFT_TEST_UNIT_SHARDING_RESHARDSIMULATOR_H
