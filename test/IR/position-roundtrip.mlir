// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // CHECK: weft.position over <@mesh, {"x", "y"}> : tensor<i32>
  %r0 = weft.position over <@mesh, {"x", "y"}> : tensor<i32>
  // Along no axes every device is at position 0.
  // CHECK: weft.position over <@mesh, {}> : tensor<i32>
  %r1 = weft.position over <@mesh, {}> : tensor<i32>
  return
}
