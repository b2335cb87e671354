// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: split-file %s %t
// RUN: shard-opt %t/mark.mlir --split-input-file --weft-cut-loops --verify-diagnostics -o /dev/null
// RUN: shard-opt %t/cut.mlir --weft-cut-loops=regions=2 --verify-diagnostics -o /dev/null
// RUN: shard-opt %t/none.mlir --weft-cut-loops | FileCheck %t/none.mlir

//--- mark.mlir
#loop = #weft.microbatches<"step", 4>

func.func @boundary(%w: tensor<8xf32> {weft.name = "w", weft.parameter}, %x: tensor<4x8xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "y"}) {
  %xi = weft.microbatch_slice %x dim = 0 of #loop : tensor<4x8xf32> -> tensor<8xf32>
  %y = arith.mulf %xi, %w : tensor<8xf32>
  // expected-error @below {{the compiler is to place the stage boundaries, but the model has one; take it away, or let the boundaries of the model be the stages}}
  %b = weft.stage_boundary %y : tensor<8xf32>
  %s = weft.microbatch_sum %b of #loop : tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

// expected-error @below {{stages are placed along what a result other than gradients is computed from, but the loop over micro-batches of @gradients has none; return the loss}}
func.func @gradients(%w: tensor<8xf32> {weft.name = "w", weft.parameter}, %x: tensor<4x8xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "w"}) {
  %xi = weft.microbatch_slice %x dim = 0 of #loop : tensor<4x8xf32> -> tensor<8xf32>
  %g = arith.mulf %xi, %w {weft.origin = #weft.origin<gradient_of = "w">} : tensor<8xf32>
  %s = weft.microbatch_sum %g of #loop : tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

// expected-error @below {{stages are placed between parameters, but @unknown has gradients of none that is known; donate the state that it updates}}
func.func @unknown(%w: tensor<8xf32> {weft.name = "w"}, %x: tensor<4x8xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "y"}) {
  %xi = weft.microbatch_slice %x dim = 0 of #loop : tensor<4x8xf32> -> tensor<8xf32>
  %y = arith.mulf %xi, %w : tensor<8xf32>
  %s = weft.microbatch_sum %y of #loop : tensor<8xf32>
  return %s : tensor<8xf32>
}
//--- cut.mlir
#loop = #weft.microbatches<"step", 4>

// expected-error @below {{a stage is to begin with region 2, but the loop over micro-batches has 1 regions, and stages behind the first begin with 1 to 0}}
func.func @step(%w: tensor<8xf32> {weft.name = "w", weft.parameter}, %x: tensor<4x8xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "y"}) {
  %xi = weft.microbatch_slice %x dim = 0 of #loop : tensor<4x8xf32> -> tensor<8xf32>
  %y = arith.mulf %xi, %w : tensor<8xf32>
  %s = weft.microbatch_sum %y of #loop : tensor<8xf32>
  return %s : tensor<8xf32>
}
//--- none.mlir
// The way back takes a value of the third layer for the first one, so that the cuts between them are none.
// CHECK: weft.chains = array<i64: 1, 1>

#loop = #weft.microbatches<"step", 4>

func.func @step(%w0: tensor<8x8xf32> {weft.name = "w0", weft.parameter}, %w1: tensor<8x8xf32> {weft.name = "w1", weft.parameter},
                %x: tensor<2x4x8xf32> {weft.name = "x"})
    -> (tensor<f32> {weft.name = "loss"}, tensor<8x8xf32> {weft.name = "w0"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %u0 = weft.microbatch_use %w0 of #loop : tensor<8x8xf32>
  %u1 = weft.microbatch_use %w1 of #loop : tensor<8x8xf32>
  %a0 = weft.dot_general %xi, %u0 contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %h0 = math.tanh %a0 : tensor<2x8xf32>
  %a1 = weft.dot_general %h0, %u1 contracting = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %h1 = math.tanh %a1 : tensor<2x8xf32>
  %l = weft.reduce sum %h1 dims = [0, 1] : tensor<2x8xf32> -> tensor<f32>
  %loss = weft.microbatch_sum %l of #loop : tensor<f32>
  %e0 = math.exp %a0 : tensor<2x8xf32>
  %d = arith.mulf %e0, %h1 : tensor<2x8xf32>
  %g0 = weft.dot_general %xi, %d contracting = [0] x [0] {weft.origin = #weft.origin<gradient_of = "w0">} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %s0 = weft.microbatch_sum %g0 of #loop : tensor<8x8xf32>
  %n0 = arith.subf %w0, %s0 : tensor<8x8xf32>
  return %loss, %n0 : tensor<f32>, tensor<8x8xf32>
}
