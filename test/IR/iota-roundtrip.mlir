// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f() {
  // CHECK: weft.iota dim = 1 : tensor<4x256xi32>
  %r0 = weft.iota dim = 1 : tensor<4x256xi32>
  // CHECK: weft.iota dim = 0 : tensor<8xf32>
  %r1 = weft.iota dim = 0 : tensor<8xf32>
  return
}
