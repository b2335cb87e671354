//===- RepeatOp.td - A loop of forms 3 and 4 ---------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_REPEATOP_TD
#define WEFT_IR_REPEATOP_TD

include "weft/IR/InstructionOpInterface.td"
include "weft/IR/WeftOps.td"

def Weft_RepeatOp : Weft_Op<"repeat", [
    SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable,
    InstructionOpInterface]> {
  let summary = "Execute a block a fixed number of times";
  let description = [{
    The loop of the SPMD program and of the schedule: micro-batches, and the
    iterations of a ring of devices. The block's arguments are the values that
    it carries: `inits` the first time, and from then on what `weft.yield` gave.
    The results are what it gave at last. Other values of the function may be
    used in the block. In a schedule a carried value has one buffer, which its
    init, the argument, what is yielded and the result share.

    ```mlir
    %sum = weft.repeat 4 carry (%acc = %zero) : (tensor<8xf32>) {
      %next = arith.addf %acc, %x : tensor<8xf32>
      weft.yield %next : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$count, Variadic<Weft_Tensor>:$inits);
  let results = (outs Variadic<Weft_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// What the block carries to its next execution.
    ::mlir::Operation *getYield() { return getBlock().getTerminator(); }
  }];
}

def Weft_YieldOp : Weft_Op<"yield", [
    Pure, Terminator, HasParent<"RepeatOp">]> {
  let summary = "What a loop carries on";
  let description = [{
    Ends the block of a `weft.repeat`.
  }];
  let arguments = (ins Variadic<Weft_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // WEFT_IR_REPEATOP_TD
