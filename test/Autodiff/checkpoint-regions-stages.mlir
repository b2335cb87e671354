// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// No stage boundary is recomputed: a range of several stages is a checkpoint of
// each.
// RUN: shard-opt %s --weft-checkpoint-regions=ranges=0:2 | FileCheck %s
// RUN: shard-opt %s --weft-checkpoint-regions=ranges=0:1,1:2,0:2 --weft-autodiff --weft-decompose --symbol-dce --weft-assign-stages=stages=2 -o /dev/null

#loop = #weft.microbatches<"step", 2>

// CHECK: func.func private @loss(%[[X:.*]]: tensor<4x4xf32>, %[[V:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: %[[H:.*]] = weft.checkpoint @loss_region(%[[X]], %[[V]]) policy = "nothing"
// CHECK-NEXT: %[[B:.*]] = weft.stage_boundary %[[H]]
// CHECK-NEXT: %[[L:.*]] = weft.checkpoint @loss_region_0(%[[B]], %[[V]]) policy = "nothing"
// CHECK-NEXT: return %[[L]]
func.func private @loss(%x: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> tensor<f32> {
  %s = weft.dot_general %x, %v contracting = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = math.tanh %s : tensor<4x4xf32>
  %b = weft.stage_boundary %h : tensor<4x4xf32>
  %y = weft.dot_general %b, %v contracting = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = math.tanh %y : tensor<4x4xf32>
  %l = weft.reduce sum %t dims = [0, 1] : tensor<4x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
func.func @step(%v: tensor<4x4xf32> {weft.name = "v"}, %x: tensor<4x2x4xf32> {weft.name = "x"})
    -> (tensor<f32> {weft.name = "l"}, tensor<4x4xf32> {weft.name = "g"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<4x2x4xf32> -> tensor<4x4xf32>
  %u = weft.microbatch_use %v of #loop : tensor<4x4xf32>
  %r:2 = weft.value_and_grad @loss(%xi, %u) wrt = [1]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>)
  %l = weft.microbatch_sum %r#0 of #loop : tensor<f32>
  %g = weft.microbatch_sum %r#1 of #loop : tensor<4x4xf32>
  return %l, %g : tensor<f32>, tensor<4x4xf32>
}
