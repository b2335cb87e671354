// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-cut-loops | FileCheck %s

// A loop without gradients is cut between the arguments that all micro-batches use, also through what is computed of
// them before the loop.

// CHECK: weft.chains = array<i64: 2, 1>
// CHECK: weft.dot_general {{.*}}#weft.origin<regions = [0]>
// CHECK: math.tanh {{.*}}#weft.origin<regions = [0]>
// CHECK: weft.dot_general {{.*}}#weft.origin<regions = [1]>

#loop = #weft.microbatches<"evaluate", 4>

func.func @evaluate(%w0: tensor<8x8xf32> {weft.name = "w0"}, %w1: tensor<8x8xf32> {weft.name = "w1"},
                    %x: tensor<2x4x8xf32> {weft.name = "x"}) -> (tensor<f32> {weft.name = "loss"}) {
  %n1 = arith.negf %w1 : tensor<8x8xf32>
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %u0 = weft.microbatch_use %w0 of #loop : tensor<8x8xf32>
  %u1 = weft.microbatch_use %n1 of #loop : tensor<8x8xf32>
  %a0 = weft.dot_general %xi, %u0 contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %h0 = math.tanh %a0 : tensor<2x8xf32>
  %a1 = weft.dot_general %h0, %u1 contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %l = weft.reduce sum %a1 dims = [0, 1] : tensor<2x8xf32> -> tensor<f32>
  %loss = weft.microbatch_sum %l of #loop : tensor<f32>
  return %loss : tensor<f32>
}
