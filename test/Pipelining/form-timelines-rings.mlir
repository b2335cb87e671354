// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention over a split sequence is a loop over a ring of four devices. In a
// segment it has what it uses of the function around it.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe' | FileCheck %s
// RUN: shard-compile %s --pipeline="axis=pipe schedule=zb-h1" -o %t.plan

weft.mesh @mesh = <["pipe"=2, "seq"=4]>

// CHECK: func.func @step.1F(
// CHECK:   %[[Q:[0-9]+]] = weft.reshape
// CHECK:   weft.repeat 2 carry (%[[K:[a-z0-9]+]] = %{{[0-9]+}}, {{.*}} {
// CHECK:     weft.attention %[[Q]], %[[K]], %[[K]]
// CHECK: func.func @step.1B(
// CHECK:   weft.repeat 2 carry

func.func @step(
    %w: tensor<8x8xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %x: tensor<4x2x8x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {}, {"seq"}, {}]>})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<f32> {weft.name = "loss"}) {
  %wi = weft.microbatch_use %w of <"batch", 4> : tensor<8x8xf32>
  %xi = weft.microbatch_slice %x dim = 0 of <"batch", 4> : tensor<4x2x8x8xf32> -> tensor<2x8x8xf32>
  %l, %g = weft.value_and_grad @model(%wi, %xi) wrt = [0] : (tensor<8x8xf32>, tensor<2x8x8xf32>) -> (tensor<f32>, tensor<8x8xf32>)
  %loss = weft.microbatch_sum %l of <"batch", 4> : tensor<f32>
  %sum = weft.microbatch_sum %g of <"batch", 4> : tensor<8x8xf32>
  %new = arith.subf %w, %sum : tensor<8x8xf32>
  return %new, %loss : tensor<8x8xf32>, tensor<f32>
}

func.func private @model(%w: tensor<8x8xf32>, %x: tensor<2x8x8xf32>) -> tensor<f32> {
  %0 = weft.dot_general %x, %w contracting = [2] x [0] : (tensor<2x8x8xf32>, tensor<8x8xf32>) -> tensor<2x8x8xf32>
  %1 = weft.stage_boundary %0 : tensor<2x8x8xf32>
  %2 = weft.dot_general %1, %w contracting = [2] x [0] : (tensor<2x8x8xf32>, tensor<8x8xf32>) -> tensor<2x8x8xf32>
  %3 = weft.reshape %2 : tensor<2x8x8xf32> -> tensor<2x8x1x8xf32>
  %4, %s = weft.attention %3, %3, %3 scale = 0.5
      : (tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>) -> (tensor<2x8x1x8xf32>, tensor<2x8x1xf32>)
  %5 = weft.reduce sum %4 dims = [0, 1, 2, 3] : tensor<2x8x1x8xf32> -> tensor<f32>
  return %5 : tensor<f32>
}
