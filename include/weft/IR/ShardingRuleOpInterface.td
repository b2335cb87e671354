//===- ShardingRuleOpInterface.td - Factors of an op -------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_SHARDINGRULEOPINTERFACE_TD
#define WEFT_IR_SHARDINGRULEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    What propagation and partitioning know about an op: which dimensions of its
    operands and results belong together, and whether it commutes with a sum
    over devices. The core passes hold no list of ops; an op that implements
    this interface takes part in all of them.

    Ops of other dialects get it as an external model
    (weft/IR/ShardingRuleModels.h).
  }];
  let methods = [
    InterfaceMethod<[{
      The factors of the op. Every operand and result that is a ranked tensor
      has an entry; operands of rank 0 have an empty one.
    }], "::weft::sharding::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
      The rule by which propagation takes shardings from one tensor to another.
      It differs where an op is computed on shards of dimensions that have
      factors of their own, since their sizes differ: windows, and what they are
      windows of.
    }], "::weft::sharding::ShardingRule", "getPropagationRule", (ins), "", [{
      return ::llvm::cast<::weft::ShardingRuleOpInterface>($_op.getOperation())
          .getShardingRule();
    }]>,
    InterfaceMethod<[{
      Whether an unreduced operand may pass through the op.
    }], "::weft::sharding::Linearity", "getLinearity">
  ];
}

#endif // WEFT_IR_SHARDINGRULEOPINTERFACE_TD
