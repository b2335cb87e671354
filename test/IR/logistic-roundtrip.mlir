// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8xf32>) {
  // CHECK: weft.logistic %{{.*}} : tensor<4x8xf32>
  %r0 = weft.logistic %x : tensor<4x8xf32>
  return
}
