// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<2x4x8xf32>) {
  // CHECK: weft.transpose %{{.*}} dims = [2, 0, 1] : tensor<2x4x8xf32> -> tensor<8x2x4xf32>
  %r0 = weft.transpose %x dims = [2, 0, 1] : tensor<2x4x8xf32> -> tensor<8x2x4xf32>
  return
}
