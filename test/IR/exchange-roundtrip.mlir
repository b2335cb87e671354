// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<4x6xf32>) {
  // CHECK: weft.exchange %{{.*}} dim = 1 over <@mesh, {"x"}> map <[6] to [2, 2, 2], 0 to 0 for 24> : tensor<4x6xf32> -> tensor<4x6xf32>
  %r0 = weft.exchange %x dim = 1 over <@mesh, {"x"}> map <[6] to [2, 2, 2], 0 to 0 for 24> : tensor<4x6xf32> -> tensor<4x6xf32>
  // CHECK: weft.exchange %{{.*}} dim = 0 over <@mesh, {"y", "x":(1)2}> map <[1, 3] to [5], 15 to 0 for 8 by -1, 0 to 9 for 3 by 2> {cause = "why"} : tensor<4x6xf32> -> tensor<5x6xf32>
  %r1 = weft.exchange %x dim = 0 over <@mesh, {"y", "x":(1)2}> map <[1, 3] to [5], 15 to 0 for 8 by -1, 0 to 9 for 3 by 2> {cause = "why"} : tensor<4x6xf32> -> tensor<5x6xf32>
  // CHECK: weft.exchange %{{.*}} map <[4] to [1]> : tensor<4x6xf32> -> tensor<1x6xf32>
  %r2 = weft.exchange %x dim = 0 over <@mesh, {"y"}> map <[4] to [1]> : tensor<4x6xf32> -> tensor<1x6xf32>
  return
}
