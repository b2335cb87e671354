//===- ShardingRuleOpInterface.h - Factors of an op -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Example:
//   if (auto op = dyn_cast<weft::ShardingRuleOpInterface>(operation))
//     sharding::ShardingRule rule = op.getShardingRule();
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_SHARDINGRULEOPINTERFACE_H
#define WEFT_IR_SHARDINGRULEOPINTERFACE_H

#include "weft/Sharding/Linearity.h"
#include "weft/Sharding/ShardingRule.h"

#include "mlir/IR/OpDefinition.h"

#include "weft/IR/ShardingRuleOpInterface.h.inc"

#endif // WEFT_IR_SHARDINGRULEOPINTERFACE_H
