// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-number-values --split-input-file --verify-diagnostics

// expected-error@+1 {{a program with micro-batches or pipeline stages cannot be verified: its values are computed several times; compile it without them}}
func.func @loop(%x: tensor<2x4x4xf32>) -> tensor<4xf32> {
  %xi = weft.microbatch_slice %x dim = 0 of <"loop", 2> : tensor<2x4x4xf32> -> tensor<4x4xf32>
  %y = weft.reduce sum %xi dims = [0] : tensor<4x4xf32> -> tensor<4xf32>
  %s = weft.microbatch_sum %y of <"loop", 2> : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

func.func @numbered(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{weft.numbered must be a dictionary of number, kind, terms, and a tensor type for each of 1 results}}
  %y = arith.negf %x {weft.numbered = {number = 0 : i64, kind = "element", terms = 0 : i64, types = []}} : tensor<4xf32>
  return %y : tensor<4xf32>
}
