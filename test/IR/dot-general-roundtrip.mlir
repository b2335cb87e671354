// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%a: tensor<4x8x16xf32>, %b: tensor<4x16x32xf32>, %m: tensor<8x16xbf16>, %n: tensor<32x16xbf16>) {
  // CHECK: weft.dot_general %{{.*}}, %{{.*}} batching = [0] x [0] contracting = [2] x [1] : (tensor<4x8x16xf32>, tensor<4x16x32xf32>) -> tensor<4x8x32xf32>
  %r0 = weft.dot_general %a, %b batching = [0] x [0] contracting = [2] x [1] : (tensor<4x8x16xf32>, tensor<4x16x32xf32>) -> tensor<4x8x32xf32>
  // CHECK: weft.dot_general %{{.*}}, %{{.*}} contracting = [1] x [1] {accumulation_type = f32} : (tensor<8x16xbf16>, tensor<32x16xbf16>) -> tensor<8x32xf32>
  %r1 = weft.dot_general %m, %n contracting = [1] x [1] {accumulation_type = f32} : (tensor<8x16xbf16>, tensor<32x16xbf16>) -> tensor<8x32xf32>
  // No dimension is contracted: an outer product.
  // CHECK: weft.dot_general %{{.*}}, %{{.*}} contracting = [] x [] : (tensor<8x16xbf16>, tensor<32x16xbf16>) -> tensor<8x16x32x16xbf16>
  %r2 = weft.dot_general %m, %n contracting = [] x [] : (tensor<8x16xbf16>, tensor<32x16xbf16>) -> tensor<8x16x32x16xbf16>
  // Every dimension is contracted.
  // CHECK: weft.dot_general %{{.*}}, %{{.*}} contracting = [0, 2, 1] x [0, 2, 1] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<f32>
  %r3 = weft.dot_general %a, %a contracting = [0, 2, 1] x [0, 2, 1] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<f32>
  return
}
