// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%q: tensor<2x8x4x16xbf16>, %k: tensor<2x12x2x16xbf16>, %v: tensor<2x12x2x16xbf16>,
             %w: tensor<2x8x4x16xf64>, %d: tensor<i32>, %g: tensor<2x8x4x16xbf16>, %e: tensor<2x8x4xf32>) {
  // CHECK: weft.attention %{{.*}}, %{{.*}}, %{{.*}} scale = 2.500000e-01 : (tensor<2x8x4x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x12x2x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4xf32>)
  %r0, %l0 = weft.attention %q, %k, %v scale = 0.25 : (tensor<2x8x4x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x12x2x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4xf32>)
  // A result of the type of the sums.
  // CHECK: weft.attention %{{.*}}, %{{.*}}, %{{.*}} causal diagonal %{{.*}} scale = 2.500000e-01 : {{.*}} -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  %r1, %l1 = weft.attention %q, %k, %v causal diagonal %d scale = 0.25 : (tensor<2x8x4x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x12x2x16xbf16>, tensor<i32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  // CHECK: weft.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale = 1.000000e+00 : {{.*}} -> (tensor<2x8x4x16xf64>, tensor<2x8x4xf64>)
  %r2, %l2 = weft.attention %w, %w, %w causal scale = 1.0 : (tensor<2x8x4x16xf64>, tensor<2x8x4x16xf64>, tensor<2x8x4x16xf64>) -> (tensor<2x8x4x16xf64>, tensor<2x8x4xf64>)
  // CHECK: weft.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} causal diagonal %{{.*}} scale = 2.500000e-01 : {{.*}} -> (tensor<2x8x4x16xbf16>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xbf16>)
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %r0, %l0, %g causal diagonal %d scale = 0.25 : (tensor<2x8x4x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4xf32>, tensor<2x8x4x16xbf16>, tensor<i32>) -> (tensor<2x8x4x16xbf16>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xbf16>)
  // CHECK: weft.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} logsumexp %{{.*}} scale = 2.500000e-01 : {{.*}}, tensor<2x8x4xf32>) ->
  %dp, %dl, %dw = weft.attention_grad %q, %k, %v, %r0, %l0, %g logsumexp %e scale = 0.25 : (tensor<2x8x4x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4xf32>, tensor<2x8x4x16xbf16>, tensor<2x8x4xf32>) -> (tensor<2x8x4x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x12x2x16xbf16>)
  return
}

// CHECK-LABEL: @f16
func.func @f16(%q: tensor<2x8x4x16xf16>) -> (tensor<2x8x4x16xf16>, tensor<2x8x4xf32>) {
  // CHECK: weft.attention {{.*}} -> (tensor<2x8x4x16xf16>, tensor<2x8x4xf32>)
  %r, %l = weft.attention %q, %q, %q scale = 0.25 : (tensor<2x8x4x16xf16>, tensor<2x8x4x16xf16>, tensor<2x8x4x16xf16>) -> (tensor<2x8x4x16xf16>, tensor<2x8x4xf32>)
  return %r, %l : tensor<2x8x4x16xf16>, tensor<2x8x4xf32>
}
