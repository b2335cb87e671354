// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the derivatives of composites keep of the forward pass. That they are
// right is tested by numbers, in test/EndToEnd/test_derivatives.py.
// RUN: shard-opt %s --weft-graph-pipeline --split-input-file | %strip_origins | FileCheck %s

// The result of softmax, and nothing else.

// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<4x8xf32>)
// CHECK: math.exp
// CHECK: %[[R:.*]] = arith.divf %{{.*}} : tensor<4x8xf32>
// CHECK: %[[ALONG:.*]] = arith.mulf %[[R]], %[[W]]
// CHECK: %[[LOSS:.*]] = weft.reduce sum %{{.*}} dims = [0, 1]
// CHECK-NOT: math.exp
// CHECK: %[[SUM:.*]] = weft.reduce sum %[[ALONG]] dims = [1]
// CHECK: %[[SPREAD:.*]] = weft.broadcast %[[SUM]]
// CHECK: %[[REST:.*]] = arith.subf %[[W]], %[[SPREAD]]
// CHECK: %[[DX:.*]] = arith.mulf %[[R]], %[[REST]]
// CHECK: return %[[LOSS]], %[[DX]]
func.func @softmax(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> (tensor<f32>, tensor<4x8xf32>) {
  %r:2 = weft.value_and_grad @loss(%x, %w) wrt = [0]
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<f32>, tensor<4x8xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4x8xf32>
}
func.func private @loss(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> tensor<f32> {
  %y = weft.softmax %x dims = [1] : tensor<4x8xf32>
  %p = arith.mulf %y, %w : tensor<4x8xf32>
  %l = weft.reduce sum %p dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The operand of gelu: its tanh is computed twice.

// CHECK-LABEL: func.func @gelu(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<4x8xf32>)
// CHECK: math.tanh
// CHECK: weft.reduce sum
// CHECK: %[[AGAIN:.*]] = weft.barrier %[[X]] after %[[W]]
// CHECK: arith.mulf %[[AGAIN]], %[[AGAIN]]
// CHECK-NOT: %[[X]]
// CHECK: math.tanh
// CHECK-NOT: %[[X]]
// CHECK: return
func.func @gelu(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> (tensor<f32>, tensor<4x8xf32>) {
  %r:2 = weft.value_and_grad @loss(%x, %w) wrt = [0]
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<f32>, tensor<4x8xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4x8xf32>
}
func.func private @loss(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> tensor<f32> {
  %y = weft.gelu approximate %x : tensor<4x8xf32>
  %p = arith.mulf %y, %w : tensor<4x8xf32>
  %l = weft.reduce sum %p dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The operand of layer_norm; mean and factor of a row are those of the forward
// pass, distances from the mean are computed twice.

// CHECK-LABEL: func.func @layer_norm(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<4x8xf32>)
// CHECK: %[[MEAN:.*]] = arith.divf %{{.*}} : tensor<4xf32>
// CHECK: %[[MEANS:.*]] = weft.broadcast %[[MEAN]]
// CHECK: arith.subf %[[X]], %[[MEANS]]
// CHECK: %[[FACTOR:.*]] = math.rsqrt
// CHECK: %[[FACTORS:.*]] = weft.broadcast %[[FACTOR]]
// CHECK: weft.reduce sum %{{.*}} dims = [0, 1]
// CHECK-NOT: math.rsqrt
// CHECK-NOT: %[[X]]
// CHECK: %[[AGAIN:.*]] = weft.barrier %[[X]] after %[[W]]
// CHECK: %[[DISTANCE:.*]] = arith.subf %[[AGAIN]], %[[MEANS]]
// CHECK: arith.mulf %[[DISTANCE]], %[[FACTORS]]
// CHECK-NOT: %[[X]]
// CHECK-NOT: math.rsqrt
// CHECK: return
func.func @layer_norm(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> (tensor<f32>, tensor<4x8xf32>) {
  %r:2 = weft.value_and_grad @loss(%x, %w) wrt = [0]
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<f32>, tensor<4x8xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4x8xf32>
}
func.func private @loss(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> tensor<f32> {
  %y = weft.layer_norm %x dims = [1] epsilon = 1.0e-5 : tensor<4x8xf32>
  %p = arith.mulf %y, %w : tensor<4x8xf32>
  %l = weft.reduce sum %p dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The logits, and a logarithm of a sum a label, which is computed once.

// CHECK-LABEL: func.func @cross_entropy(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<4xf32>, %[[L:.*]]: tensor<4xi32>)
// CHECK: %[[LOG:.*]] = math.log
// CHECK: %[[TOTAL:.*]] = arith.addf %[[LOG]]
// CHECK: arith.select %{{.*}}, %[[TOTAL]]
// CHECK: weft.reduce sum %{{.*}} dims = [0]
// CHECK-NOT: math.log
// CHECK-NOT: weft.reduce
// CHECK: %[[TOTALS:.*]] = weft.broadcast %[[TOTAL]]
// CHECK: %[[UNDER:.*]] = arith.subf %[[X]], %[[TOTALS]]
// CHECK: math.exp %[[UNDER]]
// CHECK-NOT: math.log
// CHECK-NOT: weft.reduce
// CHECK: return
func.func @cross_entropy(%x: tensor<4x8xf32>, %w: tensor<4xf32>, %labels: tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>) {
  %r:2 = weft.value_and_grad @loss(%x, %w, %labels) wrt = [0]
      : (tensor<4x8xf32>, tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4x8xf32>
}
func.func private @loss(%x: tensor<4x8xf32>, %w: tensor<4xf32>, %labels: tensor<4xi32>) -> tensor<f32> {
  %y = weft.cross_entropy %x, %labels dim = 1 : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
  %p = arith.mulf %y, %w : tensor<4xf32>
  %l = weft.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
