// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s -split-input-file -verify-diagnostics --weft-assign-stages=stages=2 --weft-verify-form=form=graph | FileCheck %s

#loop = #weft.microbatches<"step", 4>

// A stage may have frozen parameters alone: it has a forward pass, and no cotangent goes back to it.
// CHECK-LABEL: func.func @frozen
// CHECK: arith.mulf {{.*}}stage = 0, stage_pass = forward
// CHECK: arith.mulf {{.*}}stage = 1, stage_pass = forward
// CHECK: arith.mulf {{.*}}stage = 1, stage_pass = weight_gradient
// CHECK-NOT: stage = 0
// CHECK: return
func.func @frozen(%f: tensor<2xf32> {weft.name = "f"}, %w: tensor<2xf32> {weft.name = "w", weft.parameter},
                  %x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}, tensor<2xf32> {weft.name = "g"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  %p = arith.mulf %a, %f : tensor<2xf32>
  %b = weft.stage_boundary %p : tensor<2xf32>
  %u = weft.microbatch_use %w of #loop : tensor<2xf32>
  %q = arith.mulf %b, %u : tensor<2xf32>
  %g = arith.mulf %b, %b {weft.origin = #weft.origin<backward = true, gradient_of = "w">} : tensor<2xf32>
  %s = weft.microbatch_sum %q of #loop : tensor<2xf32>
  %t = weft.microbatch_sum %g of #loop {weft.origin = #weft.origin<backward = true, gradient_of = "w">} : tensor<2xf32>
  return %s, %t : tensor<2xf32>, tensor<2xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

// Numbers, and what is computed of the batch before the loop, are no parameters.
// expected-error @below {{stage 0 of @scaled uses no parameter; move or remove a boundary before or behind it}}
func.func @scaled(%rate: tensor<f32> {weft.name = "rate"}, %w: tensor<2xf32> {weft.name = "w", weft.parameter},
                  %x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  %total = weft.reduce sum %x dims = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  %scale = arith.mulf %total, %rate : tensor<f32>
  %all = weft.broadcast %scale dims = [] : tensor<f32> -> tensor<2xf32>
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  %p = arith.mulf %a, %all : tensor<2xf32>
  // expected-note @below {{it ends here}}
  %b = weft.stage_boundary %p : tensor<2xf32>
  %u = weft.microbatch_use %w of #loop : tensor<2xf32>
  %q = arith.mulf %b, %u : tensor<2xf32>
  %s = weft.microbatch_sum %q of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}
