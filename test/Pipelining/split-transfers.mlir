// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Eight ranks of a stage hold the same activations. Between nodes each sends an
// eighth; in one node, or where everything is memory of one machine, all send
// all of it.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe cluster=dgx-h100 optimize-shardings=false' | FileCheck %s --check-prefix=PARTS
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe cluster=h100-sxm optimize-shardings=false' | FileCheck %s --check-prefix=WHOLE
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe cluster=cpu-2core optimize-shardings=false' | FileCheck %s --check-prefix=WHOLE
// RUN: not shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe cluster=none.toml' 2>&1 | FileCheck %s --check-prefix=NONE

// PARTS:       weft.reasons = [{{.*}}{cause = "stage {{[01]}} sends a part from each rank to stage {{[01]}}", chain = {{\[\[}}"choice", "chosen by cost: {{[0-9.]+}} us to send parts and put them together, {{[0-9.]+}} us to send the whole from each rank"]]}
// PARTS-LABEL: func.func @step.0F
// PARTS:       %[[H:.*]] = math.tanh
// PARTS:       weft.all_slice %[[H]] dim = 0 over <@mesh, {"model"}> : tensor<2048x1024xf32> -> tensor<256x1024xf32>
// PARTS-LABEL: func.func @step.0B
// PARTS:       weft.all_gather {{.*}} dim = 0 over <@mesh, {"model"}> {cause = "stage 1 sends a part from each rank to stage 0"
// PARTS-LABEL: func.func @step.1F
// PARTS:       weft.all_gather %arg0 dim = 0 over <@mesh, {"model"}> {cause = "stage 0 sends a part from each rank to stage 1"

// WHOLE-NOT:   weft.all_gather
// NONE: none.toml

weft.mesh @mesh = <["pipe"=2, "model"=8]>
func.func @step(%w: tensor<1024x1024xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
                %x: tensor<2048x4x1024xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {}, {}]>})
    -> (tensor<1024x1024xf32> {weft.name = "w"}) {
  %wi = weft.microbatch_use %w of <"step", 4> : tensor<1024x1024xf32>
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4> : tensor<2048x4x1024xf32> -> tensor<2048x1024xf32>
  %l, %g = weft.value_and_grad @model(%wi, %xi) wrt = [0] : (tensor<1024x1024xf32>, tensor<2048x1024xf32>) -> (tensor<f32>, tensor<1024x1024xf32>)
  %s = weft.microbatch_sum %g of <"step", 4> : tensor<1024x1024xf32>
  %new = arith.subf %w, %s : tensor<1024x1024xf32>
  return %new : tensor<1024x1024xf32>
}
func.func private @model(%w: tensor<1024x1024xf32>, %x: tensor<2048x1024xf32>) -> tensor<f32> {
  %0 = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<2048x1024xf32>, tensor<1024x1024xf32>) -> tensor<2048x1024xf32>
  %1 = math.tanh %0 : tensor<2048x1024xf32>
  %2 = weft.stage_boundary %1 : tensor<2048x1024xf32>
  %3 = weft.dot_general %2, %w contracting = [1] x [1] : (tensor<2048x1024xf32>, tensor<1024x1024xf32>) -> tensor<2048x1024xf32>
  %4 = weft.reduce sum %3 dims = [0, 1] : tensor<2048x1024xf32> -> tensor<f32>
  return %4 : tensor<f32>
}
