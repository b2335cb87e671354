// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // CHECK: weft.permute %{{.*}} from <@mesh, {"x":(1)2}> to <@mesh, {"y"}> : tensor<4x8xf32>
  %r0 = weft.permute %x from <@mesh, {"x":(1)2}> to <@mesh, {"y"}> : tensor<4x8xf32>
  // CHECK: weft.permute %{{.*}} from <@mesh, {"x", "y"}> to <@mesh, {"y", "x"}> {cause = "why"} : tensor<4x8xf32>
  %r1 = weft.permute %x from <@mesh, {"x", "y"}> to <@mesh, {"y", "x"}> {cause = "why"} : tensor<4x8xf32>
  // CHECK: weft.permute %{{.*}} from <@mesh, {"x"}> to <@mesh, {"x"}> {shift = 3 : i64} : tensor<4x8xf32>
  %r2 = weft.permute %x from <@mesh, {"x"}> to <@mesh, {"x"}> {shift = 3 : i64} : tensor<4x8xf32>
  return
}
