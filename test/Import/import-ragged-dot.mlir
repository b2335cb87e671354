// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// The three forms that jax.lax.ragged_dot and its derivatives have.

// CHECK-LABEL: func.func @rows
// CHECK:         %[[X:.*]] = weft.reshape %arg0 : tensor<24x8xf32> -> tensor<1x24x8xf32>
// CHECK:         %[[S:.*]] = weft.reshape %arg2 : tensor<4xi32> -> tensor<1x4xi32>
// CHECK:         %[[R:.*]] = weft.grouped_dot %[[X]], %arg1 groups %[[S]] : (tensor<1x24x8xf32>, tensor<4x8x6xf32>, tensor<1x4xi32>) -> tensor<1x24x6xf32>
// CHECK:         weft.reshape %[[R]] : tensor<1x24x6xf32> -> tensor<24x6xf32>
func.func @rows(%x: tensor<24x8xf32>, %w: tensor<4x8x6xf32>, %s: tensor<4xi32>) -> tensor<24x6xf32> {
  %r = "chlo.ragged_dot"(%x, %w, %s) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<24x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<24x6xf32>
  return %r : tensor<24x6xf32>
}

// CHECK-LABEL: func.func @transposed
// CHECK:         weft.grouped_dot %{{.*}}, %arg1 groups %{{.*}} transposed
func.func @transposed(%x: tensor<24x6xf32>, %w: tensor<4x8x6xf32>, %s: tensor<4xi32>) -> tensor<24x8xf32> {
  %r = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<24x6xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<24x8xf32>
  return %r : tensor<24x8xf32>
}

// Sums of narrow numbers into wide ones; sizes that JAX has in 64 bits.
// CHECK-LABEL: func.func @sums
// CHECK:         arith.trunci %arg2 : tensor<4xi64> to tensor<4xi32>
// CHECK:         weft.grouped_outer %{{.*}}, %{{.*}} groups %{{.*}} : (tensor<1x24x8xf32>, tensor<1x24x6xf32>, tensor<1x4xi32>) -> tensor<4x8x6xf32>
func.func @sums(%x: tensor<24x8xbf16>, %y: tensor<24x6xbf16>, %s: tensor<4xi64>) -> tensor<4x8x6xf32> {
  %r = "chlo.ragged_dot"(%x, %y, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>}> : (tensor<24x8xbf16>, tensor<24x6xbf16>, tensor<4xi64>) -> tensor<4x8x6xf32>
  return %r : tensor<4x8x6xf32>
}
