// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// CHECK-LABEL: func.func @broadcasts
func.func @broadcasts(%x: tensor<4x1xf32>, %y: tensor<4x8xf32>, %z: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8x2x4xf32>, tensor<4x8xf32>) {
  // CHECK: weft.broadcast %arg0 dims = [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x1xf32>) -> tensor<4x8xf32>
  // Dimensions out of order are transposed before.
  // CHECK: %[[T:.*]] = weft.transpose %arg1 dims = [1, 0]
  // CHECK: weft.broadcast %[[T]] dims = [0, 2] : tensor<8x4xf32> -> tensor<8x2x4xf32>
  %1 = "stablehlo.broadcast_in_dim"(%y) <{broadcast_dimensions = array<i64: 2, 0>}> : (tensor<4x8xf32>) -> tensor<8x2x4xf32>
  // Of two in a row one is left.
  // CHECK: weft.broadcast %arg2 dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %2 = "stablehlo.broadcast_in_dim"(%z) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>) -> tensor<1x8xf32>
  %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x8xf32>) -> tensor<4x8xf32>
  // CHECK-NOT: weft.broadcast
  return %0, %1, %3 : tensor<4x8xf32>, tensor<8x2x4xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<8x4xf32>, tensor<2x3xf32>, tensor<8x8xf32>, tensor<4x8xi32>, tensor<4x8xf32>) {
  // CHECK: weft.reshape %arg0 : tensor<4x8xf32> -> tensor<32xf32>
  %0 = "stablehlo.reshape"(%x) : (tensor<4x8xf32>) -> tensor<32xf32>
  // CHECK: weft.transpose %arg0 dims = [1, 0]
  %1 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: weft.slice %arg0 starts = [1, 2] limits = [3, 8] strides = [1, 2]
  %2 = "stablehlo.slice"(%x) <{start_indices = array<i64: 1, 2>, limit_indices = array<i64: 3, 8>, strides = array<i64: 1, 2>}> : (tensor<4x8xf32>) -> tensor<2x3xf32>
  // CHECK: weft.concat %arg0, %arg0 dim = 0
  %3 = "stablehlo.concatenate"(%x, %x) <{dimension = 0 : i64}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  // CHECK: weft.iota dim = 1 : tensor<4x8xi32>
  %4 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x8xi32>
  // CHECK: weft.rearrange %arg0 dim = 1 map <[8] to [8], 7 to 0 for 8 by -1>
  %5 = "stablehlo.reverse"(%x) <{dimensions = array<i64: 1>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<32xf32>, tensor<8x4xf32>, tensor<2x3xf32>, tensor<8x8xf32>, tensor<4x8xi32>, tensor<4x8xf32>
}

// Negative padding removes elements.

// CHECK-LABEL: func.func @pads
func.func @pads(%x: tensor<4xf32>, %v: tensor<f32>) -> (tensor<7xf32>, tensor<3xf32>, tensor<6xf32>, tensor<5xf32>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // CHECK: weft.pad %arg0 low = [1] high = [2] interior = [0] value = 0.000000e+00 : f32 : tensor<4xf32> -> tensor<7xf32>
  %0 = "stablehlo.pad"(%x, %zero) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 2>, interior_padding = array<i64: 0>}> : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  // CHECK: %[[CUT:.*]] = weft.slice %arg0 starts = [2] limits = [4] strides = [1]
  // CHECK: weft.pad %[[CUT]] low = [0] high = [1] interior = [0]
  %1 = "stablehlo.pad"(%x, %zero) <{edge_padding_low = array<i64: -2>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 0>}> : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  // With padding between elements, that may be what is removed.
  // CHECK: %[[WIDE:.*]] = weft.pad %arg0 low = [0] high = [0] interior = [1] {{.*}} -> tensor<7xf32>
  // CHECK: weft.slice %[[WIDE]] starts = [1] limits = [7] strides = [1]
  %2 = "stablehlo.pad"(%x, %zero) <{edge_padding_low = array<i64: -1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 1>}> : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  // A value that is not known is selected.
  // CHECK: %[[PADDED:.*]] = weft.pad %arg0 low = [1] high = [0]
  // CHECK: %[[IS:.*]] = weft.pad %{{.*}} low = [1] high = [0] interior = [0] value = false
  // CHECK: %[[V:.*]] = weft.broadcast %arg1
  // CHECK: arith.select %[[IS]], %[[PADDED]], %[[V]]
  %3 = "stablehlo.pad"(%x, %v) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  return %0, %1, %2, %3 : tensor<7xf32>, tensor<3xf32>, tensor<6xf32>, tensor<5xf32>
}

// Sums of f16 are formed in f32, too.
// CHECK-LABEL: func.func @dot_of_f16
func.func @dot_of_f16(%a: tensor<8x16xf16>, %b: tensor<16x32xf16>) -> tensor<8x32xf16> {
  // CHECK: weft.dot_general {{.*}} {accumulation_type = f32} : {{.*}} -> tensor<8x32xf16>
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<8x16xf16>, tensor<16x32xf16>) -> tensor<8x32xf16>
  return %0 : tensor<8x32xf16>
}

// CHECK-LABEL: func.func @dots
func.func @dots(%a: tensor<4x8x16xbf16>, %b: tensor<4x16x32xbf16>, %c: tensor<4x16x32xf32>) -> (tensor<4x8x32xbf16>, tensor<4x8x32xf32>, tensor<4x8x32xf32>) {
  // Sums of bf16 are formed in f32.
  // CHECK: weft.dot_general %arg0, %arg1 batching = [0] x [0] contracting = [2] x [1] {accumulation_type = f32} : {{.*}} -> tensor<4x8x32xbf16>
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x8x16xbf16>, tensor<4x16x32xbf16>) -> tensor<4x8x32xbf16>
  // CHECK: weft.dot_general %arg0, %arg1 batching = [0] x [0] contracting = [2] x [1] : {{.*}} -> tensor<4x8x32xf32>
  %1 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<4x8x16xbf16>, tensor<4x16x32xbf16>) -> tensor<4x8x32xf32>
  // CHECK: %[[A:.*]] = arith.extf %arg0
  // CHECK: weft.dot_general %[[A]], %arg2
  %2 = "stablehlo.dot_general"(%a, %c) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<4x8x16xbf16>, tensor<4x16x32xf32>) -> tensor<4x8x32xf32>
  return %0, %1, %2 : tensor<4x8x32xbf16>, tensor<4x8x32xf32>, tensor<4x8x32xf32>
}
