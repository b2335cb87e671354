// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-number-values --split-input-file --verify-diagnostics

func.func @numbered(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{weft.numbered must be a dictionary of number, kind, terms, and a tensor type for each of 1 results}}
  %y = arith.negf %x {weft.numbered = {number = 0 : i64, kind = "element", terms = 0 : i64, types = []}} : tensor<4xf32>
  return %y : tensor<4xf32>
}
