//===- UserPriority.h - Dimensions that wait for their turn -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dimension with priority p > 0 is hidden until its turn: it looks empty and
// closed, and its axes look replicated, so that nobody else takes them. When
// the priorities before p have propagated, it gets its axes back.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PROPAGATE_USERPRIORITY_H
#define WEFT_LIB_PROPAGATE_USERPRIORITY_H

#include "weft/Propagate/Propagation.h"

#include <set>

namespace weft::propagation {

class UserPriorities {
public:
  /// Hides every dimension of priority above 0 and drops all priorities.
  explicit UserPriorities(Graph &graph);

  /// 0 and the priorities of hidden dimensions, ascending.
  const std::set<int64_t> &all() const { return priorities; }

  /// Gives the dimensions of `priority` their axes back. Returns the values
  /// that have one.
  std::vector<ValueId> restore(Graph &graph, int64_t priority);

private:
  struct Hidden {
    ValueId value;
    /// As annotated.
    sharding::Sharding sharding;
  };

  std::set<int64_t> priorities = {0};
  std::vector<Hidden> hidden;
};

} // namespace weft::propagation

#endif // WEFT_LIB_PROPAGATE_USERPRIORITY_H
