// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-verify-form=form=graph --verify-diagnostics -o /dev/null

#loop = #weft.microbatches<"step", 4>

module attributes {weft.stages = 2 : i64} {
  func.func @order(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
    %a = weft.microbatch_slice %x dim = 1 of #loop {weft.origin = #weft.origin<stage = 1, stage_pass = forward>} : tensor<2x4xf32> -> tensor<2xf32>
    // expected-error @below {{arith.addf of stage 0, in the forward pass, uses a value that stage 1 computes in the forward pass, which may be later; run --weft-assign-stages}}
    %b = arith.addf %a, %a {weft.origin = #weft.origin<stage = 0, stage_pass = forward>} : tensor<2xf32>
    %c = arith.addf %b, %b {weft.origin = #weft.origin<stage = 0, stage_pass = weight_gradient>} : tensor<2xf32>
    // expected-error @below {{arith.addf of stage 0, among the input gradients, uses a value that stage 0 computes among the weight gradients, which may be later; run --weft-assign-stages}}
    %d = arith.addf %c, %c {weft.origin = #weft.origin<stage = 0, stage_pass = input_gradient>} : tensor<2xf32>
    // expected-error @below {{weft.microbatch_sum of stage 1, among the weight gradients, uses a value that stage 0 computes among the input gradients, which may be later; run --weft-assign-stages}}
    %s = weft.microbatch_sum %d of #loop {weft.origin = #weft.origin<stage = 1, stage_pass = weight_gradient>} : tensor<2xf32>
    // expected-error @below {{arith.addf is computed once a step, but its stage computes it in the forward pass; run --weft-assign-stages}}
    %t = arith.addf %s, %s {weft.origin = #weft.origin<stage = 1, stage_pass = forward>} : tensor<2xf32>
    // expected-error @below {{arith.addf must be of a stage from 0 to 1, got 2; run --weft-assign-stages}}
    %u = arith.addf %t, %t {weft.origin = #weft.origin<stage = 2>} : tensor<2xf32>
    return %u : tensor<2xf32>
  }
}

// -----

// expected-error @below {{@no_number is cut into stages, but the module has no weft.stages, their number; run --weft-assign-stages}}
func.func @no_number(%x: tensor<2xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  %a = arith.addf %x, %x {weft.origin = #weft.origin<stage = 0>} : tensor<2xf32>
  return %a : tensor<2xf32>
}

// -----

func.func @boundary(%x: tensor<2xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  // expected-error @below {{a graph holds no weft.stage_boundary; run --weft-assign-stages before}}
  %a = weft.stage_boundary %x : tensor<2xf32>
  return %a : tensor<2xf32>
}

// -----

// expected-error @below {{weft.pipeline must have strings: axis, and schedule, table or both, and may have a bool own_copies, got {axis = "pipe", chunks = 2 : i64}}}
module attributes {weft.stages = 2 : i64, weft.pipeline = {axis = "pipe", chunks = 2}} {
}

// -----

// expected-error @below {{may have a bool own_copies, got {axis = "pipe", own_copies = 0 : i64, schedule = "1f1b"}}}
module attributes {weft.stages = 2 : i64, weft.pipeline = {axis = "pipe", schedule = "1f1b", own_copies = 0}} {
}

// -----

// expected-error @below {{weft.pipeline needs weft.stages, the number of stages}}
// expected-error @below {{weft.pipeline has schedule "auto" without the table that was chosen}}
// expected-error @below {{weft.pipeline has axis "pipe", which is no axis of a mesh of the module}}
module attributes {weft.pipeline = {axis = "pipe", schedule = "auto"}} {
  weft.mesh @mesh = <["data"=2]>
}
