// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// CHECK-LABEL: func.func @layout
// CHECK: %[[X:.*]] = weft.transpose %arg0 dims = [0, 2, 3, 1]
// CHECK: %[[W:.*]] = weft.transpose %arg1 dims = [2, 3, 1, 0]
// CHECK: %[[R:.*]] = weft.convolution %[[X]], %[[W]] strides = [2, 1] low = [1, 0] high = [0, -1] lhs_dilation = [1, 1] rhs_dilation = [1, 2] groups = 1 : (tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x4x3x4xf32>
// CHECK: weft.transpose %[[R]] dims = [0, 3, 1, 2]
func.func @layout(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4x4x3xf32> {
  %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64, padding = dense<[[1, 0], [0, -1]]> : tensor<2x2xi64>, rhs_dilation = array<i64: 1, 2>, window_reversal = array<i1: false, false>, window_strides = array<i64: 2, 1>}> : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x4x3xf32>
  return %r : tensor<2x4x4x3xf32>
}

// Groups of the batch are groups of features.
// CHECK-LABEL: func.func @batch_groups
// CHECK: weft.reshape %arg0 : tensor<4x5x3xbf16> -> tensor<2x2x5x3xbf16>
// CHECK: weft.transpose %{{.*}} dims = [1, 2, 0, 3]
// CHECK: weft.convolution {{.*}} groups = 2 : (tensor<2x5x2x3xbf16>, tensor<2x3x4xbf16>) -> tensor<2x4x4xf32>
func.func @batch_groups(%x: tensor<4x5x3xbf16>, %w: tensor<2x3x4xbf16>) -> tensor<2x4x4xf32> {
  %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<4x5x3xbf16>, tensor<2x3x4xbf16>) -> tensor<2x4x4xf32>
  return %r : tensor<2x4x4xf32>
}

// The last dimension is reduced first.
// CHECK-LABEL: func.func @pooling
// CHECK: %[[ROWS:.*]] = weft.reduce_window max %arg0 dim = 2 size = 2 stride = 2 dilation = 1 : tensor<2x4x6x3xf32> -> tensor<2x4x3x3xf32>
// CHECK: weft.reduce_window max %[[ROWS]] dim = 1 size = 2 stride = 2 dilation = 1 : tensor<2x4x3x3xf32> -> tensor<2x2x3x3xf32>
func.func @pooling(%x: tensor<2x4x6x3xf32>) -> tensor<2x2x3x3xf32> {
  %least = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<2x4x6x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  return %r : tensor<2x2x3x3xf32>
}

// Windows of one element are the tensor, and an initial value that is not
// neutral is combined at the end.
// CHECK-LABEL: func.func @one_element
// CHECK-NOT: weft.reduce_window
// CHECK: %[[INIT:.*]] = weft.broadcast %arg1
// CHECK: arith.maximumf %arg0, %[[INIT]]
func.func @one_element(%x: tensor<4x6xf32>, %init: tensor<f32>) -> tensor<4x6xf32> {
  %r = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// The first maximum of a window takes its source.
// CHECK-LABEL: func.func @derivative
// CHECK: %[[MAX:.*]] = weft.reduce_window max %arg0 dim = 0 size = 2 stride = 2
// CHECK: weft.spread_windows %arg1 of %arg0, %[[MAX]] dim = 0 size = 2 stride = 2 dilation = 1
func.func @derivative(%x: tensor<6xf32>, %g: tensor<3xf32>) -> tensor<6xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%m) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// A padding that JAX writes apart is one of the windows, and a slice that removes
// it again nothing.
// CHECK-LABEL: func.func @padded_derivative
// CHECK: %[[MAX:.*]] = weft.reduce_window max %arg0 dim = 0 size = 3 stride = 2 dilation = 1 {high = 1 : i64, low = 1 : i64} : tensor<7xf32> -> tensor<4xf32>
// CHECK: %[[R:.*]] = weft.spread_windows %arg1 of %arg0, %[[MAX]] dim = 0 size = 3 stride = 2 dilation = 1 {high = 1 : i64, low = 1 : i64}
// CHECK: return %[[R]]
func.func @padded_derivative(%x: tensor<7xf32>, %g: tensor<4xf32>) -> tensor<7xf32> {
  %least = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %p = "stablehlo.pad"(%x, %least) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 0>}> : (tensor<7xf32>, tensor<f32>) -> tensor<9xf32>
  %s = "stablehlo.select_and_scatter"(%p, %g, %zero) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%m) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<9xf32>, tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %r = "stablehlo.slice"(%s) <{start_indices = array<i64: 1>, limit_indices = array<i64: 8>, strides = array<i64: 1>}> : (tensor<9xf32>) -> tensor<7xf32>
  return %r : tensor<7xf32>
}

// The derivative of a sum of windows, which are two apart along both dimensions: each element is
// added to what its window covers. JAX pads with zeros in an op of its own.
// CHECK-LABEL: func.func @sum_derivative
// CHECK: %[[ROWS:.*]] = weft.spread_windows %arg0 dim = 0 size = 2 stride = 2 dilation = 1 : (tensor<3x3xf32>) -> tensor<6x3xf32>
// CHECK: %[[R:.*]] = weft.spread_windows %[[ROWS]] dim = 1 size = 3 stride = 2 dilation = 1 {low = 1 : i64} : (tensor<6x3xf32>) -> tensor<6x6xf32>
// CHECK: return %[[R]]
func.func @sum_derivative(%g: tensor<3x3xf32>) -> tensor<6x6xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %p = "stablehlo.pad"(%g, %zero) <{edge_padding_low = array<i64: 1, 1>, edge_padding_high = array<i64: 1, 2>, interior_padding = array<i64: 1, 1>}> : (tensor<3x3xf32>, tensor<f32>) -> tensor<7x8xf32>
  %r = "stablehlo.reduce_window"(%p, %zero) <{window_dimensions = array<i64: 2, 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<7x8xf32>, tensor<f32>) -> tensor<6x6xf32>
  return %r : tensor<6x6xf32>
}

// Zeros that no windows are over stay.
// CHECK-LABEL: func.func @other_padding
// CHECK: %[[P:.*]] = weft.pad %arg0 low = [1, 0] high = [0, 0] interior = [0, 1]
// CHECK: weft.reduce_window sum %[[P]] dim = 1 size = 2 stride = 1
func.func @other_padding(%x: tensor<3x3xf32>) -> tensor<4x4xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %p = "stablehlo.pad"(%x, %zero) <{edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 1>}> : (tensor<3x3xf32>, tensor<f32>) -> tensor<4x5xf32>
  %r = "stablehlo.reduce_window"(%p, %zero) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
