// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What depends on no value of the program is computed from each other in many
// ways, as random numbers are: as many as 2 to the 40 here.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe' | FileCheck %s

// CHECK: func.func @step.0U0(
// CHECK: weft.iota
// CHECK-COUNT-40: arith.addi
// CHECK: arith.subf

weft.mesh @mesh = <["pipe"=2]>

func.func @step(
    %w: tensor<4x4xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %v: tensor<4x4xf32> {weft.name = "v", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %x: tensor<2x3x4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {}, {}]>})
    -> (tensor<4x4xf32> {weft.name = "w"}, tensor<4x4xf32> {weft.name = "v"}) {
  %wi = weft.microbatch_use %w of <"batch", 3> : tensor<4x4xf32>
  %vi = weft.microbatch_use %v of <"batch", 3> : tensor<4x4xf32>
  %xi = weft.microbatch_slice %x dim = 1 of <"batch", 3> : tensor<2x3x4xf32> -> tensor<2x4xf32>
  %l, %gw, %gv = weft.value_and_grad @model(%wi, %vi, %xi) wrt = [0, 1]
      : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>)
  %sw = weft.microbatch_sum %gw of <"batch", 3> : tensor<4x4xf32>
  %sv = weft.microbatch_sum %gv of <"batch", 3> : tensor<4x4xf32>
  %c0 = weft.iota dim = 0 : tensor<4x4xi32>
  %c1 = arith.addi %c0, %c0 : tensor<4x4xi32>
  %c2 = arith.addi %c1, %c1 : tensor<4x4xi32>
  %c3 = arith.addi %c2, %c2 : tensor<4x4xi32>
  %c4 = arith.addi %c3, %c3 : tensor<4x4xi32>
  %c5 = arith.addi %c4, %c4 : tensor<4x4xi32>
  %c6 = arith.addi %c5, %c5 : tensor<4x4xi32>
  %c7 = arith.addi %c6, %c6 : tensor<4x4xi32>
  %c8 = arith.addi %c7, %c7 : tensor<4x4xi32>
  %c9 = arith.addi %c8, %c8 : tensor<4x4xi32>
  %c10 = arith.addi %c9, %c9 : tensor<4x4xi32>
  %c11 = arith.addi %c10, %c10 : tensor<4x4xi32>
  %c12 = arith.addi %c11, %c11 : tensor<4x4xi32>
  %c13 = arith.addi %c12, %c12 : tensor<4x4xi32>
  %c14 = arith.addi %c13, %c13 : tensor<4x4xi32>
  %c15 = arith.addi %c14, %c14 : tensor<4x4xi32>
  %c16 = arith.addi %c15, %c15 : tensor<4x4xi32>
  %c17 = arith.addi %c16, %c16 : tensor<4x4xi32>
  %c18 = arith.addi %c17, %c17 : tensor<4x4xi32>
  %c19 = arith.addi %c18, %c18 : tensor<4x4xi32>
  %c20 = arith.addi %c19, %c19 : tensor<4x4xi32>
  %c21 = arith.addi %c20, %c20 : tensor<4x4xi32>
  %c22 = arith.addi %c21, %c21 : tensor<4x4xi32>
  %c23 = arith.addi %c22, %c22 : tensor<4x4xi32>
  %c24 = arith.addi %c23, %c23 : tensor<4x4xi32>
  %c25 = arith.addi %c24, %c24 : tensor<4x4xi32>
  %c26 = arith.addi %c25, %c25 : tensor<4x4xi32>
  %c27 = arith.addi %c26, %c26 : tensor<4x4xi32>
  %c28 = arith.addi %c27, %c27 : tensor<4x4xi32>
  %c29 = arith.addi %c28, %c28 : tensor<4x4xi32>
  %c30 = arith.addi %c29, %c29 : tensor<4x4xi32>
  %c31 = arith.addi %c30, %c30 : tensor<4x4xi32>
  %c32 = arith.addi %c31, %c31 : tensor<4x4xi32>
  %c33 = arith.addi %c32, %c32 : tensor<4x4xi32>
  %c34 = arith.addi %c33, %c33 : tensor<4x4xi32>
  %c35 = arith.addi %c34, %c34 : tensor<4x4xi32>
  %c36 = arith.addi %c35, %c35 : tensor<4x4xi32>
  %c37 = arith.addi %c36, %c36 : tensor<4x4xi32>
  %c38 = arith.addi %c37, %c37 : tensor<4x4xi32>
  %c39 = arith.addi %c38, %c38 : tensor<4x4xi32>
  %c40 = arith.addi %c39, %c39 : tensor<4x4xi32>
  %noise = arith.sitofp %c40 : tensor<4x4xi32> to tensor<4x4xf32>
  %w1 = arith.subf %w, %sw : tensor<4x4xf32>
  %w2 = arith.subf %w1, %noise : tensor<4x4xf32>
  %v1 = arith.subf %v, %sv : tensor<4x4xf32>
  return %w2, %v1 : tensor<4x4xf32>, tensor<4x4xf32>
}

func.func private @model(%w: tensor<4x4xf32>, %v: tensor<4x4xf32>, %x: tensor<2x4xf32>) -> tensor<f32> {
  %0 = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = weft.stage_boundary %0 : tensor<2x4xf32>
  %2 = weft.dot_general %1, %v contracting = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %3 = weft.reduce sum %2 dims = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %3 : tensor<f32>
}
