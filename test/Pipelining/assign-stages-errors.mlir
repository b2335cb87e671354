// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-assign-stages=stages=2 --verify-diagnostics -o /dev/null

#loop = #weft.microbatches<"step", 4>

// expected-error @below {{@count has 2 stage boundaries, which make 3 stages, but the pipeline has 2; remove 1}}
func.func @count(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  // expected-note @below {{a boundary}}
  %b = weft.stage_boundary %a : tensor<2xf32>
  // expected-note @below {{a boundary}}
  %c = weft.stage_boundary %b : tensor<2xf32>
  %s = weft.microbatch_sum %c of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

func.func @no_loop(%x: tensor<2xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  // expected-error @below {{the stages of a pipeline work on one loop over micro-batches, but @no_loop has none; say how many micro-batches the pipeline has, or put weft.microbatches around the function that is differentiated, once, or in JAX a lax.scan that adds up gradients}}
  %b = weft.stage_boundary %x : tensor<2xf32>
  return %b : tensor<2xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

func.func @outside(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  // expected-error @below {{a stage boundary is outside of the loop over micro-batches; put it between two layers of the model}}
  %0 = weft.stage_boundary %x : tensor<2x4xf32>
  %a = weft.microbatch_slice %0 dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  %s = weft.microbatch_sum %a of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

// expected-error @below {{a pipeline of 2 stages needs 1 stage boundary, but the program has none; put weft.stage_boundary between layers of the model, on what the loss is computed from}}
func.func @none(%x: tensor<2xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  return %x : tensor<2xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

func.func @again(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  // expected-error @below {{a stage boundary in a checkpointed function would be passed a second time on the way back; end the checkpoint before the boundary and begin another one behind it}}
  %b = weft.stage_boundary %a {weft.origin = #weft.origin<recomputed = true>} : tensor<2xf32>
  %s = weft.microbatch_sum %b of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

// As JAX recomputes: behind a barrier until a cotangent is there.
func.func @again_behind_barrier(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  %b = weft.stage_boundary %a : tensor<2xf32>
  %c = arith.addf %b, %b : tensor<2xf32>
  %d = weft.barrier %a after %c : tensor<2xf32> after tensor<2xf32>
  // expected-error @below {{a stage boundary in a checkpointed function would be passed a second time on the way back; end the checkpoint before the boundary and begin another one behind it}}
  %e = weft.stage_boundary %d : tensor<2xf32>
  %f = arith.mulf %c, %e : tensor<2xf32>
  %s = weft.microbatch_sum %f of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

func.func @forward_again(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  %b = weft.stage_boundary %a : tensor<2xf32>
  %c = arith.addf %b, %b : tensor<2xf32>
  // expected-note @below {{this value}}
  %d = weft.stage_boundary %c of %b : tensor<2xf32> of tensor<2xf32>
  // expected-error @below {{a value that is computed from a cotangent of stage 0 would go forward to the next one again; take gradients of gradients behind the last boundary}}
  %e = weft.stage_boundary %d : tensor<2xf32>
  %s = weft.microbatch_sum %e of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

func.func @back_twice(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  // expected-note @below {{the boundary}}
  %b = weft.stage_boundary %a : tensor<2xf32>
  // expected-note @below {{the cotangent}}
  %d = weft.stage_boundary %b of %b : tensor<2xf32> of tensor<2xf32>
  // expected-error @below {{a cotangent of stage 1 is computed by stage 0, so it would go from stage to stage twice; let the boundary's result be used by later stages only}}
  %e = weft.stage_boundary %d of %b : tensor<2xf32> of tensor<2xf32>
  %s = weft.microbatch_sum %e of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

// expected-error @below {{stage 1 of @no_parameter uses no parameter; move or remove a boundary before or behind it}}
func.func @no_parameter(%w: tensor<2xf32> {weft.name = "w", weft.parameter}, %x: tensor<2x4xf32> {weft.name = "x"})
    -> (tensor<2xf32> {weft.name = "y"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  %u = weft.microbatch_use %w of #loop : tensor<2xf32>
  %p = arith.mulf %a, %u : tensor<2xf32>
  // expected-note @below {{it begins here}}
  %b = weft.stage_boundary %p : tensor<2xf32>
  %s = weft.microbatch_sum %b of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

// expected-error @below {{stage 0 of @no_parameter_before uses no parameter; move or remove a boundary before or behind it}}
func.func @no_parameter_before(%w: tensor<2xf32> {weft.name = "w", weft.parameter}, %x: tensor<2x4xf32> {weft.name = "x"})
    -> (tensor<2xf32> {weft.name = "y"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  %u = weft.microbatch_use %w of #loop : tensor<2xf32>
  // expected-note @below {{it ends here}}
  %b = weft.stage_boundary %a : tensor<2xf32>
  %p = arith.mulf %b, %u : tensor<2xf32>
  %s = weft.microbatch_sum %p of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}
