// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-pipeline='stop-after=spmd stage-axis=pipe' --verify-diagnostics -o /dev/null
// RUN: echo 'module attributes {weft.pipeline = {axis = "pipe", schedule = "1f1b"}, weft.stages = 2 : i64} { func.func @f() { return } }' > %t.mlir
// RUN: not shard-opt %t.mlir --weft-form-timelines 2>&1 | FileCheck %s
// CHECK: error: @f has no loop over micro-batches, nor has any other entry

#loop = #weft.microbatches<"step", 4>

// expected-error @below {{a pipeline needs a mesh with an axis of its own, but the module declares none}}
module {
  func.func @no_mesh(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
    %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
    %b = weft.stage_boundary %a : tensor<2xf32>
    %s = weft.microbatch_sum %b of #loop : tensor<2xf32>
    return %s : tensor<2xf32>
  }
}

// -----

// expected-error @below {{the mesh has no axis "pipe" for the pipeline; its axes are "stages", "data"}}
weft.mesh @mesh = <["stages"=2, "data"=2]>

// -----

#loop = #weft.microbatches<"step", 4>

weft.mesh @mesh = <["pipe"=2, "data"=2]>

// expected-error @below {{argument "x" is split over the axis of the pipeline, "pipe", along which there are stages; use another axis for shardings}}
func.func @split(%x: tensor<4x4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"pipe"}, {}]>})
    -> (tensor<f32> {weft.name = "y"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<4x4xf32> -> tensor<4xf32>
  %b = weft.stage_boundary %a : tensor<4xf32>
  %c = weft.reduce sum %b dims = [0] : tensor<4xf32> -> tensor<f32>
  %s = weft.microbatch_sum %c of #loop : tensor<f32>
  return %s : tensor<f32>
}

// -----

#loop = #weft.microbatches<"step", 4>

weft.mesh @mesh = <["pipe"=2, "data"=2]>

func.func @inside(%x: tensor<4x4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) -> (tensor<f32> {weft.name = "y"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<4x4xf32> -> tensor<4xf32>
  // expected-error @below {{a value of weft.constraint is split over the axis of the pipeline, "pipe"}}
  %r = weft.constraint %a <@mesh, [{"pipe"}]> : tensor<4xf32>
  %b = weft.stage_boundary %r : tensor<4xf32>
  %c = weft.reduce sum %b dims = [0] : tensor<4xf32> -> tensor<f32>
  %s = weft.microbatch_sum %c of #loop : tensor<f32>
  return %s : tensor<f32>
}

// -----

#loop = #weft.microbatches<"step", 4>

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{@other has 0 stage boundaries, which make 1 stage, but the pipeline has 2; add 1}}
func.func @other(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2xf32> {weft.name = "y"}) {
  %a = weft.microbatch_slice %x dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  %s = weft.microbatch_sum %a of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}
func.func @step(%z: tensor<2x4xf32> {weft.name = "z"}) -> (tensor<2xf32> {weft.name = "s"}) {
  %a = weft.microbatch_slice %z dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  %b = weft.stage_boundary %a : tensor<2xf32>
  %s = weft.microbatch_sum %b of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{@step has 2 stage boundaries, which make 3 stages, but the pipeline has 4; add 1, or remove 1 for 2 stages}}
func.func @step(%z: tensor<2x4xf32> {weft.name = "z"}) -> (tensor<2xf32> {weft.name = "s"}) {
  %a = weft.microbatch_slice %z dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  // expected-note @below {{a boundary}}
  %b = weft.stage_boundary %a : tensor<2xf32>
  // expected-note @below {{a boundary}}
  %c = weft.stage_boundary %b : tensor<2xf32>
  %s = weft.microbatch_sum %c of #loop : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

#loop = #weft.microbatches<"step", 4>

weft.mesh @mesh = <["pipe"=2]>

// An entry without a loop has the stages of the one that trains.
func.func @step(%w: tensor<2xf32> {weft.name = "w"}, %v: tensor<2xf32> {weft.name = "v"}, %z: tensor<2x4xf32> {weft.name = "z"})
    -> (tensor<2xf32> {weft.name = "w"}, tensor<2xf32> {weft.name = "v"}) {
  %a = weft.microbatch_slice %z dim = 1 of #loop : tensor<2x4xf32> -> tensor<2xf32>
  %wi = weft.microbatch_use %w of #loop : tensor<2xf32>
  %vi = weft.microbatch_use %v of #loop : tensor<2xf32>
  %b = arith.mulf %a, %wi : tensor<2xf32>
  %c = weft.stage_boundary %b : tensor<2xf32>
  %d = arith.mulf %c, %vi : tensor<2xf32>
  %s = weft.microbatch_sum %b of #loop : tensor<2xf32>
  %t = weft.microbatch_sum %d of #loop : tensor<2xf32>
  return %s, %t : tensor<2xf32>, tensor<2xf32>
}
func.func @evaluate(%w: tensor<2xf32> {weft.name = "w"}, %v: tensor<2xf32> {weft.name = "v"}, %x: tensor<2xf32> {weft.name = "x"})
    -> (tensor<2xf32> {weft.name = "y"}) {
  %0 = arith.mulf %x, %v : tensor<2xf32>
  %1 = weft.stage_boundary %x : tensor<2xf32>
  // expected-error @below {{@evaluate uses "w" in stage 1, but another entry has it in stage 0; put the boundaries of both at the same places}}
  %2 = arith.mulf %1, %w : tensor<2xf32>
  return %2 : tensor<2xf32>
}
