// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8xf32>, %y: tensor<2x4x8xbf16>) {
  // CHECK: weft.softmax %{{.*}} dims = [1] : tensor<4x8xf32>
  %r0 = weft.softmax %x dims = [1] : tensor<4x8xf32>
  // CHECK: weft.softmax %{{.*}} dims = [0, 2] : tensor<2x4x8xbf16>
  %r1 = weft.softmax %y dims = [0, 2] : tensor<2x4x8xbf16>
  return
}
