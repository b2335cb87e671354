// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8xf32>, %g: tensor<4xf32>, %h: tensor<i32>) {
  // CHECK: weft.barrier %{{.*}} after %{{.*}}, %{{.*}} : tensor<4x8xf32> after tensor<4xf32>, tensor<i32>
  %r = weft.barrier %x after %g, %h : tensor<4x8xf32> after tensor<4xf32>, tensor<i32>
  return
}
