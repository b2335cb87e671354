// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{op requires the same type for all operands and results}}
  %r = "weft.checkpoint_name"(%x) <{name = "a"}> : (tensor<4xf32>) -> tensor<4xf64>
  return
}
