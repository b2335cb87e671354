//===- PaddingOps.td - Ops on padded dimensions ------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--weft-pad-dimensions` makes dimensions larger than the program has them;
// `--weft-localize` resolves what it leaves.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_PADDINGOPS_TD
#define WEFT_IR_PADDINGOPS_TD

include "weft/IR/WeftOps.td"

def Weft_MaskPaddingOp
    : Weft_TensorOp<"mask_padding", [SameOperandsAndResultType]> {
  let summary = "Replace what lies behind the last element of a dimension";
  let description = [{
    The result is the operand with `value` from element `size` on along `dim`.
    As `weft.iota`, it counts in the whole tensor and not in the shard that a
    device holds.

    ```mlir
    %r = weft.mask_padding %x dim = 0 size = 50257 value = 0.0 : f32
        : tensor<50260x768xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$operand, I64Attr:$dim, I64Attr:$size,
    TypedAttrInterface:$value);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `dim` `=` custom<Dim>($dim) `size` `=` custom<Dim>($size)
    `value` `=` $value attr-dict `:` type($result)
  }];
}

def Weft_RearrangeOp
    : Weft_TensorOp<"rearrange", [SameOperandsAndResultElementType]> {
  let summary = "Take elements of tensors to places along a dimension";
  let description = [{
    What slices, concatenations and paddings along dimension `dim` do, where
    the dimension of an operand or of the result is larger than the program has
    it. The operands are the segments before, the result is the one after. What
    nothing is taken to holds `value`, or without one anything.

    ```mlir
    %r = weft.rearrange %x dim = 1 map <[196] to [68], 64 to 0 for 65>
        : (tensor<4x196xf32>) -> tensor<4x68xf32>
    ```
  }];
  let arguments = (ins
    Variadic<Weft_Tensor>:$operands, I64Attr:$dim, Weft_ElementMapAttr:$map,
    OptionalAttr<TypedAttrInterface>:$value);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operands `dim` `=` custom<Dim>($dim) `map` $map (`value` `=` $value^)?
    attr-dict `:` functional-type($operands, $result)
  }];
}

#endif // WEFT_IR_PADDINGOPS_TD
