// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-plan-memory --verify-diagnostics

// expected-note @below {{see the other entry}}
func.func @init() -> (tensor<16xf32> {weft.name = "w"}) {
  %w = arith.constant dense<1.0> : tensor<16xf32>
  return %w : tensor<16xf32>
}

// expected-error @below {{state "w" has type 'tensor<8xf32>' here and 'tensor<16xf32>' in @init}}
func.func @step(%w: tensor<8xf32> {weft.name = "w"}) {
  return
}
