//===- OrderOps.td - Ops that order elements ---------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Their classes have a header of their own, OrderOps.h, which few files need.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_ORDEROPS_TD
#define WEFT_IR_ORDEROPS_TD

include "weft/IR/DecompositionOpInterface.td"
include "weft/IR/InstructionOpInterface.td"
include "weft/IR/WeftOps.td"

def Weft_ArgsortOp : Weft_TensorOp<"argsort",
    [DeclareOpInterfaceMethods<DecompositionOpInterface, ["isCpuInstruction"]>,
     InstructionOpInterface]> {
  let summary = "The indices that sort the elements along a dimension";
  let description = [{
    Element `i` of the result along `dim` is the index of the element that comes
    at place `i` when those along `dim` are sorted, the least first or, if
    `descending`, the greatest. Equal elements keep their order. Integers have a
    sign; zeros are equal; a NaN is greater than all numbers. A gather at these
    indices sorts the operand, and others with it. The result may have fewer
    elements along `dim`: the first ones, as of top_k.

    Short dimensions are sorted by counting for each element those before it.
    For long ones plans for CPUs have an instruction; other plans find a few
    elements one after the other, and all by a network of comparisons.

    ```mlir
    %r = weft.argsort %x dim = 1 : tensor<4x8xf32> -> tensor<4x8xi32>
    %s = weft.argsort %x dim = 1 descending : tensor<4x8xf32> -> tensor<4x2xi32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand, I64Attr:$dim, UnitAttr:$descending);
  let results = (outs Weft_Indices:$result);
  let assemblyFormat = [{
    $operand `dim` `=` custom<Dim>($dim) (`descending` $descending^)? attr-dict
    `:` type($operand) `->` type($result)
  }];
}

#endif // WEFT_IR_ORDEROPS_TD
