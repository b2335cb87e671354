// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-cut-loops | FileCheck %s --check-prefix=MARK
// RUN: shard-opt %s --weft-cut-loops=regions=1,2 | FileCheck %s --check-prefix=CUT
// RUN: shard-opt %s --weft-cut-loops=regions=1,2 --weft-assign-stages=stages=3 --weft-verify-form=form=graph | FileCheck %s --check-prefix=STAGE
// RUN: shard-opt %s --weft-cut-loops=regions=2 | FileCheck %s --check-prefix=TWO

// Three layers, tanh(x w), as they are differentiated elsewhere. The parameters of the first and the last are tied.

// What is forward follows from the loss, which is no gradient.
// MARK: module attributes {weft.chains = array<i64: 3, 1>}
// MARK: weft.dot_general {{.*}}#weft.origin<regions = [0]>
// MARK: math.tanh {{.*}}#weft.origin<regions = [0]>
// MARK: weft.dot_general {{.*}}#weft.origin<regions = [1]>
// MARK: math.tanh {{.*}}#weft.origin<regions = [1]>
// MARK: weft.dot_general {{.*}}#weft.origin<regions = [2]>
// MARK: weft.reduce {{.*}}#weft.origin<regions = [2]>
// On the way back ops are where the parameters and the values are that they take.
// MARK: weft.dot_general {{.*}}#weft.origin<backward = true, gradient_of = "w0", regions = [2]>
// MARK: weft.dot_general {{.*}}contracting = [1] x [1] {weft.origin = #weft.origin<backward = true, regions = [2]>
// MARK: weft.dot_general {{.*}}#weft.origin<backward = true, gradient_of = "w1", regions = [1]>
// MARK: weft.dot_general {{.*}}contracting = [1] x [1] {weft.origin = #weft.origin<backward = true, regions = [1]>
// MARK: weft.dot_general {{.*}}#weft.origin<backward = true, gradient_of = "w0", regions = [0]>

// CUT:      %[[H0:.*]] = math.tanh
// CUT-NEXT: %[[B0:.*]] = weft.stage_boundary %[[H0]] : tensor<2x8xf32>
// CUT:      weft.dot_general %[[B0]]
// CUT:      %[[H1:.*]] = math.tanh
// CUT-NEXT: %[[B1:.*]] = weft.stage_boundary %[[H1]] : tensor<2x8xf32>
// CUT:      weft.dot_general %[[B1]]
// CUT:      %[[D2:.*]] = weft.dot_general %[[B1]]
// What goes back is the cotangent of what went forward. The derivative of the activation is made where that was.
// CUT-NEXT: %[[C1:.*]] = weft.dot_general
// CUT-NEXT: %[[BACK1:.*]] = weft.stage_boundary %[[C1]] of %[[B1]]
// CUT-NEXT: %[[P1:.*]] = arith.mulf %[[H1]], %[[H1]]
// CUT-NEXT: %[[E1:.*]] = arith.mulf %[[BACK1]], %[[P1]]
// CUT-NEXT: weft.dot_general %[[B0]], %[[E1]]
// CUT-NEXT: %[[C0:.*]] = weft.dot_general %[[E1]]
// CUT-NEXT: %[[BACK0:.*]] = weft.stage_boundary %[[C0]] of %[[B0]]
// CUT-NEXT: %[[P0:.*]] = arith.mulf %[[H0]], %[[H0]]
// CUT-NEXT: %[[E0:.*]] = arith.mulf %[[BACK0]], %[[P0]]
// CUT:      %[[F0:.*]] = arith.mulf %[[E0]]
// CUT-NEXT: %[[D0:.*]] = weft.dot_general %{{.*}}, %[[F0]]
// Terms of one sum are added up where they are, and joined once a step.
// CUT:      arith.addf %[[D2]], %[[D0]]

// STAGE: weft.microbatch_sum {{.*}}gradient_of = "w0", stage = 2, stage_pass = weight_gradient
// STAGE: weft.microbatch_sum {{.*}}gradient_of = "w0", stage = 0, stage_pass = weight_gradient

// TWO-COUNT-1: weft.stage_boundary %{{[0-9]+}} : tensor
// TWO-NOT:     weft.stage_boundary %{{[0-9]+}} : tensor
// TWO-COUNT-1: weft.stage_boundary %{{[0-9]+}} of
// TWO-NOT:     weft.stage_boundary

#loop = #weft.microbatches<"step", 4>

func.func @step(%w0: tensor<8x8xf32> {weft.name = "w0", weft.parameter}, %w1: tensor<8x8xf32> {weft.name = "w1", weft.parameter},
                %x: tensor<2x4x8xf32> {weft.name = "x"})
    -> (tensor<f32> {weft.name = "loss"}, tensor<8x8xf32> {weft.name = "w0"}, tensor<8x8xf32> {weft.name = "w1"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %u0 = weft.microbatch_use %w0 of #loop : tensor<8x8xf32>
  %u1 = weft.microbatch_use %w1 of #loop : tensor<8x8xf32>
  %a0 = weft.dot_general %xi, %u0 contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %h0 = math.tanh %a0 : tensor<2x8xf32>
  %a1 = weft.dot_general %h0, %u1 contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %h1 = math.tanh %a1 : tensor<2x8xf32>
  %a2 = weft.dot_general %h1, %u0 contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %s = arith.mulf %a2, %a2 : tensor<2x8xf32>
  %l = weft.reduce sum %s dims = [0, 1] : tensor<2x8xf32> -> tensor<f32>
  %loss = weft.microbatch_sum %l of #loop : tensor<f32>
  %d = arith.addf %a2, %a2 : tensor<2x8xf32>
  %g2 = weft.dot_general %h1, %d contracting = [0] x [0] {weft.origin = #weft.origin<gradient_of = "w0">} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  // No tied parameter makes this one of the last layer, but its operand does.
  %c1 = weft.dot_general %d, %u0 contracting = [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %p1 = arith.mulf %h1, %h1 : tensor<2x8xf32>
  %b1 = arith.mulf %c1, %p1 : tensor<2x8xf32>
  %g1 = weft.dot_general %h0, %b1 contracting = [0] x [0] {weft.origin = #weft.origin<gradient_of = "w1">} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %c0 = weft.dot_general %b1, %u1 contracting = [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %p0 = arith.mulf %h0, %h0 : tensor<2x8xf32>
  %b0 = arith.mulf %c0, %p0 : tensor<2x8xf32>
  %e0 = math.exp %a0 : tensor<2x8xf32>
  %f0 = arith.mulf %b0, %e0 : tensor<2x8xf32>
  %gx = weft.dot_general %xi, %f0 contracting = [0] x [0] {weft.origin = #weft.origin<gradient_of = "w0">} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %g0 = arith.addf %g2, %gx {weft.origin = #weft.origin<gradient_of = "w0">} : tensor<8x8xf32>
  %s0 = weft.microbatch_sum %g0 of #loop : tensor<8x8xf32>
  %s1 = weft.microbatch_sum %g1 of #loop : tensor<8x8xf32>
  %n0 = arith.subf %w0, %s0 : tensor<8x8xf32>
  %n1 = arith.subf %w1, %s1 : tensor<8x8xf32>
  return %loss, %n0, %n1 : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>
}
