//===- MovementRemedy.h - What else a movement could be ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_MOVEMENTREMEDY_H
#define WEFT_LIB_PARTITION_MOVEMENTREMEDY_H

#include "Movement.h"

#include "weft/IR/Reasons.h"

namespace weft {

struct MovementRemedy {
  /// What was weighed against the movement, which is the first.
  std::vector<Reason::Alternative> alternatives;
  /// The one line to write so that less moves; empty where there is none.
  std::string edit;
};

MovementRemedy findRemedy(const Movement &movement, ReshardPrices &prices);

} // namespace weft

#endif // WEFT_LIB_PARTITION_MOVEMENTREMEDY_H
