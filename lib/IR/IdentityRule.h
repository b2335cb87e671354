//===- IdentityRule.h - Rule of ops that keep shapes ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IR_IDENTITYRULE_H
#define WEFT_LIB_IR_IDENTITYRULE_H

#include "weft/Sharding/ShardingRule.h"

#include "mlir/IR/BuiltinTypes.h"

namespace weft {

/// Rule of an op whose operand and result have one shape.
inline sharding::ShardingRule identityRule(mlir::RankedTensorType type) {
  return sharding::elementwiseRule(type.getShape(), {size_t(type.getRank())},
                                   /*numResults=*/1);
}

} // namespace weft

#endif // WEFT_LIB_IR_IDENTITYRULE_H
