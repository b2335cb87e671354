// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x3x50xf32>, %l: tensor<4x3xi32>, %y: tensor<4x50xbf16>, %k: tensor<50xi64>) {
  // CHECK: weft.cross_entropy %{{.*}}, %{{.*}} dim = 2 : (tensor<4x3x50xf32>, tensor<4x3xi32>) -> tensor<4x3xf32>
  %r0 = weft.cross_entropy %x, %l dim = 2 : (tensor<4x3x50xf32>, tensor<4x3xi32>) -> tensor<4x3xf32>
  // CHECK: weft.cross_entropy %{{.*}}, %{{.*}} dim = 0 : (tensor<4x50xbf16>, tensor<50xi64>) -> tensor<50xbf16>
  %r1 = weft.cross_entropy %y, %k dim = 0 : (tensor<4x50xbf16>, tensor<50xi64>) -> tensor<50xbf16>
  return
}
