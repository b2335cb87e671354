//===- WeftAttentionOps.td - Attention and its derivative --*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention stays one op from the graph to the plan, where it is an instruction
// of its own: only as a whole can it be computed by tiles, without the matrix
// of all scores. `--weft-expand-attention` says in other ops what it means.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WEFTATTENTIONOPS_TD
#define WEFT_IR_WEFTATTENTIONOPS_TD

include "weft/IR/WeftOps.td"

def Weft_AttentionTensor : Type<
    StaticShapeTensorOf<[F32, BF16, F16, F64]>.predicate,
    "static ranked tensor of f32, bf16, f16 or f64", "::mlir::RankedTensorType">;

def Weft_AttentionOp
    : Weft_TensorOp<"attention",
                    [Weft_Differentiable, InstructionOpInterface]> {
  let summary = "Attention of queries over keys and values";
  let description = [{
    `out` = softmax(`scale` * `query` `key`^T) `value`, for each batch and head:
    `query` is [batch, queries, heads, size], `key` and `value` are [batch,
    keys, key heads, size]. Each head of keys is read by the same number of
    heads of queries in a row. With `causal`, query `i` sees key `j` only where
    j <= i + `diagonal`; without a `diagonal`, where j <= i. A query that sees
    no key has the result 0.

    `logsumexp`, [batch, queries, heads], is the logarithm of the sum by which
    the softmax divides (-inf where no key is seen). Results over parts of the
    keys are put together with it, and the derivative needs it.

    Sums are formed in f32, for f64 in f64; so is `logsumexp`. `out` has the
    element type of the query, or that of the sums.

    ```mlir
    %out, %l = weft.attention %q, %k, %v causal scale = 1.250000e-01
        : (tensor<2x32x8x64xf32>, tensor<2x32x4x64xf32>, tensor<2x32x4x64xf32>)
       -> (tensor<2x32x8x64xf32>, tensor<2x32x8xf32>)
    // Queries that begin %d keys later.
    %next, %m = weft.attention %p, %k, %v causal diagonal %d scale = 1.250000e-01
        : (tensor<2x4x8x64xf32>, tensor<2x32x4x64xf32>, tensor<2x32x4x64xf32>,
           tensor<i32>)
       -> (tensor<2x4x8x64xf32>, tensor<2x4x8xf32>)
    ```
  }];
  let arguments = (ins
    Weft_AttentionTensor:$query, Weft_AttentionTensor:$key,
    Weft_AttentionTensor:$value, Optional<0DTensorOf<[I32]>>:$diagonal,
    UnitAttr:$causal, F64Attr:$scale);
  let results = (outs
    Weft_AttentionTensor:$out, Weft_AttentionTensor:$logsumexp);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`causal` $causal^)? (`diagonal` $diagonal^)?
    `scale` `=` $scale attr-dict
    `:` functional-type(operands, results)
  }];
}

def Weft_AttentionGradOp
    : Weft_TensorOp<"attention_grad",
                    [AttrSizedOperandSegments, InstructionOpInterface]> {
  let summary = "Derivative of attention";
  let description = [{
    The cotangents of `query`, `key` and `value` of the `weft.attention` with
    the same operands and attributes, from its results `out` and `logsumexp` and
    their cotangents; that of `logsumexp` is zero where it is not given. Scores
    are recomputed, tile by tile.

    If attention runs over shards of the keys, each shard has a derivative of its
    own: with `out`, `logsumexp` and cotangents of all keys, the cotangent of
    the query is a partial sum over the shards.

    Each result has the element type of its operand, or that of the sums.

    ```mlir
    %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %out, %l, %dout causal
        scale = 1.250000e-01
        : (tensor<2x32x8x64xf32>, tensor<2x32x4x64xf32>, tensor<2x32x4x64xf32>,
           tensor<2x32x8x64xf32>, tensor<2x32x8xf32>, tensor<2x32x8x64xf32>)
       -> (tensor<2x32x8x64xf32>, tensor<2x32x4x64xf32>, tensor<2x32x4x64xf32>)
    // The logsumexp is a result of the program too.
    %dp, %dl, %dw = weft.attention_grad %q, %k, %v, %out, %l, %dout
        logsumexp %dlse scale = 1.250000e-01
        : (tensor<2x32x8x64xf32>, tensor<2x32x4x64xf32>, tensor<2x32x4x64xf32>,
           tensor<2x32x8x64xf32>, tensor<2x32x8xf32>, tensor<2x32x8x64xf32>,
           tensor<2x32x8xf32>)
       -> (tensor<2x32x8x64xf32>, tensor<2x32x4x64xf32>, tensor<2x32x4x64xf32>)
    ```
  }];
  let arguments = (ins
    Weft_AttentionTensor:$query, Weft_AttentionTensor:$key,
    Weft_AttentionTensor:$value, Weft_AttentionTensor:$out,
    Weft_AttentionTensor:$logsumexp, Weft_AttentionTensor:$out_cotangent,
    Optional<Weft_AttentionTensor>:$logsumexp_cotangent,
    Optional<0DTensorOf<[I32]>>:$diagonal, UnitAttr:$causal, F64Attr:$scale);
  let results = (outs
    Weft_AttentionTensor:$query_cotangent, Weft_AttentionTensor:$key_cotangent,
    Weft_AttentionTensor:$value_cotangent);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $out `,` $logsumexp `,` $out_cotangent
    (`logsumexp` $logsumexp_cotangent^)? (`causal` $causal^)?
    (`diagonal` $diagonal^)?
    `scale` `=` $scale attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // WEFT_IR_WEFTATTENTIONOPS_TD
