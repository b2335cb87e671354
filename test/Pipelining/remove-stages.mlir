// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Without a pipeline, boundaries make stages until shardings are chosen: a step
// adds the same numbers in the same order with and without one.
// RUN: shard-opt %s --weft-assign-stages | FileCheck %s --check-prefix=STAGES
// RUN: shard-opt %s --weft-assign-stages --weft-remove-stages | FileCheck %s
// RUN: shard-opt %s --weft-pipeline=stop-after=spmd | FileCheck %s --check-prefix=JOINED

#loop = #weft.microbatches<"step", 4>

// STAGES: weft.stages = 2
// CHECK-NOT: stage
// CHECK-LABEL: func.func @step
// STAGES-LABEL: func.func @step
// Both stages take the rows, each for itself.
// STAGES-COUNT-2: weft.microbatch_slice
// CHECK-COUNT-2: weft.microbatch_slice
// CHECK-NOT: stage
// JOINED-COUNT-1: weft.gather
// JOINED-NOT: weft.gather
func.func @step(%w: tensor<8xf32> {weft.name = "w", weft.parameter}, %x: tensor<8x4xf32> {weft.name = "x"})
    -> (tensor<8xf32> {weft.name = "y"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<8x4xf32> -> tensor<8xf32>
  %u = weft.microbatch_use %w of #loop : tensor<8xf32>
  %a = arith.mulf %xi, %u : tensor<8xf32>
  %b = weft.stage_boundary %a : tensor<8xf32>
  %c = arith.addf %b, %xi : tensor<8xf32>
  %y = weft.microbatch_sum %c of #loop : tensor<8xf32>
  return %y : tensor<8xf32>
}

// No loop over micro-batches, no stages.
// STAGES-LABEL: func.func @inference
// STAGES-NOT: stage
func.func @inference(%x: tensor<8xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "y"}) {
  %a = weft.stage_boundary %x : tensor<8xf32>
  %y = math.tanh %a : tensor<8xf32>
  return %y : tensor<8xf32>
}
