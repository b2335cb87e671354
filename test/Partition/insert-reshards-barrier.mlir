// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-insert-reshards | FileCheck %s

// A barrier moves nothing: neither the value, nor the partial results that it
// waits for.

weft.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @barrier(
func.func @barrier(
    %x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>},
    %g: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32>, tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // CHECK: %[[TERMS:.*]] = weft.reduce sum
  // CHECK-SAME: unreduced={"x"}
  // CHECK-NEXT: weft.barrier %{{.*}} after %[[TERMS]] {weft.shardings = [#weft.sharding<@mesh, [{"x"}, {}]>]}
  // CHECK: weft.reshard %[[TERMS]]
  // CHECK-NOT: weft.reshard
  %s = weft.reduce sum %g dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %r = weft.barrier %x after %s : tensor<8x4xf32> after tensor<4xf32>
  return %r, %s : tensor<8x4xf32>, tensor<4xf32>
}

// Where the value itself is there as terms and as their sum, the sum is kept: it
// is not made twice.

// CHECK-LABEL: func.func @sum_of_terms(
func.func @sum_of_terms(
    %x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<4xf32>)
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>},
        tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // CHECK: %[[TERMS:.*]] = weft.reduce sum
  // CHECK: %[[SUM:.*]] = weft.reshard %[[TERMS]]
  // CHECK: math.exp %[[SUM]]
  // CHECK: %[[KEPT:.*]] = weft.barrier %[[SUM]] after
  // CHECK: math.exp %[[KEPT]]
  // CHECK-NOT: weft.reshard
  %s = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %e = math.exp %s : tensor<4xf32>
  %r = weft.barrier %s after %w : tensor<4xf32> after tensor<4xf32>
  %f = math.exp %r : tensor<4xf32>
  return %e, %f : tensor<4xf32>, tensor<4xf32>
}

// Who waits for terms does not need their sum: what adds them up still does so
// before they are reduced.
// CHECK-LABEL: func.func @waits_for_terms(
// CHECK: %[[FIRST:.*]] = weft.reduce sum
// CHECK: %[[LATER:.*]] = weft.barrier %{{.*}} after %[[FIRST]]
// CHECK: %[[SECOND:.*]] = weft.reduce sum %[[LATER]]
// CHECK: %[[SUM:.*]] = arith.addf %[[FIRST]], %[[SECOND]] {{.*}}unreduced={"x"}
// CHECK: weft.reshard %[[SUM]]
// CHECK-NOT: weft.reshard
func.func @waits_for_terms(
    %x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>},
    %g: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  %a = weft.reduce sum %g dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %later = weft.barrier %x after %a : tensor<8x4xf32> after tensor<4xf32>
  %b = weft.reduce sum %later dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %s = arith.addf %a, %b : tensor<4xf32>
  return %s : tensor<4xf32>
}
