//===- ReducedNetwork.h - A network without its easy variables --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most variables of a network are eliminated with small tables, and no search
// can do better. That is done once here; what searches in different places work
// on is what is left. Assignments are those of the whole network.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_OPTIMIZE_REDUCEDNETWORK_H
#define WEFT_OPTIMIZE_REDUCEDNETWORK_H

#include "weft/Optimize/CostNetwork.h"

#include <memory>

namespace weft::optimize {

class Elimination;

class ReducedNetwork {
public:
  using Assignment = CostNetwork::Assignment;
  using Options = CostNetwork::Options;
  using Solution = CostNetwork::Solution;

  /// Eliminates while that takes tables of at most `maxTable` entries. `near`
  /// is any assignment; a good one saves time. `network` must outlive this.
  ReducedNetwork(const CostNetwork &network, const Assignment &near,
                 size_t maxTable);
  ~ReducedNetwork();

  /// As those of the network, but `allowed` holds for variables that are left:
  /// the others have the best values for these.
  Solution solve(const Assignment &start, const Options &options) const;
  Solution solveAmong(const Assignment &start,
                      const std::vector<std::vector<int32_t>> &allowed,
                      const Options &options) const;

private:
  Assignment project(const Assignment &assignment) const;
  Solution lift(const Assignment &start, const Solution &found) const;

  const CostNetwork &network;
  std::unique_ptr<KnownParts> known;
  std::unique_ptr<Elimination> elimination;
  /// Of the network, those of `core` in their order.
  std::vector<CostNetwork::Variable> variables;
  CostNetwork core;
};

} // namespace weft::optimize

#endif // WEFT_OPTIMIZE_REDUCEDNETWORK_H
