// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-lower-gemms | FileCheck %s

// The documented example: a transposed operand is a choice of strides.
// CHECK-LABEL: @transposed_operand
// CHECK-SAME: %[[X:.*]]: tensor<4x16xf32>, %[[W:.*]]: tensor<8x16xf32>
func.func @transposed_operand(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  // CHECK-NOT: weft.transpose
  // CHECK: weft.gemm %[[X]], %[[W]] batch = 1 m = 4 n = 8 k = 16 strides = [64, 16, 1] x [128, 1, 16] -> [32, 8, 1]
  %t = weft.transpose %w dims = [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  %r = weft.dot_general %x, %t contracting = [1] x [0]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Views that are left without a use are erased once.
// CHECK-LABEL: @operands_are_one_view
// CHECK-SAME: %[[X:.*]]: tensor<16x4xf32>
func.func @operands_are_one_view(%x: tensor<16x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %[[R:.*]] = weft.gemm %[[X]], %[[X]]
  // CHECK-NEXT: return %[[R]]
  %t = weft.transpose %x dims = [1, 0] : tensor<16x4xf32> -> tensor<4x16xf32>
  %r = weft.dot_general %t, %t contracting = [1] x [1]
      : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: @operand_is_a_view_of_the_other
// CHECK-SAME: %[[X:.*]]: tensor<16x4xf32>
func.func @operand_is_a_view_of_the_other(%x: tensor<16x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %[[R:.*]] = weft.gemm %[[X]], %[[X]]
  // CHECK-NEXT: return %[[R]]
  %t = weft.transpose %x dims = [1, 0] : tensor<16x4xf32> -> tensor<4x16xf32>
  %u = weft.transpose %t dims = [1, 0] : tensor<4x16xf32> -> tensor<16x4xf32>
  %r = weft.dot_general %u, %t contracting = [0] x [1]
      : (tensor<16x4xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: @transposed_result
// CHECK-SAME: %[[X:.*]]: tensor<4x16xf32>, %[[W:.*]]: tensor<16x8xf32>
func.func @transposed_result(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<8x4xf32> {
  // CHECK: %[[R:.*]] = weft.gemm %[[X]], %[[W]] batch = 1 m = 4 n = 8 k = 16 strides = [64, 16, 1] x [128, 8, 1] -> [32, 1, 4] : {{.*}} -> tensor<8x4xf32>
  // CHECK-NEXT: return %[[R]]
  %r = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %t = weft.transpose %r dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return %t : tensor<8x4xf32>
}

// A result with another use is written as it is.
// CHECK-LABEL: @result_used_twice
func.func @result_used_twice(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  // CHECK: weft.gemm {{.*}} -> [32, 8, 1]
  // CHECK: weft.transpose
  %r = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %t = weft.transpose %r dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return %r, %t : tensor<4x8xf32>, tensor<8x4xf32>
}

// A dense layer over [batch, sequence]: two free dimensions are one loop.
// CHECK-LABEL: @two_free_dims
func.func @two_free_dims(%x: tensor<2x3x16xf32>, %w: tensor<16x8xf32>) -> tensor<2x3x8xf32> {
  // CHECK: weft.gemm {{.*}} batch = 1 m = 6 n = 8 k = 16 strides = [96, 16, 1] x [128, 8, 1] -> [48, 8, 1]
  %r = weft.dot_general %x, %w contracting = [2] x [0]
      : (tensor<2x3x16xf32>, tensor<16x8xf32>) -> tensor<2x3x8xf32>
  return %r : tensor<2x3x8xf32>
}

// The gradient of its weight: two contracted dimensions are one loop.
// CHECK-LABEL: @two_contracted_dims
func.func @two_contracted_dims(%x: tensor<2x3x16xf32>, %dy: tensor<2x3x8xf32>) -> tensor<16x8xf32> {
  // CHECK: weft.gemm {{.*}} batch = 1 m = 16 n = 8 k = 6 strides = [96, 1, 16] x [48, 8, 1] -> [128, 8, 1]
  %r = weft.dot_general %x, %dy contracting = [0, 1] x [0, 1]
      : (tensor<2x3x16xf32>, tensor<2x3x8xf32>) -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// Heads split off the rows by a reshape and brought to the front by a
// transpose do not collapse to one batch stride: the operands are transposed in
// memory, the result is not.
// CHECK-LABEL: @attention_scores
// CHECK-SAME: %[[Q:.*]]: tensor<2x8x64xf32>, %[[K:.*]]: tensor<2x8x64xf32>
func.func @attention_scores(%q: tensor<2x8x64xf32>, %k: tensor<2x8x64xf32>) -> tensor<2x4x8x8xf32> {
  // CHECK: %[[QH:.*]] = weft.reshape %[[Q]] : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  // CHECK: %[[KH:.*]] = weft.reshape %[[K]] : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  // CHECK: %[[QT:.*]] = weft.transpose %[[QH]] dims = [0, 2, 1, 3]
  // CHECK: %[[KT:.*]] = weft.transpose %[[KH]] dims = [0, 2, 3, 1]
  // CHECK: weft.gemm %[[QT]], %[[KT]] batch = 8 m = 8 n = 8 k = 16 strides = [128, 16, 1] x [128, 8, 1] -> [64, 8, 1]
  %qh = weft.reshape %q : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %kh = weft.reshape %k : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %r = weft.dot_general %qh, %kh batching = [0, 2] x [0, 2] contracting = [3] x [3]
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x4x8x8xf32>
  return %r : tensor<2x4x8x8xf32>
}

// CHECK-LABEL: @bf16_to_f32
func.func @bf16_to_f32(%x: tensor<4x16xbf16>, %w: tensor<16x8xbf16>) -> tensor<4x8xf32> {
  // CHECK: weft.gemm {{.*}} : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xf32>
  %r = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: @f16
func.func @f16(%x: tensor<4x16xf16>, %w: tensor<16x8xf16>) -> (tensor<4x8xf16>, tensor<4x8xf32>) {
  // CHECK: weft.gemm {{.*}} : (tensor<4x16xf16>, tensor<16x8xf16>) -> tensor<4x8xf16>
  // CHECK: weft.gemm {{.*}} : (tensor<4x16xf16>, tensor<16x8xf16>) -> tensor<4x8xf32>
  %r = weft.dot_general %x, %w contracting = [1] x [0] {accumulation_type = f32}
      : (tensor<4x16xf16>, tensor<16x8xf16>) -> tensor<4x8xf16>
  %s = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<4x16xf16>, tensor<16x8xf16>) -> tensor<4x8xf32>
  return %r, %s : tensor<4x8xf16>, tensor<4x8xf32>
}

// Nothing to do.
// CHECK-LABEL: @no_product
func.func @no_product(%x: tensor<4x16xf32>) -> tensor<16x4xf32> {
  // CHECK-NEXT: weft.transpose
  // CHECK-NEXT: return
  %r = weft.transpose %x dims = [1, 0] : tensor<4x16xf32> -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// Both operands are one view, or one is a view of the other: what is left
// without use is erased once.
// CHECK-LABEL: func.func @squared
// CHECK-NOT:     weft.reshape
// CHECK:         return
func.func @squared(%x: tensor<4x2x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %v = weft.reshape %x : tensor<4x2x8xf32> -> tensor<8x8xf32>
  %y = weft.dot_general %v, %v contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = weft.reshape %x : tensor<4x2x8xf32> -> tensor<8x8xf32>
  %t = weft.transpose %r dims = [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %z = weft.dot_general %t, %r contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y, %z : tensor<8x8xf32>, tensor<8x8xf32>
}
