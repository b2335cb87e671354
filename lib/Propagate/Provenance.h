//===- Provenance.h - Where the axes of a value came from -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LIB_PROPAGATE_PROVENANCE_H
#define WEFT_LIB_PROPAGATE_PROVENANCE_H

#include "weft/Propagate/Propagation.h"

namespace weft::propagation {

/// Records the axes of the dimensions of `value` as annotated there, as far as
/// nothing is recorded for them yet.
void recordAnnotation(Graph &graph, ValueId value, int64_t priority);

/// When and where a value changed.
struct Step {
  NodeId node;
  int8_t round;
  int64_t priority;
};

/// Records for tensor number `tensor` of a node (operands, then results) the
/// axes that `after` has and the value's present sharding has not. The values
/// of the other tensors still have the shardings they had before the step.
void recordStep(Graph &graph, const Step &step, size_t tensor,
                const sharding::Sharding &after);

} // namespace weft::propagation

#endif // WEFT_LIB_PROPAGATE_PROVENANCE_H
