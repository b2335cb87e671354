//===- MicrobatchOps.td - What is computed once a micro-batch -*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The border of a loop over micro-batches in forms 1 and 2. What depends on a
// slice of a batch is computed once for each micro-batch, up to the ops that
// sum or stack; there is no region, so that every pass sees one block:
//
//   weft.microbatch_slice   the part of a batch that a micro-batch is
//   weft.microbatch_use     a value that all micro-batches use
//   weft.microbatch_sum     the sum of a value over the micro-batches
//   weft.microbatch_stack   the values of all micro-batches
//
// The form verifiers check that nothing else leaves the loop. The partitioner
// makes it a weft.repeat.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_MICROBATCHOPS_TD
#define WEFT_IR_MICROBATCHOPS_TD

include "weft/IR/WeftOps.td"

class Weft_MicrobatchOp<string mnemonic, list<Trait> traits = []>
    : Weft_TensorOp<mnemonic, !listconcat([Weft_Differentiable], traits)>;

def Weft_MicrobatchSliceOp : Weft_MicrobatchOp<"microbatch_slice"> {
  let summary = "The part of a batch that a micro-batch is";
  let description = [{
    For micro-batch `i` the slice at index `i` along `dim`, without that
    dimension, whose size is the number of micro-batches.

    ```mlir
    %xi = weft.microbatch_slice %x dim = 1 of <"step", 4>
        : tensor<8x4x16xf32> -> tensor<8x16xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand, I64Attr:$dim,
                   Weft_MicrobatchesAttr:$microbatches);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `dim` `=` custom<Dim>($dim) `of` $microbatches attr-dict
    `:` type($operand) `->` type($result)
  }];
}

def Weft_MicrobatchUseOp
    : Weft_MicrobatchOp<"microbatch_use", [SameOperandsAndResultType]> {
  let summary = "A value that all micro-batches use";
  let description = [{
    The operand, for each micro-batch anew: what is computed of it and moved
    between devices for it (a parameter that is gathered) is so once for each
    micro-batch, and not kept from one to the next, but for casts
    (`--weft-hoist-casts`). Its derivative is the sum of those of the
    micro-batches.

    ```mlir
    %wi = weft.microbatch_use %w of <"step", 4> : tensor<16x32xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand,
                   Weft_MicrobatchesAttr:$microbatches);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat =
    "$operand `of` $microbatches attr-dict `:` type($result)";
  let hasVerifier = 0;
}

def Weft_MicrobatchSumOp
    : Weft_MicrobatchOp<"microbatch_sum", [SameOperandsAndResultType]> {
  let summary = "The sum of a value over the micro-batches";
  let description = [{
    Values are added in the order of the micro-batches, in their element type.
    Partial sums over devices stay partial sums: devices add them up once, after
    the last micro-batch.

    ```mlir
    %g = weft.microbatch_sum %gi of <"step", 4> : tensor<16x32xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand,
                   Weft_MicrobatchesAttr:$microbatches);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat =
    "$operand `of` $microbatches attr-dict `:` type($result)";
}

def Weft_MicrobatchStackOp : Weft_MicrobatchOp<"microbatch_stack"> {
  let summary = "The values of all micro-batches";
  let description = [{
    The transpose of `weft.microbatch_slice`: the value of micro-batch `i` is at
    index `i` of the new dimension `dim`.

    ```mlir
    %y = weft.microbatch_stack %yi dim = 0 of <"step", 4>
        : tensor<8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand, I64Attr:$dim,
                   Weft_MicrobatchesAttr:$microbatches);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `dim` `=` custom<Dim>($dim) `of` $microbatches attr-dict
    `:` type($operand) `->` type($result)
  }];
}

#endif // WEFT_IR_MICROBATCHOPS_TD
