// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// table[tokens] and its gradient.

// CHECK-LABEL: func.func @embedding
func.func @embedding(%table: tensor<50x8xf32>, %tokens: tensor<4x3x1xi32>, %grad: tensor<4x3x8xf32>) -> (tensor<4x3x8xf32>, tensor<50x8xf32>) {
  // CHECK: %[[I:.*]] = weft.reshape %arg1 : tensor<4x3x1xi32> -> tensor<4x3xi32>
  // CHECK: weft.gather %arg0, %[[I]] dim = 0 : (tensor<50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  %0 = "stablehlo.gather"(%table, %tokens) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<50x8xf32>, tensor<4x3x1xi32>) -> tensor<4x3x8xf32>
  // CHECK: %[[J:.*]] = weft.reshape %arg1
  // CHECK: weft.scatter_add %arg2, %[[J]] dim = 0 : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<50x8xf32>
  // CHECK-NOT: arith.addf
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<50x8xf32>}> : () -> tensor<50x8xf32>
  %1 = "stablehlo.scatter"(%zero, %tokens, %grad) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<50x8xf32>, tensor<4x3x1xi32>, tensor<4x3x8xf32>) -> tensor<50x8xf32>
  return %0, %1 : tensor<4x3x8xf32>, tensor<50x8xf32>
}

// take_along_axis and its gradient.

// CHECK-LABEL: func.func @along_axis
func.func @along_axis(%x: tensor<4x3x16xf32>, %i: tensor<4x3x1x1xi32>, %grad: tensor<4x3x1xf32>) -> (tensor<4x3x1xf32>, tensor<4x3x16xf32>) {
  // CHECK: %[[I:.*]] = weft.reshape %arg1 : tensor<4x3x1x1xi32> -> tensor<4x3x1xi32>
  // CHECK: weft.gather %arg0, %[[I]] dim = 2 batching = [0, 1] x [0, 1]
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x3x16xf32>, tensor<4x3x1x1xi32>) -> tensor<4x3x1xf32>
  // CHECK: %[[SUM:.*]] = weft.scatter_add %arg2, %{{.*}} dim = 2 batching = [0, 1] x [0, 1]
  // CHECK: arith.addf %arg0, %[[SUM]]
  %1 = "stablehlo.scatter"(%x, %i, %grad) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4x3x16xf32>, tensor<4x3x1x1xi32>, tensor<4x3x1xf32>) -> tensor<4x3x16xf32>
  return %0, %1 : tensor<4x3x1xf32>, tensor<4x3x16xf32>
}

// x[arange(4), i], with what JAX does for negative numbers, and its gradient: each row is taken from its own.

// CHECK-LABEL: func.func @counted
func.func @counted(%x: tensor<4x16xf32>, %i: tensor<4x1xi32>, %grad: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x16xf32>) {
  %n = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
  %c0 = "stablehlo.constant"() <{value = dense<0> : tensor<4xi32>}> : () -> tensor<4xi32>
  %c4 = "stablehlo.constant"() <{value = dense<4> : tensor<4xi32>}> : () -> tensor<4xi32>
  %isNegative = "stablehlo.compare"(%n, %c0) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %end = "stablehlo.add"(%n, %c4) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %row = "stablehlo.select"(%isNegative, %end, %n) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %rows = "stablehlo.broadcast_in_dim"(%row) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x1xi32>
  %pairs = "stablehlo.concatenate"(%rows, %i) <{dimension = 1 : i64}> : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  // CHECK: weft.gather %arg0, %{{.*}} dim = 1 batching = [0] x [0] : (tensor<4x16xf32>, tensor<4xi32>) -> tensor<4xf32>
  %0 = "stablehlo.gather"(%x, %pairs) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x16xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  // CHECK: weft.scatter_add %arg2, %{{.*}} dim = 1 batching = [0] x [0] : (tensor<4xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4x16xf32>}> : () -> tensor<4x16xf32>
  %1 = "stablehlo.scatter"(%zero, %pairs, %grad) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4x16xf32>, tensor<4x2xi32>, tensor<4xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4xf32>, tensor<4x16xf32>
}

// x[arange(4), arange(4)] takes the second from the row of the first; x[arange(3), i] of 4 rows, or by numbers of 8
// bits, which may not reach the end, is looked up as any.

// CHECK-LABEL: func.func @diagonal
func.func @diagonal(%x: tensor<4x4xf32>, %i: tensor<3x1xi32>) -> (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) {
  %n = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4x1xi32>
  %nn = "stablehlo.concatenate"(%n, %n) <{dimension = 1 : i64}> : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  // CHECK: weft.gather %arg0, %{{.*}} dim = 1 batching = [0] x [0] : (tensor<4x4xf32>, tensor<4xi32>) -> tensor<4xf32>
  %0 = "stablehlo.gather"(%x, %nn) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  %m = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<3x1xi32>
  %mi = "stablehlo.concatenate"(%m, %i) <{dimension = 1 : i64}> : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  // CHECK: weft.gather %{{.*}}, %{{.*}} dim = 0 : (tensor<16xf32>, tensor<3xi32>) -> tensor<3xf32>
  %1 = "stablehlo.gather"(%x, %mi) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  %s = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4x1xi8>
  %ss = "stablehlo.concatenate"(%s, %s) <{dimension = 1 : i64}> : (tensor<4x1xi8>, tensor<4x1xi8>) -> tensor<4x2xi8>
  // CHECK: weft.gather %{{.*}}, %{{.*}} dim = 0 : (tensor<16xf32>, tensor<4xi32>) -> tensor<4xf32>
  %2 = "stablehlo.gather"(%x, %ss) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<4x2xi8>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<3xf32>, tensor<4xf32>
}

// x[arange(4)[:, None], arange(3)]: the last is looked up.

// CHECK-LABEL: func.func @grid
func.func @grid(%x: tensor<4x3x5xf32>) -> tensor<4x3x5xf32> {
  %a = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4x3x1xi32>
  %b = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x3x1xi32>
  %ab = "stablehlo.concatenate"(%a, %b) <{dimension = 2 : i64}> : (tensor<4x3x1xi32>, tensor<4x3x1xi32>) -> tensor<4x3x2xi32>
  // CHECK: weft.gather %arg0, %{{.*}} dim = 1 batching = [0] x [0] : (tensor<4x3x5xf32>, tensor<4x3xi32>) -> tensor<4x3x5xf32>
  %0 = "stablehlo.gather"(%x, %ab) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x3x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return %0 : tensor<4x3x5xf32>
}

// x[:, i]: the order of the result is restored.

// CHECK-LABEL: func.func @middle
func.func @middle(%x: tensor<4x16x8xf32>, %i: tensor<3x1xi32>) -> (tensor<3x4x8xf32>, tensor<4x3x8xf32>) {
  // CHECK: %[[TAKEN:.*]] = weft.gather %arg0, %{{.*}} dim = 1 : {{.*}} -> tensor<4x3x8xf32>
  // CHECK: weft.transpose %[[TAKEN]] dims = [1, 0, 2]
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 4, 1, 8>}> : (tensor<4x16x8xf32>, tensor<3x1xi32>) -> tensor<3x4x8xf32>
  // CHECK: weft.gather %arg0, %{{.*}} dim = 1
  // CHECK-NOT: transpose
  %1 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 4, 1, 8>}> : (tensor<4x16x8xf32>, tensor<3x1xi32>) -> tensor<4x3x8xf32>
  return %0, %1 : tensor<3x4x8xf32>, tensor<4x3x8xf32>
}

// x[i, j]: indexed dimensions become one.

// CHECK-LABEL: func.func @pairs
func.func @pairs(%x: tensor<4x6x8xf32>, %ij: tensor<5x2xi32>, %u: tensor<5x8xf32>) -> (tensor<5x8xf32>, tensor<4x6x8xf32>) {
  // CHECK: %[[J:.*]] = weft.slice %arg1 starts = [0, 1] limits = [5, 2]
  // CHECK: arith.maxsi
  // CHECK: %[[COLUMN:.*]] = arith.minsi
  // CHECK: %[[I:.*]] = weft.slice %arg1 starts = [0, 0] limits = [5, 1]
  // CHECK: arith.maxsi
  // CHECK: %[[IN:.*]] = arith.minsi
  // CHECK: %[[SIX:.*]] = arith.constant dense<6>
  // CHECK: %[[ROW:.*]] = arith.muli %[[IN]], %[[SIX]]
  // CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[COLUMN]]
  // CHECK: %[[MERGED:.*]] = weft.reshape %arg0 : tensor<4x6x8xf32> -> tensor<24x8xf32>
  // CHECK: weft.gather %[[MERGED]], %[[AT]] dim = 0
  %0 = "stablehlo.gather"(%x, %ij) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 8>}> : (tensor<4x6x8xf32>, tensor<5x2xi32>) -> tensor<5x8xf32>
  // A pair that is out of range in one dimension must not hit another element.
  // CHECK: %[[BOTH:.*]] = arith.andi
  // CHECK: %[[LAST:.*]] = arith.constant dense<24>
  // CHECK: %[[SAFE:.*]] = arith.select %[[BOTH]], %{{.*}}, %[[LAST]]
  // CHECK: weft.scatter_add %arg2, %[[SAFE]] dim = 0 : {{.*}} -> tensor<24x8xf32>
  %1 = "stablehlo.scatter"(%x, %ij, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4x6x8xf32>, tensor<5x2xi32>, tensor<5x8xf32>) -> tensor<4x6x8xf32>
  return %0, %1 : tensor<5x8xf32>, tensor<4x6x8xf32>
}

// Slices of several rows.

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<16x8xf32>, %i: tensor<3x1xi32>) -> tensor<3x4x8xf32> {
  // CHECK: %[[COUNT:.*]] = weft.iota dim = 1 : tensor<3x4xi32>
  // CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[COUNT]]
  // CHECK: weft.gather %arg0, %[[AT]] dim = 0 : {{.*}} -> tensor<3x4x8xf32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 4, 8>}> : (tensor<16x8xf32>, tensor<3x1xi32>) -> tensor<3x4x8xf32>
  return %0 : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @slices
func.func @slices(%x: tensor<16x8xf32>, %u: tensor<4x8xf32>, %i: tensor<i32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %far = "stablehlo.constant"() <{value = dense<100> : tensor<i32>}> : () -> tensor<i32>
  // Starts are brought into range.
  // CHECK: weft.slice %arg0 starts = [12, 0] limits = [16, 8]
  %0 = "stablehlo.dynamic_slice"(%x, %far, %i) <{slice_sizes = array<i64: 4, 8>}> : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  // CHECK: weft.gather %arg0, %{{.*}} dim = 0
  %1 = "stablehlo.dynamic_slice"(%x, %i, %zero) <{slice_sizes = array<i64: 4, 8>}> : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  // CHECK: %[[REST:.*]] = weft.slice %arg0 starts = [4, 0] limits = [16, 8]
  // CHECK: weft.concat %arg1, %[[REST]] dim = 0
  %2 = "stablehlo.dynamic_update_slice"(%x, %u, %zero, %zero) : (tensor<16x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x8xf32>
  // CHECK: %[[NEW:.*]] = weft.gather %arg1, %{{.*}} dim = 0 : {{.*}} -> tensor<16x8xf32>
  // CHECK: %[[WHERE:.*]] = weft.broadcast
  // CHECK: arith.select %[[WHERE]], %[[NEW]], %arg0
  %3 = "stablehlo.dynamic_update_slice"(%x, %u, %i, %zero) : (tensor<16x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x8xf32>
  return %0, %1, %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
}

// A box within: what is before, in and after it.

// CHECK-LABEL: func.func @box
func.func @box(%x: tensor<4x4xf32>, %u: tensor<2x2xf32>) -> tensor<4x4xf32> {
  // CHECK-DAG: %[[TOP:.*]] = weft.slice %arg0 starts = [0, 0] limits = [1, 4]
  // CHECK-DAG: %[[ROWS:.*]] = weft.slice %arg0 starts = [1, 0] limits = [3, 4]
  // CHECK-DAG: %[[LEFT:.*]] = weft.slice %[[ROWS]] starts = [0, 0] limits = [2, 1]
  // CHECK-DAG: %[[RIGHT:.*]] = weft.slice %[[ROWS]] starts = [0, 3] limits = [2, 4]
  // CHECK-DAG: %[[MIDDLE:.*]] = weft.concat %[[LEFT]], %arg1, %[[RIGHT]] dim = 1
  // CHECK-DAG: %[[BOTTOM:.*]] = weft.slice %arg0 starts = [3, 0] limits = [4, 4]
  // CHECK: weft.concat %[[TOP]], %[[MIDDLE]], %[[BOTTOM]] dim = 0
  %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %0 = "stablehlo.dynamic_update_slice"(%x, %u, %one, %one) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
