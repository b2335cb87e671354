// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The stage that has a value keeps it for all micro-batches. That it is a value
// of the graph, the entry says and not the segments.
// RUN: shard-opt %s '--weft-assign-stages=axis=pipe schedule=gpipe' --weft-number-values --weft-propagate --weft-insert-reshards --weft-observe-values --weft-localize --weft-form-timelines | FileCheck %s

weft.mesh @mesh = <["pipe"=2]>
#loop = #weft.microbatches<"step", 4>

// CHECK-LABEL: func.func private @step
// CHECK-SAME:    tensor<4x8xf32> {weft.global_type = tensor<4x8xf32>, weft.name = "weft.observed 1", weft.observed = {kind = "element", name = "math.tanh ({{.*}})", number = 1 : i64, order = 1 : i64, sources = array<i64: 0>
// CHECK-SAME:    tensor<4x8xf32> {weft.global_type = tensor<4x8xf32>, weft.name = "weft.observed 2", weft.observed = {kind = "element", name = "arith.mulf ({{.*}})", {{.*}}order = 2 : i64, sources = array<i64: 1>
// CHECK-NOT:   weft.observed =

// CHECK:       func.func @step.0F({{.*}}%[[KEPT:arg[0-9]+]]: tensor<4x8xf32> {weft.name = "0F:2"})
// CHECK-SAME:    -> ({{.*}}tensor<4x8xf32> {weft.name = "0F:2"}, tensor<8xf32> {weft.name = "0F:0"
// CHECK:         %[[A:.*]] = math.tanh
// CHECK:         %[[PUT:.*]] = weft.broadcast %[[A]]
// CHECK:         %[[ALL:.*]] = arith.select %{{.*}}, %[[PUT]], %[[KEPT]]
// CHECK:         return {{.*}}%[[ALL]], %[[A]]
// CHECK:       func.func @step.1F(
// CHECK:         arith.mulf
// CHECK:       func.func @step.1U0({{.*}}) -> ({{.*}}tensor<4x8xf32> {weft.global_type = tensor<4x8xf32>, weft.name = "weft.observed 2", weft.sharding
func.func @step(%x: tensor<8x4xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "y"}) {
  %xi = weft.microbatch_slice %x dim = 1 of #loop : tensor<8x4xf32> -> tensor<8xf32>
  %a = math.tanh %xi : tensor<8xf32>
  %b = weft.stage_boundary %a : tensor<8xf32>
  %c = arith.mulf %b, %b : tensor<8xf32>
  %y = weft.microbatch_sum %c of #loop : tensor<8xf32>
  return %y : tensor<8xf32>
}
