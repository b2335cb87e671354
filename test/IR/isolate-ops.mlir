// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-number-values --weft-isolate-ops | FileCheck %s

// The example of the pass: the sum is of a product that is given, and so is the
// scaled one; both are results.

// CHECK: weft.mesh @mesh = <["device"=1]>
weft.mesh @mesh = <["data"=4]>

// CHECK-LABEL: func.func @step
// CHECK-SAME:      %[[X:[a-z0-9]*]]: tensor<4x8xf32> {weft.name = "x"}, %[[W:[a-z0-9]*]]: tensor<8x2xf32> {weft.name = "w", weft.parameter}
// CHECK-SAME:      %[[A:[a-z0-9]*]]: tensor<4x2xf32> {weft.name = "weft.given 0"}
// CHECK-SAME:      -> (tensor<4x2xf32> {weft.name = "weft.value 0"}, tensor<4x2xf32> {weft.name = "weft.value 1"})
func.func @step(%x: tensor<4x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<8x2xf32> {weft.name = "w", weft.parameter})
    -> (tensor<4x2xf32> {weft.name = "y"}) {
  // CHECK-NEXT: %[[MADE:.*]] = weft.dot_general %[[X]], %[[W]]
  // CHECK-NOT:  weft.constraint
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[A]] : tensor<4x2xf32>
  // CHECK-NEXT: return %[[MADE]], %[[SUM]]
  %a = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %b = weft.constraint %a <@mesh, [{}, {"data"}]> : tensor<4x2xf32>
  %c = arith.addf %b, %b : tensor<4x2xf32>
  return %c : tensor<4x2xf32>
}

// Of a value that each micro-batch has all are given, and are results.

// CHECK-LABEL: func.func @loop
// CHECK-SAME:      %[[XS:[a-z0-9]*]]: tensor<2x4xf32> {weft.name = "x"}
// CHECK-SAME:      %[[X:[a-z0-9]*]]: tensor<2x4xf32> {weft.name = "weft.given 0"}
// CHECK-SAME:      %[[Y:[a-z0-9]*]]: tensor<2x4xf32> {weft.name = "weft.given 1"}
// CHECK-SAME:      -> (tensor<2x4xf32> {weft.name = "weft.value 0"}, tensor<2x4xf32> {weft.name = "weft.value 1"}, tensor<4xf32> {weft.name = "weft.value 2"})
func.func @loop(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<4xf32> {weft.name = "s"}) {
  // CHECK-DAG:  %[[XI:.*]] = weft.microbatch_slice %[[X]] dim = 0
  // CHECK-DAG:  %[[YI:.*]] = weft.microbatch_slice %[[Y]] dim = 0
  // CHECK-DAG:  %[[MADE:.*]] = weft.microbatch_slice %[[XS]] dim = 0
  // CHECK:      %[[EXP:.*]] = math.exp %[[XI]]
  // CHECK:      %[[SUM:.*]] = weft.microbatch_sum %[[YI]]
  // CHECK:      %[[ALL:.*]] = weft.microbatch_stack %[[MADE]] dim = 0
  // CHECK:      %[[EXPS:.*]] = weft.microbatch_stack %[[EXP]] dim = 0
  // CHECK:      return %[[ALL]], %[[EXPS]], %[[SUM]]
  %xi = weft.microbatch_slice %x dim = 0 of <"loop", 2> : tensor<2x4xf32> -> tensor<4xf32>
  %y = math.exp %xi : tensor<4xf32>
  %s = weft.microbatch_sum %y of <"loop", 2> : tensor<4xf32>
  return %s : tensor<4xf32>
}
