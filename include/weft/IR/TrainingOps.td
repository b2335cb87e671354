//===- TrainingOps.td - Ops that speak of gradients --------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of a graph as users write it; `--weft-autodiff` resolves them, so no
// later phase knows them. It leaves weft.barrier alone, which the schedule
// resolves.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_TRAININGOPS_TD
#define WEFT_IR_TRAININGOPS_TD

include "weft/IR/WeftOps.td"

def Weft_ValueAndGradOp : Weft_Op<"value_and_grad",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Call a function and differentiate its first result";
  let description = [{
    The results are those of the private function `callee`, whose first is the
    loss, a floating-point scalar; then, for each argument that `wrt` lists, the
    derivative of the loss by it, in the type of the argument. Other results of
    the function are passed on and not differentiated.

    ```mlir
    %loss, %hits, %da, %dc = weft.value_and_grad @loss(%a, %b, %c) wrt = [0, 2]
        : (tensor<8x4xf32>, tensor<8xi32>, tensor<4xf32>)
       -> (tensor<f32>, tensor<i32>, tensor<8x4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee, Variadic<Weft_Tensor>:$operands,
    DenseI64ArrayAttr:$wrt);
  let results = (outs Variadic<Weft_Tensor>:$results);
  let assemblyFormat = [{
    $callee `(` $operands `)` `wrt` `=` $wrt attr-dict
    `:` functional-type($operands, $results)
  }];
}

def Weft_StopGradientOp : Weft_Op<"stop_gradient",
    [Pure, SameOperandsAndResultType,
     Weft_DifferentiableInSome]> {
  let summary = "A value that counts as a constant when differentiated";
  let description = [{
    The result is the operand; no derivative goes through.

    ```mlir
    %r = weft.stop_gradient %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Weft_CheckpointOp : Weft_Op<"checkpoint",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Call a function whose values are not kept for its derivative";
  let description = [{
    The results are those of the private function `callee`. Where a derivative
    goes through, the backward pass recomputes the function's values from
    its operands instead of keeping them since the forward pass. `policy` says
    what is kept all the same: `"nothing"`, the results of matmuls
    (`"dots"`), values that `weft.checkpoint_name` gives one of the names that
    follow (`"names"`), or `"everything"`, which makes the op a plain call. No
    result changes.

    ```mlir
    %y = weft.checkpoint @layer(%x, %w) policy = "nothing"
        : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %z = weft.checkpoint @layer(%y, %v) policy = "names" ["hidden"]
        : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee, Variadic<Weft_Tensor>:$operands,
    StrAttr:$policy, OptionalAttr<StrArrayAttr>:$names);
  let results = (outs Variadic<Weft_Tensor>:$results);
  let assemblyFormat = [{
    $callee `(` $operands `)` `policy` `=` $policy ($names^)? attr-dict
    `:` functional-type($operands, $results)
  }];
}

def Weft_CheckpointNameOp : Weft_Op<"checkpoint_name",
    [Pure, SameOperandsAndResultType, Weft_Differentiable]> {
  let summary = "Name a value for the policies of checkpoints";
  let description = [{
    The result is the operand. A `weft.checkpoint` around it whose policy lists
    the name keeps the value.

    ```mlir
    %r = weft.checkpoint_name %x "hidden" : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand, StrAttr:$name);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$operand $name attr-dict `:` type($result)";
}

def Weft_StageBoundaryOp : Weft_Op<"stage_boundary",
    [Pure, AllTypesMatch<["operand", "result"]>, Weft_DifferentiableInSome]> {
  let summary = "A value that goes from one pipeline stage to the next";
  let description = [{
    The result is the operand; what is computed from it belongs to later stages
    than what it is computed from. Without `of` the value goes forward. With it,
    the value is the cotangent of `of`, the result of such an op, and goes
    back to the stage before.

    ```mlir
    %h1 = weft.stage_boundary %h : tensor<4x8xf32>
    %dh = weft.stage_boundary %dh1 of %h1 : tensor<4x8xf32>
    ```

    `--weft-assign-stages` resolves both.
  }];
  let arguments = (ins Weft_Tensor:$operand, Optional<Weft_Tensor>:$of);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat =
    "$operand (`of` $of^)? attr-dict `:` type($operand) (`of` type($of)^)?";
  let hasVerifier = 1;
}

def Weft_BarrierOp : Weft_TensorOp<"barrier",
    [AllTypesMatch<["operand", "result"]>, Weft_DifferentiableInSome]> {
  let summary = "A value that is there only after others are";
  let description = [{
    The result is `operand`, and is not to be used before the values of `after`
    are computed. It keeps values that the backward pass recomputes from
    being merged with those of the forward pass, or computed long before they
    are needed. It is gone when the order of the schedule is made, and costs
    nothing.

    ```mlir
    %r = weft.barrier %x after %g : tensor<4x8xf32> after tensor<4x2xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand, Variadic<Weft_Tensor>:$after);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `after` $after attr-dict
    `:` type($operand) `after` type($after)
  }];
  let hasVerifier = 0;
}

#endif // WEFT_IR_TRAININGOPS_TD
