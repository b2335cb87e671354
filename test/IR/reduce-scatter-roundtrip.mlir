// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // CHECK: weft.reduce_scatter sum %{{.*}} dim = 0 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<1x8xf32>
  %r0 = weft.reduce_scatter sum %x dim = 0 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<1x8xf32>
  // CHECK: weft.reduce_scatter max %{{.*}} dim = 1 over <@mesh, {"y"}> {cause = "why"} : tensor<4x8xf32> -> tensor<4x4xf32>
  %r1 = weft.reduce_scatter max %x dim = 1 over <@mesh, {"y"}> {cause = "why"} : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}
