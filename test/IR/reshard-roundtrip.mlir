// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x8xf32>) {
  // CHECK: weft.reshard %{{.*}} <@mesh, [{"x"}, {?}]> : tensor<4x8xf32>
  %r0 = weft.reshard %x <@mesh, [{"x"}, {?}]> : tensor<4x8xf32>
  return
}
