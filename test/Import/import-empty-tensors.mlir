// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// What a program makes of tensors without elements; the graph computes nothing
// with them.
// CHECK-NOT: weft.{{.*}}tensor<{{([0-9]+x)*}}0x

// As the last step of jax.lax.associative_scan makes them.
// CHECK-LABEL: func.func @pieces
func.func @pieces(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<6x4xf32>) {
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 3, 0>, limit_indices = array<i64: 3, 4>, strides = array<i64: 1, 1>}> : (tensor<3x4xf32>) -> tensor<0x4xf32>
  %1 = "stablehlo.multiply"(%0, %0) : (tensor<0x4xf32>, tensor<0x4xf32>) -> tensor<0x4xf32>
  %2 = "stablehlo.concatenate"(%x, %1) <{dimension = 0 : i64}> : (tensor<3x4xf32>, tensor<0x4xf32>) -> tensor<3x4xf32>
  // CHECK: %[[TWO:.*]] = weft.concat %arg0, %arg0 dim = 0
  %3 = "stablehlo.concatenate"(%x, %1, %x) <{dimension = 0 : i64}> : (tensor<3x4xf32>, tensor<0x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  // CHECK: return %arg0, %[[TWO]]
  return %2, %3 : tensor<3x4xf32>, tensor<6x4xf32>
}

// CHECK-LABEL: func.func @padding
func.func @padding(%x: tensor<3x4xf32>, %value: tensor<f32>) -> tensor<3x4xf32> {
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<3x4xf32>) -> tensor<0x4xf32>
  // CHECK: %[[R:.*]] = weft.broadcast %arg1 dims = [] : tensor<f32> -> tensor<3x4xf32>
  %1 = "stablehlo.pad"(%0, %value) <{edge_padding_low = array<i64: 2, 0>, edge_padding_high = array<i64: 1, 0>, interior_padding = array<i64: 1, 0>}> : (tensor<0x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  // CHECK: return %[[R]]
  return %1 : tensor<3x4xf32>
}

// A sum of no elements is what it begins with; so are two at once.
// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<3x4xf32>, %i: tensor<i32>, %f: tensor<f32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4x4xf32>) {
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<3x4xf32>) -> tensor<0x4xf32>
  %1 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<0x4xi32>
  // CHECK-DAG: %[[F:.*]] = weft.broadcast %arg2 dims = [] : tensor<f32> -> tensor<4xf32>
  // CHECK-DAG: %[[I:.*]] = weft.broadcast %arg1 dims = [] : tensor<i32> -> tensor<4xi32>
  %2:2 = "stablehlo.reduce"(%0, %1, %f, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    "stablehlo.return"(%a, %b) : (tensor<f32>, tensor<i32>) -> ()
  }) : (tensor<0x4xf32>, tensor<0x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  // CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<4x4xf32>
  %3 = "stablehlo.dot_general"(%0, %0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<0x4xf32>, tensor<0x4xf32>) -> tensor<4x4xf32>
  // CHECK: return %[[F]], %[[I]], %[[ZEROS]]
  return %2#0, %2#1, %3 : tensor<4xf32>, tensor<4xi32>, tensor<4x4xf32>
}

// Nothing is added or replaced.
// CHECK-LABEL: func.func @updates
func.func @updates(%x: tensor<3x4xf32>, %start: tensor<i32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<3x4xf32>) -> tensor<0x4xf32>
  %1 = "stablehlo.constant"() <{value = dense<> : tensor<0x1xi32>}> : () -> tensor<0x1xi32>
  %2 = "stablehlo.scatter"(%x, %1, %0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<3x4xf32>, tensor<0x1xi32>, tensor<0x4xf32>) -> tensor<3x4xf32>
  %3 = "stablehlo.dynamic_update_slice"(%x, %0, %start, %start) : (tensor<3x4xf32>, tensor<0x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  // CHECK: return %arg0, %arg0
  return %2, %3 : tensor<3x4xf32>, tensor<3x4xf32>
}

// As jax's x.at[:].add(y) makes it: the place of all of x has no numbers.
// CHECK-LABEL: func.func @everywhere
func.func @everywhere(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = "stablehlo.constant"() <{value = dense<> : tensor<0xi32>}> : () -> tensor<0xi32>
  // CHECK: %[[SUM:.*]] = arith.addf %arg0, %arg1
  %1 = "stablehlo.scatter"(%x, %0, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%3) : (tensor<f32>) -> ()
  }) : (tensor<3x4xf32>, tensor<0xi32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = "stablehlo.scatter"(%x, %0, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<3x4xf32>, tensor<0xi32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: return %[[SUM]], %arg1
  return %1, %2 : tensor<3x4xf32>, tensor<3x4xf32>
}

// They pass through calls and branches.
func.func private @double(%e: tensor<0x4xf32>, %x: tensor<3x4xf32>) -> (tensor<0x4xf32>, tensor<3x4xf32>) {
  %0 = "stablehlo.add"(%x, %x) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %e, %0 : tensor<0x4xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: func.func @control_flow
func.func @control_flow(%x: tensor<3x4xf32>, %p: tensor<i1>) -> tensor<3x4xf32> {
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<3x4xf32>) -> tensor<0x4xf32>
  // CHECK: %[[SUM:.*]] = arith.addf %arg0, %arg0
  %1:2 = "func.call"(%0, %x) <{callee = @double}> : (tensor<0x4xf32>, tensor<3x4xf32>) -> (tensor<0x4xf32>, tensor<3x4xf32>)
  // CHECK: %[[R:.*]] = arith.select %{{.*}}, %[[SUM]], %arg0
  %2:2 = "stablehlo.if"(%p) ({
    "stablehlo.return"(%1#0, %1#1) : (tensor<0x4xf32>, tensor<3x4xf32>) -> ()
  }, {
    "stablehlo.return"(%0, %x) : (tensor<0x4xf32>, tensor<3x4xf32>) -> ()
  }) : (tensor<i1>) -> (tensor<0x4xf32>, tensor<3x4xf32>)
  %3 = "stablehlo.concatenate"(%2#1, %2#0) <{dimension = 0 : i64}> : (tensor<3x4xf32>, tensor<0x4xf32>) -> tensor<3x4xf32>
  // CHECK: return %[[R]]
  return %3 : tensor<3x4xf32>
}

// Arguments and results may have none.
// CHECK-LABEL: func.func @border
// CHECK-SAME:    %arg0: tensor<0x4xf32>
func.func @border(%empty: tensor<0x4xf32>, %x: tensor<3x4xf32>) -> (tensor<0x4xf32>, tensor<3x4xf32>, tensor<0x2xi32>) {
  // CHECK: %[[EMPTY:.*]] = arith.constant dense<0.000000e+00> : tensor<0x4xf32>
  %0 = "stablehlo.add"(%empty, %empty) : (tensor<0x4xf32>, tensor<0x4xf32>) -> tensor<0x4xf32>
  %1 = "stablehlo.concatenate"(%0, %x) <{dimension = 0 : i64}> : (tensor<0x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: %[[IDS:.*]] = arith.constant dense<0> : tensor<0x2xi32>
  %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<0x2xi32>
  // CHECK: return %[[EMPTY]], %arg1, %[[IDS]]
  return %0, %1, %2 : tensor<0x4xf32>, tensor<3x4xf32>, tensor<0x2xi32>
}

// Windows of padding alone.
// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<2x0x3xf32>, %w: tensor<2x3x4xf32>, %i: tensor<f32>, %y: tensor<2x1x3xf32>, %g: tensor<2x0x3xf32>)
    -> (tensor<2x3x4xf32>, tensor<2x3x3xf32>, tensor<2x1x3xf32>) {
  // CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3x4xf32>
  %0 = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, padding = dense<[[2, 2]]> : tensor<1x2xi64>}> : (tensor<2x0x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-DAG: %[[INIT:.*]] = weft.broadcast %arg2 dims = [] : tensor<f32> -> tensor<2x3x3xf32>
  %1 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 1, 2, 1>, padding = dense<[[0, 0], [2, 2], [0, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<2x0x3xf32>, tensor<f32>) -> tensor<2x3x3xf32>
  // No window fits in: nothing is added.
  // CHECK-DAG: %[[SLOPES:.*]] = weft.broadcast %arg2 dims = [] : tensor<f32> -> tensor<2x1x3xf32>
  %2 = "stablehlo.select_and_scatter"(%y, %g, %i) <{window_dimensions = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%m) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<2x1x3xf32>, tensor<2x0x3xf32>, tensor<f32>) -> tensor<2x1x3xf32>
  // CHECK: return %[[ZEROS]], %[[INIT]], %[[SLOPES]]
  return %0, %1, %2 : tensor<2x3x4xf32>, tensor<2x3x3xf32>, tensor<2x1x3xf32>
}
