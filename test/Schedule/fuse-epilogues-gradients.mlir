// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-graph-pipeline --weft-lower-gemms --weft-join-equal-ops --weft-fuse-epilogues | %strip_origins | FileCheck %s

// A perceptron and its gradients: the sums are kept, and the gradients of both
// biases are made by products.

// CHECK-LABEL: func.func @perceptron(
// CHECK-SAME: %[[W:[^:]*]]: tensor<16x8xbf16>, %[[B:[^:]*]]: tensor<8xbf16>, %[[V:[^:]*]]: tensor<8x8xbf16>, %[[C:[^:]*]]: tensor<8xbf16>, %[[X:[^:]*]]: tensor<2x4x16xbf16>)
// CHECK: %[[Y:.*]], %[[SUMS:.*]] = weft.gemm %[[X]], %[[W]] {{.*}} then bias_gelu_aux(%[[B]])
// CHECK: weft.gemm %[[Y]], %[[V]] {{.*}} -> [64, 8, 1] :
// CHECK: %[[G:.*]], %[[DB:.*]] = weft.gemm %[[GO:.*]], %[[V]] {{.*}} then gelu_grad_bias_grad(%[[SUMS]])
// CHECK: %[[DV:.*]], %[[DC:.*]] = weft.gemm %[[Y]], %[[GO]] {{.*}} then rhs_bias_grad
// CHECK: %[[DW:.*]] = weft.gemm %[[X]], %[[G]] {{.*}} -> [128, 8, 1] :
// CHECK-NOT: math.tanh
// CHECK: return %{{.*}}, %[[DW]], %[[DB]], %[[DV]], %[[DC]]
func.func @perceptron(%w: tensor<16x8xbf16>, %b: tensor<8xbf16>, %v: tensor<8x8xbf16>, %c: tensor<8xbf16>, %x: tensor<2x4x16xbf16>)
    -> (tensor<bf16>, tensor<16x8xbf16>, tensor<8xbf16>, tensor<8x8xbf16>, tensor<8xbf16>) {
  %r:5 = weft.value_and_grad @loss(%w, %b, %v, %c, %x) wrt = [0, 1, 2, 3]
      : (tensor<16x8xbf16>, tensor<8xbf16>, tensor<8x8xbf16>, tensor<8xbf16>, tensor<2x4x16xbf16>)
      -> (tensor<bf16>, tensor<16x8xbf16>, tensor<8xbf16>, tensor<8x8xbf16>, tensor<8xbf16>)
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<bf16>, tensor<16x8xbf16>, tensor<8xbf16>, tensor<8x8xbf16>, tensor<8xbf16>
}
func.func private @loss(%w: tensor<16x8xbf16>, %b: tensor<8xbf16>, %v: tensor<8x8xbf16>, %c: tensor<8xbf16>, %x: tensor<2x4x16xbf16>) -> tensor<bf16> {
  %p = weft.dot_general %x, %w contracting = [2] x [0] : (tensor<2x4x16xbf16>, tensor<16x8xbf16>) -> tensor<2x4x8xbf16>
  %bs = weft.broadcast %b dims = [2] : tensor<8xbf16> -> tensor<2x4x8xbf16>
  %s = arith.addf %p, %bs : tensor<2x4x8xbf16>
  %y = weft.gelu approximate %s : tensor<2x4x8xbf16>
  %q = weft.dot_general %y, %v contracting = [2] x [0] : (tensor<2x4x8xbf16>, tensor<8x8xbf16>) -> tensor<2x4x8xbf16>
  %cs = weft.broadcast %c dims = [2] : tensor<8xbf16> -> tensor<2x4x8xbf16>
  %t = arith.addf %q, %cs : tensor<2x4x8xbf16>
  %e = math.tanh %t : tensor<2x4x8xbf16>
  %l = weft.reduce sum %e dims = [0, 1, 2] : tensor<2x4x8xbf16> -> tensor<bf16>
  return %l : tensor<bf16>
}

// -----

// The same with JAX's derivative of GELU, whose parts both passes use; and
// without a bias, for which nothing is summed up.

// CHECK-LABEL: func.func @jax(
// CHECK: %[[Y:.*]], %[[SUMS:.*]] = weft.gemm {{.*}} then gelu_aux
// CHECK-NEXT: %[[DX:.*]] = weft.gemm {{.*}} then gelu_grad(%[[SUMS]])
// CHECK-NEXT: return %[[Y]], %[[DX]]
func.func @jax(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %g: tensor<4x2xf32>, %v: tensor<8x2xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %half = arith.constant dense<0.5> : tensor<4x8xf32>
  %one = arith.constant dense<1.0> : tensor<4x8xf32>
  %three = arith.constant dense<3.0> : tensor<4x8xf32>
  %weight = arith.constant dense<0.044715> : tensor<4x8xf32>
  %root = arith.constant dense<0.7978845608> : tensor<4x8xf32>
  %square = arith.mulf %s, %s : tensor<4x8xf32>
  %cube = arith.mulf %square, %s : tensor<4x8xf32>
  %weighted = arith.mulf %weight, %cube : tensor<4x8xf32>
  %sum = arith.addf %s, %weighted : tensor<4x8xf32>
  %scaled = arith.mulf %root, %sum : tensor<4x8xf32>
  %t = math.tanh %scaled : tensor<4x8xf32>
  %rest = arith.subf %one, %t : tensor<4x8xf32>
  %more = arith.addf %one, %t : tensor<4x8xf32>
  %cdf = arith.mulf %half, %more : tensor<4x8xf32>
  %y = arith.mulf %s, %cdf : tensor<4x8xf32>

  %dy = weft.dot_general %g, %v contracting = [1] x [1] : (tensor<4x2xf32>, tensor<8x2xf32>) -> tensor<4x8xf32>
  %dx0 = arith.mulf %dy, %cdf : tensor<4x8xf32>
  %dcdf = arith.mulf %s, %dy : tensor<4x8xf32>
  %dmore = arith.mulf %half, %dcdf : tensor<4x8xf32>
  %scaled_by_t = arith.mulf %dmore, %t : tensor<4x8xf32>
  %both = arith.addf %dmore, %scaled_by_t : tensor<4x8xf32>
  %dt = arith.mulf %both, %rest : tensor<4x8xf32>
  %dsum = arith.mulf %root, %dt : tensor<4x8xf32>
  %dcube = arith.mulf %weight, %dsum : tensor<4x8xf32>
  %slope = arith.mulf %three, %square : tensor<4x8xf32>
  %dx1 = arith.mulf %dcube, %slope : tensor<4x8xf32>
  %dx2 = arith.addf %dx0, %dsum : tensor<4x8xf32>
  %dx = arith.addf %dx2, %dx1 : tensor<4x8xf32>
  return %y, %dx : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// The cotangent of what two GEMMs read is the sum of two GEMMs: a kernel
// adds them up and reads the sums.

// CHECK-LABEL: func.func @two_readers(
// CHECK: weft.gemm {{.*}} then gelu_aux
// CHECK-COUNT-2: weft.gemm {{.*}} -> [32, 8, 1] :
// CHECK: math.tanh
func.func @two_readers(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %u: tensor<8x8xf32>, %v: tensor<8x8xf32>)
    -> (tensor<f32>, tensor<4x16xf32>) {
  %r:2 = weft.value_and_grad @loss(%x, %w, %u, %v) wrt = [0]
      : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<f32>, tensor<4x16xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4x16xf32>
}
func.func private @loss(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %u: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<f32> {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %y = weft.gelu approximate %s : tensor<4x8xf32>
  %p = weft.dot_general %y, %u contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %q = weft.dot_general %y, %v contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %pq = arith.mulf %p, %q : tensor<4x8xf32>
  %l = weft.reduce sum %pq dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A cotangent that something else needs is not multiplied by the GEMM.

// CHECK-LABEL: func.func @cotangent_escapes(
// CHECK-NOT: gelu
// CHECK: return
func.func @cotangent_escapes(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>)
    -> (tensor<f32>, tensor<4x8xf32>) {
  %r:2 = weft.value_and_grad @residual(%x, %w, %v) wrt = [0]
      : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<f32>, tensor<4x8xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4x8xf32>
}
func.func private @residual(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<f32> {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y = weft.gelu approximate %s : tensor<4x8xf32>
  %b = arith.addf %y, %x : tensor<4x8xf32>
  %q = weft.dot_general %b, %v contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %l = weft.reduce sum %q dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Behind a layer with one output the gradient is a GEMM of a column and a
// row, for which cuBLASLt is said to have no such epilogue.

// CHECK-LABEL: func.func @one_output(
// CHECK: weft.gemm {{.*}} then gelu_aux
// CHECK-NOT: then gelu_grad
// CHECK: math.tanh
// CHECK-NOT: then gelu_grad
// CHECK: return
func.func @one_output(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %v: tensor<8x1xf32>)
    -> (tensor<f32>, tensor<16x8xf32>) {
  %r:2 = weft.value_and_grad @loss(%x, %w, %v) wrt = [1]
      : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<8x1xf32>) -> (tensor<f32>, tensor<16x8xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<16x8xf32>
}
func.func private @loss(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %v: tensor<8x1xf32>) -> tensor<f32> {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %y = weft.gelu approximate %s : tensor<4x8xf32>
  %q = weft.dot_general %y, %v contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x1xf32>) -> tensor<4x1xf32>
  %e = math.tanh %q : tensor<4x1xf32>
  %l = weft.reduce sum %e dims = [0, 1] : tensor<4x1xf32> -> tensor<f32>
  return %l : tensor<f32>
}
