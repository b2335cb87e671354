// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s

// CHECK: note: chlo.ragged_dot: of other groups than those of the rows of a matrix of floating-point numbers
func.func @batches(%x: tensor<2x24x8xf32>, %w: tensor<2x4x8x6xf32>, %s: tensor<2x4xi32>) -> tensor<2x24x6xf32> {
  %r = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [1]>}> : (tensor<2x24x8xf32>, tensor<2x4x8x6xf32>, tensor<2x4xi32>) -> tensor<2x24x6xf32>
  return %r : tensor<2x24x6xf32>
}
