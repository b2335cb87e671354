// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-diagnostics

func.func @types(%a: tensor<4xf32>) {
  // expected-error @below {{requires the same type for all operands and results}}
  %r = "weft.copy"(%a) : (tensor<4xf32>) -> tensor<2x2xf32>
  return
}
