//===- GroupedOps.td - Matmuls of groups of rows -----------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of a matrix are in groups of sizes that are known at run time only: the
// tokens of experts. Both ops stay what they are from the graph to the plan,
// where they are GEMMs with the sizes as an operand. Their classes have a
// header of their own, GroupedOps.h, which few files need.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_GROUPEDOPS_TD
#define WEFT_IR_GROUPEDOPS_TD

include "weft/IR/InstructionOpInterface.td"
include "weft/IR/WeftOps.td"

def Weft_GroupedTensor : Type<
    StaticShapeTensorOf<[F32, BF16, F16, F64]>.predicate,
    "static ranked tensor of f32, bf16, f16 or f64", "::mlir::RankedTensorType">;

def Weft_GroupSizes : Type<
    StaticShapeTensorOf<[I32]>.predicate, "static ranked tensor of i32",
    "::mlir::RankedTensorType">;

def Weft_GroupedDotOp
    : Weft_TensorOp<"grouped_dot", [Weft_Differentiable, Weft_Product,
                                   InstructionOpInterface]> {
  let summary = "Multiply each group of rows with a matrix of its own";
  let description = [{
    `lhs` is [batch, rows, k], `rhs` [groups, k, n] or, if `transposed`, [groups,
    n, k], `sizes` [batch, groups]: of each batch the first `sizes[b, 0]` rows
    are multiplied with the first matrix, the next `sizes[b, 1]` with the second,
    and so on. Rows behind the last group are 0 in the result, [batch, rows, n].
    A negative size is none, and groups end with the rows. Sums are formed in f32
    at least.

    ```mlir
    %r = weft.grouped_dot %x, %w groups %s
        : (tensor<2x32x8xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>)
       -> tensor<2x32x16xf32>
    %t = weft.grouped_dot %r, %w groups %s transposed
        : (tensor<2x32x16xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>)
       -> tensor<2x32x8xf32>
    ```
  }];
  let arguments = (ins
    Weft_GroupedTensor:$lhs, Weft_GroupedTensor:$rhs, Weft_GroupSizes:$sizes,
    UnitAttr:$transposed);
  let results = (outs Weft_GroupedTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `groups` $sizes (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, $result)
  }];
}

def Weft_GroupedOuterOp
    : Weft_TensorOp<"grouped_outer", [Weft_Differentiable, Weft_Product,
                                   InstructionOpInterface]> {
  let summary = "Sum the outer products of the rows of each group";
  let description = [{
    `lhs` is [batch, rows, k], `rhs` [batch, rows, n], `sizes` [batch, groups] as
    for `weft.grouped_dot`: matrix `g` of the result, [groups, k, n], is the sum
    over all batches, and over the rows `r` of group `g` there, of lhs[b, r, :]
    times rhs[b, r, :]. It is the derivative of `weft.grouped_dot` by its
    matrices.

    ```mlir
    %w = weft.grouped_outer %x, %g groups %s
        : (tensor<2x32x8xf32>, tensor<2x32x16xf32>, tensor<2x4xi32>)
       -> tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins
    Weft_GroupedTensor:$lhs, Weft_GroupedTensor:$rhs, Weft_GroupSizes:$sizes);
  let results = (outs Weft_GroupedTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `groups` $sizes attr-dict
    `:` functional-type(operands, $result)
  }];
}

#endif // WEFT_IR_GROUPEDOPS_TD
