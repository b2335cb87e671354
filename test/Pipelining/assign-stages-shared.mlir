// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What several stages use, and what they all have a part of.
// RUN: shard-opt %s --weft-assign-stages=stages=3 --weft-verify-form=form=graph | FileCheck %s
// RUN: shard-opt %s --weft-assign-stages --weft-verify-form=form=graph | FileCheck %s --check-prefix=WITHOUT

#loop = #weft.microbatches<"step", 4>

// CHECK-LABEL: func.func @tied
// Both ends have the parameter.
// CHECK:      %[[FIRST:.*]] = weft.microbatch_use %arg0 {{.*}}stage = 0
// CHECK-NEXT: %[[LAST:.*]] = weft.microbatch_use %arg0 {{.*}}stage = 2
// A mask is computed where it is used; what takes a matmul is sent.
// CHECK:      %[[MASK1:.*]] = arith.cmpf {{.*}}stage = 1
// CHECK:      %[[MASK2:.*]] = arith.cmpf {{.*}}stage = 2
// CHECK:      %[[SENT:.*]] = weft.dot_general {{.*}}stage = 0, stage_pass = forward
// CHECK:      arith.select %[[MASK1]], {{.*}}stage = 1
// CHECK:      arith.select %[[MASK2]], {{.*}}stage = 2
// CHECK:      arith.mulf {{.*}}, %[[SENT]] {{.*}}stage = 2
// Each stage sums what it has of the gradient, once a step they add it up.
// CHECK:      %[[S0:.*]] = weft.microbatch_sum {{.*}}stage = 0, stage_pass = weight_gradient
// CHECK-NEXT: %[[S2:.*]] = weft.microbatch_sum {{.*}}stage = 2, stage_pass = {{.*}}
// CHECK-NEXT: %[[G:.*]] = arith.addf %[[S0]], %[[S2]] {weft.origin = #weft.origin<backward = true, gradient_of = "w", stage = 0>}
// The first of them updates it.
// CHECK:      arith.subf %arg0, {{.*}}<stage = 0>
// WITHOUT:    weft.microbatch_sum {{.*}} : tensor<f32>
// WITHOUT-NEXT: %[[S0:.*]] = weft.microbatch_sum
// WITHOUT-NEXT: %[[S2:.*]] = weft.microbatch_sum
// WITHOUT-NEXT: arith.addf %[[S0]], %[[S2]]
func.func @tied(%w: tensor<8x8xf32> {weft.name = "w", weft.parameter},
                %v: tensor<8x8xf32> {weft.name = "v", weft.parameter},
                %x: tensor<2x4x8xf32> {weft.name = "x"})
    -> (tensor<f32> {weft.name = "loss"}, tensor<8x8xf32> {weft.name = "w"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %u = weft.microbatch_use %w of #loop : tensor<8x8xf32>
  %t = weft.microbatch_use %v of #loop : tensor<8x8xf32>
  %zero = arith.constant dense<0.0> : tensor<2x8xf32>
  %mask = arith.cmpf ogt, %xi, %zero : tensor<2x8xf32>
  %h = weft.dot_general %xi, %u contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %h1 = weft.stage_boundary %h : tensor<2x8xf32>
  %m1 = arith.select %mask, %h1, %zero : tensor<2x8xi1>, tensor<2x8xf32>
  %k = weft.dot_general %m1, %t contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %h2 = weft.stage_boundary %k : tensor<2x8xf32>
  %m2 = arith.select %mask, %h2, %zero : tensor<2x8xi1>, tensor<2x8xf32>
  %q = weft.dot_general %m2, %u contracting = [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %e = arith.mulf %q, %h : tensor<2x8xf32>
  %l = weft.reduce sum %e dims = [0, 1] : tensor<2x8xf32> -> tensor<f32>
  %g2 = weft.dot_general %m2, %e contracting = [0] x [0] {weft.origin = #weft.origin<backward = true>}
      : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %d1 = weft.stage_boundary %e of %h2 : tensor<2x8xf32> of tensor<2x8xf32>
  %d0 = weft.stage_boundary %d1 of %h1 : tensor<2x8xf32> of tensor<2x8xf32>
  %g0 = weft.dot_general %xi, %d0 contracting = [0] x [0] {weft.origin = #weft.origin<backward = true>}
      : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %gi = arith.addf %g0, %g2 {weft.origin = #weft.origin<backward = true, gradient_of = "w">} : tensor<8x8xf32>
  %loss = weft.microbatch_sum %l of #loop : tensor<f32>
  %g = weft.microbatch_sum %gi of #loop : tensor<8x8xf32>
  %n = arith.subf %w, %g : tensor<8x8xf32>
  return %loss, %n : tensor<f32>, tensor<8x8xf32>
}

// A sum is split behind what only says where it is. What scales the gradients of
// a stage is a number from another one: they stay where they are.
// CHECK-LABEL: func.func @clipped
// CHECK:      %[[A:.*]] = weft.reshape {{.*}}stage = 0
// CHECK:      %[[S0:.*]] = weft.microbatch_sum %[[A]] {{.*}}stage = 0
// CHECK:      %[[B:.*]] = weft.reshape {{.*}}stage = 2
// CHECK:      %[[S2:.*]] = weft.microbatch_sum %[[B]] {{.*}}stage = 2
// CHECK:      weft.microbatch_sum {{.*}}stage = 1
// CHECK:      %[[NORM:.*]] = weft.reduce sum {{.*}}stage = 0
// CHECK:      weft.broadcast %[[NORM]]
// CHECK:      arith.mulf {{.*}}stage = 1
func.func @clipped(%w: tensor<32x64xf32> {weft.name = "w2", weft.parameter},
                   %v: tensor<32x32xf32> {weft.name = "v2", weft.parameter},
                   %x: tensor<2x4x32xf32> {weft.name = "x2"})
    -> (tensor<2048xf32> {weft.name = "g"}, tensor<32x32xf32> {weft.name = "v3"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4x32xf32> -> tensor<2x32xf32>
  %u = weft.microbatch_use %w of #loop : tensor<32x64xf32>
  %t = weft.microbatch_use %v of #loop : tensor<32x32xf32>
  %h = weft.dot_general %xi, %t contracting = [1] x [0] : (tensor<2x32xf32>, tensor<32x32xf32>) -> tensor<2x32xf32>
  %z = weft.dot_general %xi, %u contracting = [1] x [0] : (tensor<2x32xf32>, tensor<32x64xf32>) -> tensor<2x64xf32>
  %h1 = weft.stage_boundary %h : tensor<2x32xf32>
  %k = weft.dot_general %h1, %t contracting = [1] x [0] : (tensor<2x32xf32>, tensor<32x32xf32>) -> tensor<2x32xf32>
  %h2 = weft.stage_boundary %k : tensor<2x32xf32>
  %q = weft.dot_general %h2, %u contracting = [1] x [0] : (tensor<2x32xf32>, tensor<32x64xf32>) -> tensor<2x64xf32>
  %g2 = weft.dot_general %h2, %q contracting = [0] x [0] {weft.origin = #weft.origin<backward = true>}
      : (tensor<2x32xf32>, tensor<2x64xf32>) -> tensor<32x64xf32>
  %e = weft.dot_general %q, %u contracting = [1] x [1] {weft.origin = #weft.origin<backward = true>}
      : (tensor<2x64xf32>, tensor<32x64xf32>) -> tensor<2x32xf32>
  %d1 = weft.stage_boundary %e of %h2 : tensor<2x32xf32> of tensor<2x32xf32>
  %gv = weft.dot_general %h1, %d1 contracting = [0] x [0] {weft.origin = #weft.origin<backward = true>}
      : (tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<32x32xf32>
  %d0 = weft.stage_boundary %d1 of %h1 : tensor<2x32xf32> of tensor<2x32xf32>
  %g0 = weft.dot_general %d0, %z contracting = [0] x [0] {weft.origin = #weft.origin<backward = true>}
      : (tensor<2x32xf32>, tensor<2x64xf32>) -> tensor<32x64xf32>
  %gi = arith.addf %g0, %g2 {weft.origin = #weft.origin<backward = true, gradient_of = "w2">} : tensor<32x64xf32>
  %gr = weft.reshape %gi {weft.origin = #weft.origin<backward = true, gradient_of = "w2">} : tensor<32x64xf32> -> tensor<2048xf32>
  %g = weft.microbatch_sum %gr of #loop : tensor<2048xf32>
  %gvs = weft.microbatch_sum %gv of #loop : tensor<32x32xf32>
  %norm = weft.reduce sum %g dims = [0] : tensor<2048xf32> -> tensor<f32>
  %wide = weft.broadcast %norm dims = [] : tensor<f32> -> tensor<32x32xf32>
  %scaled = arith.mulf %gvs, %wide : tensor<32x32xf32>
  return %g, %scaled : tensor<2048xf32>, tensor<32x32xf32>
}

// Rows of a table that is larger than they are, in all micro-batches, are sent;
// those of a small one are looked up by each stage.
// CHECK-LABEL: func.func @lookup
// CHECK:       %[[SENT:.*]] = weft.gather {{.*}}stage = 0{{.*}}(tensor<512x8xf32>
// CHECK-NOT:   tensor<512x8xf32>
// CHECK:       weft.gather {{.*}}stage = 0{{.*}}(tensor<2x8xf32>
// CHECK-NEXT:  %[[OWN:.*]] = weft.gather {{.*}}stage = 1{{.*}}(tensor<2x8xf32>
// CHECK:       arith.addf {{.*}}, %[[SENT]] {{.*}}stage = 1
// CHECK-NEXT:  arith.addf {{.*}}, %[[OWN]] {{.*}}stage = 1
func.func @lookup(%large: tensor<512x8xf32> {weft.name = "large"}, %small: tensor<2x8xf32> {weft.name = "small"},
                  %rows: tensor<2x4xi32> {weft.name = "rows"})
    -> (tensor<2x8xf32> {weft.name = "y"}) {
  %l = weft.microbatch_use %large of #loop : tensor<512x8xf32>
  %s = weft.microbatch_use %small of #loop : tensor<2x8xf32>
  %i = weft.microbatch_slice %rows dim = 1 of #loop : tensor<2x4xi32> -> tensor<2xi32>
  %a = weft.gather %l, %i dim = 0 : (tensor<512x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  %b = weft.gather %s, %i dim = 0 : (tensor<2x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  %c = arith.mulf %a, %b : tensor<2x8xf32>
  %h1 = weft.stage_boundary %c : tensor<2x8xf32>
  %d = arith.addf %h1, %a : tensor<2x8xf32>
  %e = arith.addf %d, %b : tensor<2x8xf32>
  %h2 = weft.stage_boundary %e : tensor<2x8xf32>
  %y = weft.microbatch_sum %h2 of #loop : tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
