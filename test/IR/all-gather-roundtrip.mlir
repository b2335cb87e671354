// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // CHECK: weft.all_gather %{{.*}} dim = 0 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<16x8xf32>
  %r0 = weft.all_gather %x dim = 0 over <@mesh, {"x"}> : tensor<4x8xf32> -> tensor<16x8xf32>
  // CHECK: weft.all_gather %{{.*}} dim = 1 over <@mesh, {"y", "x":(1)2}> {cause = "%{{.*}} is split, its user needs it whole"} : tensor<4x8xf32> -> tensor<4x32xf32>
  %r1 = weft.all_gather %x dim = 1 over <@mesh, {"y", "x":(1)2}> {cause = "%y is split, its user needs it whole"} : tensor<4x8xf32> -> tensor<4x32xf32>
  return
}
