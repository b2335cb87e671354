// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The stages are left, for which shardings are chosen.
// RUN: shard-opt %s '--weft-assign-stages=axis=pipe schedule=gpipe' | FileCheck %s --check-prefix=PIPELINE
// RUN: shard-opt %s '--weft-assign-stages=axis=pipe schedule=gpipe' --weft-remove-pipeline | FileCheck %s

weft.mesh @mesh = <["pipe"=2]>
#loop = #weft.microbatches<"step", 4>

// PIPELINE: weft.pipeline
// CHECK-NOT: weft.pipeline
// CHECK: weft.stages = 2
// CHECK-LABEL: func.func @step
// CHECK: arith.mulf {{.*}}stage = 0
// CHECK: arith.addf {{.*}}stage = 1
func.func @step(%v: tensor<8xf32> {weft.name = "v", weft.parameter}, %w: tensor<8xf32> {weft.name = "w", weft.parameter},
                %x: tensor<8x4xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "y"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<8x4xf32> -> tensor<8xf32>
  %u = weft.microbatch_use %v of #loop : tensor<8xf32>
  %a = arith.mulf %xi, %u : tensor<8xf32>
  %b = weft.stage_boundary %a : tensor<8xf32>
  %t = weft.microbatch_use %w of #loop : tensor<8xf32>
  %c = arith.addf %b, %t : tensor<8xf32>
  %y = weft.microbatch_sum %c of #loop : tensor<8xf32>
  return %y : tensor<8xf32>
}
