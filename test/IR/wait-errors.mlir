// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @type(%p: !weft.pending<tensor<4x8xf32>>) {
  // expected-error @below {{result is the tensor that is pending}}
  %r = "weft.wait"(%p) : (!weft.pending<tensor<4x8xf32>>) -> tensor<4xf32>
  return
}

// -----

func.func @operand(%x: tensor<4x8xf32>) {
  // expected-error @below {{operand #0 must be}}
  %r = "weft.wait"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
