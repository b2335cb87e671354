//===- CompositeOps.td - Ops made of other ops -------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of a graph as users write it, whose derivative as a whole keeps less than
// the derivatives of their parts; `--weft-decompose` resolves them, so no later
// phase knows them. They compute in f32 where an operand is of 16 bits (in
// f64 if another one is f64), and round the result once.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_COMPOSITEOPS_TD
#define WEFT_IR_COMPOSITEOPS_TD

include "weft/IR/DecompositionOpInterface.td"
include "weft/IR/WeftOps.td"

def Weft_FloatTensor : Type<
    StaticShapeTensorOf<[F32, BF16, F16, F64]>.predicate,
    "static ranked tensor of f32, bf16, f16 or f64", "::mlir::RankedTensorType">;

class Weft_CompositeOp<string mnemonic, list<Trait> traits = []>
    : Weft_Op<mnemonic, !listconcat([Pure, Weft_Differentiable,
        DeclareOpInterfaceMethods<DecompositionOpInterface>], traits)> {
  let results = (outs Weft_FloatTensor:$result);
}

/// A function of each element.
class Weft_ActivationOp<string mnemonic>
    : Weft_CompositeOp<mnemonic, [SameOperandsAndResultType]>;

/// A function of the elements along `dims`, of one type.
class Weft_RowOp<string mnemonic>
    : Weft_CompositeOp<mnemonic, [SameOperandsAndResultType]> {
  let arguments = (ins Weft_FloatTensor:$operand, DenseI64ArrayAttr:$dims);
  let assemblyFormat = "$operand `dims` `=` $dims attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Weft_SoftmaxOp : Weft_RowOp<"softmax"> {
  let summary = "Exponentials divided by their sum";
  let description = [{
    `exp(x - max(x)) / sum(exp(x - max(x)))`, maximum and sum along `dims`. The
    derivative keeps the result.

    ```mlir
    %r = weft.softmax %x dims = [1] : tensor<4x8xf32>
    ```
  }];
}

def Weft_LogSoftmaxOp : Weft_RowOp<"log_softmax"> {
  let summary = "The logarithm of softmax";
  let description = [{
    `x - max(x) - log(sum(exp(x - max(x))))`, maximum and sum along `dims`. The
    derivative keeps the result.

    ```mlir
    %r = weft.log_softmax %x dims = [1] : tensor<4x8xf32>
    ```
  }];
}

def Weft_LayerNormOp : Weft_CompositeOp<"layer_norm",
    [AttrSizedOperandSegments, AllTypesMatch<["operand", "result"]>]> {
  let summary = "Give the elements along dimensions mean 0 and variance 1";
  let description = [{
    `(x - mean) / sqrt(variance + epsilon) * scale + bias`, mean and variance of
    the elements along `dims`. `scale` and `bias`, where given, have the sizes of
    these dimensions. The derivative keeps the operand, and one mean and one
    factor for each row.

    ```mlir
    %r = weft.layer_norm %x scale %s bias %b dims = [1] epsilon = 1.0e-5
        : tensor<4x8xbf16> scale tensor<8xf32> bias tensor<8xf32>
    ```
  }];
  let arguments = (ins
    Weft_FloatTensor:$operand, Optional<Weft_FloatTensor>:$scale,
    Optional<Weft_FloatTensor>:$bias, DenseI64ArrayAttr:$dims,
    F64Attr:$epsilon);
  let assemblyFormat = [{
    $operand (`scale` $scale^)? (`bias` $bias^)? `dims` `=` $dims
    `epsilon` `=` $epsilon attr-dict `:` type($operand)
    (`scale` type($scale)^)? (`bias` type($bias)^)?
  }];
  let hasVerifier = 1;
}

def Weft_RmsNormOp : Weft_CompositeOp<"rms_norm",
    [AllTypesMatch<["operand", "result"]>]> {
  let summary = "Give the squares of the elements along dimensions mean 1";
  let description = [{
    `x / sqrt(mean(x * x) + epsilon) * scale`, the mean along `dims`. `scale`,
    where given, has the sizes of these dimensions. The derivative keeps the
    operand, and one factor for each row.

    ```mlir
    %r = weft.rms_norm %x scale %s dims = [1] epsilon = 1.0e-6
        : tensor<4x8xbf16> scale tensor<8xf32>
    ```
  }];
  let arguments = (ins
    Weft_FloatTensor:$operand, Optional<Weft_FloatTensor>:$scale,
    DenseI64ArrayAttr:$dims, F64Attr:$epsilon);
  let assemblyFormat = [{
    $operand (`scale` $scale^)? `dims` `=` $dims `epsilon` `=` $epsilon
    attr-dict `:` type($operand) (`scale` type($scale)^)?
  }];
  let hasVerifier = 1;
}

def Weft_GeluOp : Weft_ActivationOp<"gelu"> {
  let summary = "x times the normal distribution's integral up to x";
  let description = [{
    `x / 2 * (1 + erf(x / sqrt(2)))`, or, `approximate`,
    `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`. The derivative
    keeps the operand.

    ```mlir
    %r = weft.gelu %x : tensor<4x8xf32>
    %s = weft.gelu approximate %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_FloatTensor:$operand, UnitAttr:$approximate);
  let assemblyFormat = [{
    (`approximate` $approximate^)? $operand attr-dict `:` type($result)
  }];
}

def Weft_LogisticOp : Weft_ActivationOp<"logistic"> {
  let summary = "1 / (1 + exp(-x))";
  let description = [{
    `1 / (1 + exp(-x))`, from `exp(-|x|)`, which does not overflow. The
    derivative, `sech_squared(x / 2) / 4`, keeps the operand: near 1 the result
    has lost the digits of its distance from 1.

    ```mlir
    %r = weft.logistic %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_FloatTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Weft_SechSquaredOp : Weft_ActivationOp<"sech_squared"> {
  let summary = "1 / cosh(x)^2";
  let description = [{
    `4 e / (1 + e)^2` with `e = exp(-2 |x|)`: the derivative of `math.tanh`, and
    of `weft.logistic` at half of `x`. Its own, `-2 sech_squared(x) tanh(x)`, has
    all digits in the tails and near 0.

    ```mlir
    %r = weft.sech_squared %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_FloatTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Weft_SiluOp : Weft_ActivationOp<"silu"> {
  let summary = "x times its sigmoid";
  let description = [{
    `x / (1 + exp(-x))`. The derivative keeps the operand.

    ```mlir
    %r = weft.silu %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_FloatTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Weft_CrossEntropyOp : Weft_CompositeOp<"cross_entropy"> {
  let summary = "-log(softmax(logits)) at a label";
  let description = [{
    `log(sum(exp(logits))) - logits[label]` for every label; the sum goes along
    `dim`, in which a label is an index. Labels from -n to -1 count from the end
    of its n classes; the loss of another one outside of them is NaN, and its
    derivative that of `log(sum(exp(logits)))`. The derivative keeps the logits,
    and one number for each label.

    Logits that are split along `dim` stay split. For each label a maximum and a
    sum go over the devices; the logit at the label is left as a partial sum of
    the loss, and added up where the loss is wanted: as one number, where that
    is a mean.

    ```mlir
    %r = weft.cross_entropy %logits, %labels dim = 1
        : (tensor<4x50xf32>, tensor<4xi32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Weft_FloatTensor:$logits, Weft_Indices:$labels, I64Attr:$dim);
  let assemblyFormat = [{
    $logits `,` $labels `dim` `=` custom<Dim>($dim) attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

#endif // WEFT_IR_COMPOSITEOPS_TD
