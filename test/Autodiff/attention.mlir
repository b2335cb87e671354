// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-autodiff --canonicalize | FileCheck %s

// The derivative keeps the operands, out and logsumexp; no matrix of scores.
// CHECK-LABEL: func.func @train
// CHECK-SAME:      %[[Q:.*]]: tensor<2x8x4x16xbf16>, %[[K:.*]]: tensor<2x8x2x16xbf16>
// CHECK:         %[[OUT:.*]], %[[LSE:.*]] = weft.attention %[[Q]], %[[K]], %[[K]] causal scale = 2.500000e-01
// CHECK-DAG:     %[[O:.*]] = arith.extf %[[OUT]] : tensor<2x8x4x16xbf16> to tensor<2x8x4x16xf32>
// CHECK-DAG:     %[[G:.*]] = arith.extf %[[GB:.*]] : tensor<2x8x4x16xbf16> to tensor<2x8x4x16xf32>
// CHECK:         %[[P:.*]] = arith.mulf %[[O]], %[[G]]
// CHECK:         %[[DELTA:.*]] = weft.reduce sum %[[P]] dims = [3] : tensor<2x8x4x16xf32> -> tensor<2x8x4xf32>
// CHECK:         %{{.*}}, %{{.*}}, %{{.*}} = weft.attention_grad %[[Q]], %[[K]], %[[K]], %[[LSE]], %[[DELTA]], %[[GB]] causal scale = 2.500000e-01
func.func @train(%q: tensor<2x8x4x16xbf16>, %k: tensor<2x8x2x16xbf16>) -> (tensor<f32>, tensor<2x8x4x16xbf16>, tensor<2x8x2x16xbf16>) {
  %l, %dq, %dk = weft.value_and_grad @loss(%q, %k) wrt = [0, 1]
      : (tensor<2x8x4x16xbf16>, tensor<2x8x2x16xbf16>) -> (tensor<f32>, tensor<2x8x4x16xbf16>, tensor<2x8x2x16xbf16>)
  return %l, %dq, %dk : tensor<f32>, tensor<2x8x4x16xbf16>, tensor<2x8x2x16xbf16>
}
func.func private @loss(%q: tensor<2x8x4x16xbf16>, %k: tensor<2x8x2x16xbf16>) -> tensor<f32> {
  %r, %s = weft.attention %q, %k, %k causal scale = 0.25
      : (tensor<2x8x4x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4xf32>)
  %w = arith.extf %r : tensor<2x8x4x16xbf16> to tensor<2x8x4x16xf32>
  %l = weft.reduce sum %w dims = [0, 1, 2, 3] : tensor<2x8x4x16xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// The cotangent of logsumexp goes into delta.
// CHECK-LABEL: func.func @of_logsumexp
// CHECK:         %[[DELTA:.*]] = arith.constant dense<-1.000000e+00> : tensor<2x8x4xf32>
// CHECK:         weft.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[DELTA]], %{{.*}} scale = 1.000000e+00
func.func @of_logsumexp(%q: tensor<2x8x4x16xf32>) -> (tensor<f32>, tensor<2x8x4x16xf32>) {
  %l, %dq = weft.value_and_grad @loss2(%q) wrt = [0] : (tensor<2x8x4x16xf32>) -> (tensor<f32>, tensor<2x8x4x16xf32>)
  return %l, %dq : tensor<f32>, tensor<2x8x4x16xf32>
}
func.func private @loss2(%q: tensor<2x8x4x16xf32>) -> tensor<f32> {
  %r, %s = weft.attention %q, %q, %q scale = 1.0
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  %l = weft.reduce sum %s dims = [0, 1, 2] : tensor<2x8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
