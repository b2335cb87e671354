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
