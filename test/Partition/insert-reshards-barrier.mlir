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
