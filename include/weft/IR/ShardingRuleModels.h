//===- ShardingRuleModels.h - Rules of upstream ops -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives every elementwise op of `arith` and `math` (all that have the
// ElementwiseMappable traits) a pointwise sharding rule, and `arith.constant`
// a rule with one factor for each dimension.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_SHARDINGRULEMODELS_H
#define WEFT_IR_SHARDINGRULEMODELS_H

namespace mlir {
class DialectRegistry;
}

namespace weft {

void registerShardingRuleModels(mlir::DialectRegistry &registry);

} // namespace weft

#endif // WEFT_IR_SHARDINGRULEMODELS_H
