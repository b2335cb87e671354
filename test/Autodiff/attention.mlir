// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-autodiff | %strip_origins | FileCheck %s

// The derivative keeps the operands, out and logsumexp; no matrix of scores.
// CHECK-LABEL: func.func @train
// CHECK-SAME:      %[[Q:.*]]: tensor<2x8x4x16xbf16>, %[[K:.*]]: tensor<2x8x2x16xbf16>
// CHECK:         %[[OUT:.*]], %[[LSE:.*]] = weft.attention %[[Q]], %[[K]], %[[K]] causal scale = 2.500000e-01
// CHECK:         %[[G:.*]] = arith.truncf %{{.*}} : tensor<2x8x4x16xf32> to tensor<2x8x4x16xbf16>
// CHECK-NEXT:    %{{.*}}, %{{.*}}, %{{.*}} = weft.attention_grad %[[Q]], %[[K]], %[[K]], %[[OUT]], %[[LSE]], %[[G]] causal scale = 2.500000e-01
func.func @train(%q: tensor<2x8x4x16xbf16>, %k: tensor<2x8x2x16xbf16>, %w: tensor<2x8x4x16xf32>) -> (tensor<f32>, tensor<2x8x4x16xbf16>, tensor<2x8x2x16xbf16>) {
  %l, %dq, %dk = weft.value_and_grad @loss(%q, %k, %w) wrt = [0, 1]
      : (tensor<2x8x4x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x4x16xf32>) -> (tensor<f32>, tensor<2x8x4x16xbf16>, tensor<2x8x2x16xbf16>)
  return %l, %dq, %dk : tensor<f32>, tensor<2x8x4x16xbf16>, tensor<2x8x2x16xbf16>
}
func.func private @loss(%q: tensor<2x8x4x16xbf16>, %k: tensor<2x8x2x16xbf16>, %w: tensor<2x8x4x16xf32>) -> tensor<f32> {
  %r, %s = weft.attention %q, %k, %k causal scale = 0.25
      : (tensor<2x8x4x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4xf32>)
  %wide = arith.extf %r : tensor<2x8x4x16xbf16> to tensor<2x8x4x16xf32>
  %weighted = arith.mulf %wide, %w : tensor<2x8x4x16xf32>
  %l = weft.reduce sum %weighted dims = [0, 1, 2, 3] : tensor<2x8x4x16xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// CHECK-LABEL: func.func @of_logsumexp
// CHECK-SAME:      %[[Q:.*]]: tensor<2x8x4x16xf32>, %[[W:.*]]: tensor<2x8x4xf32>
// CHECK:         %[[OUT:.*]], %[[LSE:.*]] = weft.attention
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<2x8x4x16xf32>
// CHECK:         weft.attention_grad %[[Q]], %[[Q]], %[[Q]], %[[OUT]], %[[LSE]], %[[ZERO]] logsumexp %[[W]] scale = 1.000000e+00
func.func @of_logsumexp(%q: tensor<2x8x4x16xf32>, %w: tensor<2x8x4xf32>) -> (tensor<f32>, tensor<2x8x4x16xf32>) {
  %l, %dq = weft.value_and_grad @loss2(%q, %w) wrt = [0] : (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>) -> (tensor<f32>, tensor<2x8x4x16xf32>)
  return %l, %dq : tensor<f32>, tensor<2x8x4x16xf32>
}
func.func private @loss2(%q: tensor<2x8x4x16xf32>, %w: tensor<2x8x4xf32>) -> tensor<f32> {
  %r, %s = weft.attention %q, %q, %q scale = 1.0
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  %weighted = arith.mulf %s, %w : tensor<2x8x4xf32>
  %l = weft.reduce sum %weighted dims = [0, 1, 2] : tensor<2x8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// A result of the type of the sums is rounded for the derivative.
// CHECK-LABEL: func.func @of_sums
// CHECK:         %[[OUT:.*]], %{{.*}} = weft.attention {{.*}} -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
// CHECK:         %[[O:.*]] = arith.truncf %[[OUT]] : tensor<2x8x4x16xf32> to tensor<2x8x4x16xbf16>
// CHECK:         %[[G:.*]] = arith.truncf %{{.*}} : tensor<2x8x4x16xf32> to tensor<2x8x4x16xbf16>
// CHECK:         weft.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[O]], %{{.*}}, %[[G]] scale
func.func @of_sums(%q: tensor<2x8x4x16xbf16>) -> (tensor<f32>, tensor<2x8x4x16xbf16>) {
  %l, %dq = weft.value_and_grad @loss3(%q) wrt = [0] : (tensor<2x8x4x16xbf16>) -> (tensor<f32>, tensor<2x8x4x16xbf16>)
  return %l, %dq : tensor<f32>, tensor<2x8x4x16xbf16>
}
func.func private @loss3(%q: tensor<2x8x4x16xbf16>) -> tensor<f32> {
  %r, %s = weft.attention %q, %q, %q scale = 1.0
      : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  %l = weft.reduce sum %r dims = [0, 1, 2, 3] : tensor<2x8x4x16xf32> -> tensor<f32>
  return %l : tensor<f32>
}
