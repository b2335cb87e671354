// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-place-boundaries=regions=1,2 | FileCheck %s
// RUN: not shard-opt %s --weft-place-boundaries=regions=3 2>&1 | FileCheck %s --check-prefix=BEHIND
// RUN: not shard-opt %s --weft-place-boundaries=regions=1 --weft-place-boundaries=regions=1 2>&1 | FileCheck %s --check-prefix=AGAIN

// BEHIND: a stage is to begin with region 3, but there are 3 regions, and stages behind the first begin with 1 to 2
// AGAIN: the compiler is to place the stage boundaries, but the model has one; take it away, or let the boundaries of the model be the stages

func.func @step(%w: tensor<4x4xf32> {weft.name = "w"}, %x: tensor<8x4xf32> {weft.name = "x"}, %m: tensor<8x4xf32> {weft.name = "mask"})
    -> (tensor<4x4xf32> {weft.name = "g"}) {
  %l, %g = weft.value_and_grad @model(%w, %x, %m) wrt = [0] : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<f32>, tensor<4x4xf32>)
  return %g : tensor<4x4xf32>
}

// The mask and the constant are everywhere; what leads on has a boundary.
// CHECK-LABEL: func.func private @model
// CHECK:      %[[H:.*]] = math.tanh
// CHECK-NEXT: %[[B:.*]] = weft.stage_boundary %[[H]]
// CHECK:      weft.dot_general %[[B]], %arg0
// CHECK:      %[[H2:.*]] = math.tanh
// CHECK-NEXT: %[[B2:.*]] = weft.stage_boundary %[[H2]]
// CHECK:      weft.dot_general %[[B2]], %arg0
// CHECK-NOT:  weft.stage_boundary
func.func private @model(%w: tensor<4x4xf32>, %x: tensor<8x4xf32>, %m: tensor<8x4xf32>) -> tensor<f32> {
  %mask = math.exp %m : tensor<8x4xf32>
  %0 = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = arith.mulf %0, %mask : tensor<8x4xf32>
  %2 = math.tanh %1 : tensor<8x4xf32>
  %3 = weft.dot_general %2, %w contracting = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %4 = arith.mulf %3, %mask : tensor<8x4xf32>
  %5 = math.tanh %4 : tensor<8x4xf32>
  %6 = weft.dot_general %5, %w contracting = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %7 = weft.reduce sum %6 dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %7 : tensor<f32>
}
