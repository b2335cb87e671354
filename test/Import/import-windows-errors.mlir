// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --split-input-file --verify-diagnostics

func.func @main(%x: tensor<4x5x3xf32>, %w: tensor<2x3x4xf32>) {
  // expected-error@below {{stablehlo.convolution is malformed: cannot read its dimension_numbers, #stablehlo.conv<"[b, 0]">}}
  %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<"[b, 0]">, feature_group_count = 1 : i64}> : (tensor<4x5x3xf32>, tensor<2x3x4xf32>) -> tensor<4x4x4xf32>
  return
}

// -----

func.func @main(%x: tensor<4x5x3xi32>, %w: tensor<2x3x4xi32>) {
  // expected-error@below {{stablehlo.convolution is malformed: feature_group_count must divide its features}}
  %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 2 : i64}> : (tensor<4x5x3xi32>, tensor<2x3x4xi32>) -> tensor<4x4x4xi32>
  return
}

// -----

func.func @main(%x: tensor<4x5x3xi32>, %w: tensor<2x3x4xi32>) {
  // expected-error@below {{stablehlo.convolution is malformed: its windows must fit in}}
  %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<4x5x3xi32>, tensor<2x3x4xi32>) -> tensor<4x6x4xi32>
  return
}

// -----

func.func @main(%x: tensor<4x5x3xf32>, %w: tensor<2x3x4xf32>) {
  // expected-error@below {{stablehlo.convolution is malformed: dimension_numbers must name each dim}}
  %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<4x5x3xf32>, tensor<2x3x4xf32>) -> tensor<4x4x4xf32>
  return
}

// -----

func.func @main(%x: tensor<4x5x3xf32>, %w: tensor<2x3x4xf32>) {
  // expected-error@below {{stablehlo.convolution is malformed: its windows are out of range}}
  %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, padding = dense<[[1099511627776, 0]]> : tensor<1x2xi64>}> : (tensor<4x5x3xf32>, tensor<2x3x4xf32>) -> tensor<4x4x4xf32>
  return
}

// -----

func.func @main(%x: tensor<4x5x3xf32>, %w: tensor<2x3x4xf32>) {
  // expected-error@below {{stablehlo.convolution is malformed: feature_group_count and batch_group_count must be at least 1, and one of them 1}}
  %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 2 : i64}> : (tensor<4x5x3xf32>, tensor<2x3x4xf32>) -> tensor<4x4x4xf32>
  return
}

// -----

func.func @main(%x: tensor<4x5x3xf32>, %w: tensor<2x3x4xf32>) {
  // expected-error@below {{stablehlo.convolution is malformed: its batch_group_count must divide its batch}}
  %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 3 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<4x5x3xf32>, tensor<2x3x4xf32>) -> tensor<4x4x4xf32>
  return
}

// -----

func.func @main(%x: tensor<4x5x3xf32>, %w: tensor<2x2x4xf32>) {
  // expected-error@below {{stablehlo.convolution is malformed: 'weft.convolution' op lhs must have the features of the kernel, 2, for each of 1 groups, got 3}}
  %r = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<4x5x3xf32>, tensor<2x2x4xf32>) -> tensor<4x4x4xf32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>, %g: tensor<2xf32>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // expected-error@below {{stablehlo.select_and_scatter is malformed: its windows must have a size, a stride and dilations of at least 1 for each dim}}
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%m) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>, %g: tensor<2xf32>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // expected-error@below {{stablehlo.select_and_scatter is malformed: its windows are out of range}}
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 1099511627776>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%m) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>, %g: tensor<2xf32>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // expected-error@below {{stablehlo.select_and_scatter is malformed: its source must have an element for each window}}
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%m) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>, %g: tensor<2xf64>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // expected-error@below {{stablehlo.select_and_scatter is malformed: its source must have the operand's type of elements}}
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%m) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<2xf64>, tensor<f32>) -> tensor<4xf32>
  return
}
