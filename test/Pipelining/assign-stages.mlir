// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-autodiff --weft-decompose --symbol-dce --weft-assign-stages=stages=2 | FileCheck %s
// RUN: shard-opt %s --weft-autodiff --weft-decompose --symbol-dce --weft-assign-stages=stages=2 --weft-verify-form=form=graph -o /dev/null
// RUN: shard-opt %s --weft-autodiff --weft-decompose --symbol-dce --weft-assign-stages --weft-verify-form=form=graph | FileCheck %s

#loop = #weft.microbatches<"step", 4>

func.func private @loss(%w0: tensor<8x8xf32>, %w1: tensor<8x8xf32>, %x: tensor<2x8xf32>,
                        %y: tensor<2x8xf32>) -> tensor<f32> {
  %a = weft.dot_general %x, %w0 contracting = [1] x [0]
      : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %h = math.tanh %a : tensor<2x8xf32>
  %b = weft.stage_boundary %h : tensor<2x8xf32>
  %c = weft.dot_general %b, %w1 contracting = [1] x [0]
      : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %d = arith.subf %c, %y : tensor<2x8xf32>
  %e = arith.mulf %d, %d : tensor<2x8xf32>
  %l = weft.reduce sum %e dims = [0, 1] : tensor<2x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// CHECK: module attributes {weft.stages = 2 : i64}
// CHECK-LABEL: func.func @step
// The rows of a micro-batch are needed first, what they are compared with last.
// CHECK:       weft.microbatch_slice %arg2 {{.*}}<stage = 0, stage_pass = forward>
// CHECK:       weft.microbatch_slice %arg3 {{.*}}<stage = 1, stage_pass = forward>
// CHECK:       weft.microbatch_use %arg0 {{.*}}stage = 0
// CHECK:       weft.microbatch_use %arg1 {{.*}}stage = 1
// CHECK:       %[[H:.*]] = math.tanh {{.*}}stage = 0, stage_pass = forward
// The boundary is gone.
// CHECK-NEXT:  weft.dot_general %[[H]], {{.*}}stage = 1, stage_pass = forward
// CHECK:       weft.reduce {{.*}}stage = 1, stage_pass = forward
// Stage 0 waits for the cotangent, nobody for the gradient of %w1.
// CHECK:       %[[D:.*]] = arith.addf {{.*}}stage = 1, stage_pass = input_gradient
// CHECK-NEXT:  %[[BACK:.*]] = weft.dot_general %[[D]], {{.*}}stage = 1, stage_pass = input_gradient
// CHECK-NEXT:  weft.dot_general %[[H]], %[[D]] {{.*}}stage = 1, stage_pass = weight_gradient
// CHECK:       arith.mulf %[[BACK]], {{.*}}stage = 0, stage_pass = weight_gradient
// Each stage updates its own parameter.
// CHECK:       %[[S0:.*]] = weft.microbatch_sum {{.*}}stage = 0, stage_pass = weight_gradient
// CHECK:       %[[S1:.*]] = weft.microbatch_sum {{.*}}stage = 1, stage_pass = weight_gradient
// CHECK:       arith.subf %arg0, %[[S0]] {weft.origin = #weft.origin<stage = 0>}
// CHECK:       arith.subf %arg1, %[[S1]] {weft.origin = #weft.origin<stage = 1>}

func.func @step(%w0: tensor<8x8xf32> {weft.name = "w0"}, %w1: tensor<8x8xf32> {weft.name = "w1"},
                %x: tensor<2x4x8xf32> {weft.name = "x"}, %y: tensor<2x4x8xf32> {weft.name = "y"})
    -> (tensor<f32> {weft.name = "loss"}, tensor<8x8xf32> {weft.name = "w0"}, tensor<8x8xf32> {weft.name = "w1"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %yi = weft.microbatch_slice %y dim = 1 of #loop : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %u0 = weft.microbatch_use %w0 of #loop : tensor<8x8xf32>
  %u1 = weft.microbatch_use %w1 of #loop : tensor<8x8xf32>
  %l, %g0, %g1 = weft.value_and_grad @loss(%u0, %u1, %xi, %yi) wrt = [0, 1]
      : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
     -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>)
  %loss = weft.microbatch_sum %l of #loop : tensor<f32>
  %s0 = weft.microbatch_sum %g0 of #loop : tensor<8x8xf32>
  %s1 = weft.microbatch_sum %g1 of #loop : tensor<8x8xf32>
  %n0 = arith.subf %w0, %s0 : tensor<8x8xf32>
  %n1 = arith.subf %w1, %s1 : tensor<8x8xf32>
  return %loss, %n0, %n1 : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>
}


// A second loss goes to the last stage, which adds it. Its cotangent is known, and sent by nobody.

func.func private @two(%w0: tensor<8x8xf32>, %w1: tensor<8x8xf32>, %x: tensor<2x8xf32>) -> tensor<f32> {
  %a = weft.dot_general %x, %w0 contracting = [1] x [0]
      : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %s = weft.reduce sum %a dims = [0, 1] : tensor<2x8xf32> -> tensor<f32>
  %b = weft.stage_boundary %a : tensor<2x8xf32>
  %t = weft.stage_boundary %s : tensor<f32>
  %c = weft.dot_general %b, %w1 contracting = [1] x [0]
      : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %e = arith.mulf %c, %c : tensor<2x8xf32>
  %l = weft.reduce sum %e dims = [0, 1] : tensor<2x8xf32> -> tensor<f32>
  %all = arith.addf %l, %t : tensor<f32>
  return %all : tensor<f32>
}

// CHECK-LABEL: func.func @second
// CHECK:       weft.reduce {{.*}}stage = 0, stage_pass = forward
// CHECK-NOT:   weft.stage_boundary
// CHECK:       weft.dot_general {{.*}}stage = 1, stage_pass = input_gradient
// CHECK-NOT:   weft.broadcast {{.*}}stage_pass
// CHECK:       return
func.func @second(%w0: tensor<8x8xf32> {weft.name = "w0"}, %w1: tensor<8x8xf32> {weft.name = "w1"}, %x: tensor<2x4x8xf32> {weft.name = "x"})
    -> (tensor<8x8xf32> {weft.name = "w0"}, tensor<8x8xf32> {weft.name = "w1"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %u0 = weft.microbatch_use %w0 of #loop : tensor<8x8xf32>
  %u1 = weft.microbatch_use %w1 of #loop : tensor<8x8xf32>
  %l, %g0, %g1 = weft.value_and_grad @two(%u0, %u1, %xi) wrt = [0, 1]
      : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>)
  %s0 = weft.microbatch_sum %g0 of #loop : tensor<8x8xf32>
  %s1 = weft.microbatch_sum %g1 of #loop : tensor<8x8xf32>
  %n0 = arith.subf %w0, %s0 : tensor<8x8xf32>
  %n1 = arith.subf %w1, %s1 : tensor<8x8xf32>
  return %n0, %n1 : tensor<8x8xf32>, tensor<8x8xf32>
}
