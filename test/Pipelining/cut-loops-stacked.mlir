// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-cut-loops | FileCheck %s

// Layers that have their parameters in one, of which each way takes slices of its own; a layer that is recomputed,
// behind a barrier, is where its parameters are.

// CHECK: weft.chains = array<i64: 2, 1>
// CHECK: weft.barrier %{{.*}}#weft.origin<backward = true, regions = [1]>
// CHECK: math.tanh %{{.*}}#weft.origin<backward = true, regions = [1]>
// CHECK: weft.dot_general {{.*}}contracting = [1] x [1] {weft.origin = #weft.origin<backward = true, regions = [1]>}
// CHECK: arith.mulf {{.*}}#weft.origin<backward = true, regions = [0]>

#loop = #weft.microbatches<"step", 4>

func.func @step(%w: tensor<2x8x8xf32> {weft.name = "w", weft.parameter}, %x: tensor<2x4x8xf32> {weft.name = "x"})
    -> (tensor<f32> {weft.name = "loss"}, tensor<8x8xf32> {weft.name = "g0"}, tensor<8x8xf32> {weft.name = "g1"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %f0 = weft.slice %w starts = [0, 0, 0] limits = [1, 8, 8] strides = [1, 1, 1] : tensor<2x8x8xf32> -> tensor<1x8x8xf32>
  %r0 = weft.reshape %f0 : tensor<1x8x8xf32> -> tensor<8x8xf32>
  %u0 = weft.microbatch_use %r0 of #loop : tensor<8x8xf32>
  %f1 = weft.slice %w starts = [1, 0, 0] limits = [2, 8, 8] strides = [1, 1, 1] : tensor<2x8x8xf32> -> tensor<1x8x8xf32>
  %r1 = weft.reshape %f1 : tensor<1x8x8xf32> -> tensor<8x8xf32>
  %u1 = weft.microbatch_use %r1 of #loop : tensor<8x8xf32>
  %a0 = weft.dot_general %xi, %u0 contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %h0 = math.tanh %a0 : tensor<2x8xf32>
  %a1 = weft.dot_general %h0, %u1 contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %h1 = math.tanh %a1 : tensor<2x8xf32>
  %l = weft.reduce sum %h1 dims = [0, 1] : tensor<2x8xf32> -> tensor<f32>
  %loss = weft.microbatch_sum %l of #loop : tensor<f32>
  %b1 = weft.slice %w starts = [1, 0, 0] limits = [2, 8, 8] strides = [1, 1, 1] : tensor<2x8x8xf32> -> tensor<1x8x8xf32>
  %v1 = weft.microbatch_use %b1 of #loop : tensor<1x8x8xf32>
  %k1 = weft.barrier %v1 after %h1 : tensor<1x8x8xf32> after tensor<2x8xf32>
  %q1 = weft.reshape %k1 : tensor<1x8x8xf32> -> tensor<8x8xf32>
  %again = weft.dot_general %h0, %q1 contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %d1 = math.tanh %again : tensor<2x8xf32>
  %g1 = weft.dot_general %h0, %d1 contracting = [0] x [0] {weft.origin = #weft.origin<gradient_of = "w">} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %c0 = weft.dot_general %d1, %q1 contracting = [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %e0 = math.exp %a0 : tensor<2x8xf32>
  %d0 = arith.mulf %c0, %e0 : tensor<2x8xf32>
  %g0 = weft.dot_general %xi, %d0 contracting = [0] x [0] {weft.origin = #weft.origin<gradient_of = "w">} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %s0 = weft.microbatch_sum %g0 of #loop : tensor<8x8xf32>
  %s1 = weft.microbatch_sum %g1 of #loop : tensor<8x8xf32>
  return %loss, %s0, %s1 : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>
}
