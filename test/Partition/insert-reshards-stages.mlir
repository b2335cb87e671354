// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-insert-reshards | FileCheck %s

// What stages share is made in the first pass that needs it, whichever op comes
// first: stage 1 on the way back, before the weight gradients of stage 0.

weft.mesh @mesh = <["data"=2]>

// CHECK-LABEL: func.func @shared
// CHECK:         weft.reshard {{.*}}weft.origin = #weft.origin<backward = true, stage = 1, stage_pass = input_gradient>
// CHECK-NOT:     weft.reshard
// CHECK:         return
func.func @shared(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>}, tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>}) {
  %a = math.tanh %x {weft.shardings = [#weft.sharding<@mesh, [{}]>], weft.origin = #weft.origin<backward = true, stage = 1, stage_pass = input_gradient>} : tensor<8xf32>
  %b = math.exp %a {weft.shardings = [#weft.sharding<@mesh, [{"data"}]>], weft.origin = #weft.origin<backward = true, gradient_of = "b", stage = 0, stage_pass = weight_gradient>} : tensor<8xf32>
  %c = math.sin %a {weft.shardings = [#weft.sharding<@mesh, [{"data"}]>], weft.origin = #weft.origin<backward = true, stage = 1, stage_pass = input_gradient>} : tensor<8xf32>
  return %b, %c : tensor<8xf32>, tensor<8xf32>
}
