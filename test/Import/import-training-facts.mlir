// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --split-input-file | FileCheck %s

// The momentum is updated with a value that depends on w, and w with the
// momentum: w is a parameter, and the matmul its gradient. What a parameter is
// not updated with, and arguments that are kept, are no parameters.
// CHECK-LABEL: func.func @momentum
// CHECK-SAME:      %{{.*}}: tensor<4x2xf32> {weft.name = "w", weft.parameter}
// CHECK-SAME:      %{{.*}}: tensor<4x2xf32> {weft.name = "m"}
// CHECK-SAME:      %{{.*}}: tensor<8x4xf32> {weft.name = "x"}
// CHECK:         weft.dot_general {{.*}} contracting = [1] x [0] : (tensor<8x4xf32>, tensor<4x2xf32>)
// CHECK:         weft.dot_general {{.*}} {weft.origin = #weft.origin<gradient_of = "w">} : (tensor<8x2xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    weft.transpose {{.*}} {weft.origin = #weft.origin<gradient_of = "w">}
// CHECK-NOT:     weft.origin
func.func public @momentum(
    %w: tensor<4x2xf32> {tf.aliasing_output = 0 : i32} loc("w"),
    %m: tensor<4x2xf32> {tf.aliasing_output = 1 : i32} loc("m"),
    %x: tensor<8x4xf32> loc("x")) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %y = "stablehlo.dot_general"(%x, %w) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %d = "stablehlo.dot_general"(%y, %x) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<8x2xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %g = "stablehlo.transpose"(%d) {permutation = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %new_m = "stablehlo.add"(%m, %g) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %new_w = "stablehlo.subtract"(%w, %new_m) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  "func.return"(%new_w, %new_m) : (tensor<4x2xf32>, tensor<4x2xf32>) -> ()
}

// -----

// A matmul of the momentum is no gradient; what the momentum is updated with is.
// CHECK-LABEL: func.func @orthogonalised
// CHECK-SAME:      %{{.*}}: tensor<4x4xf32> {weft.name = "w", weft.parameter}
// CHECK-SAME:      %{{.*}}: tensor<4x4xf32> {weft.name = "m"}
// CHECK:         weft.dot_general %{{.*}}, %arg2 {{.*}} {weft.origin = #weft.origin<gradient_of = "w">}
// CHECK-NOT:     weft.origin
func.func public @orthogonalised(
    %w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32} loc("w"),
    %m: tensor<4x4xf32> {tf.aliasing_output = 1 : i32} loc("m"),
    %x: tensor<4x4xf32> loc("x")) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %g = "stablehlo.dot_general"(%w, %x) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %new_m = "stablehlo.add"(%m, %g) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %o = "stablehlo.dot_general"(%new_m, %new_m) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %new_w = "stablehlo.subtract"(%w, %o) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  "func.return"(%new_w, %new_m) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
}

// -----

// The gradient of a stack of one layer is one of the layer with a dimension more. A rate is none, though it is
// computed from the state and has as many elements.
// CHECK-LABEL: func.func @stack_of_one
// CHECK-SAME:      %{{.*}}: tensor<1x4x4xf32> {weft.name = "w", weft.parameter}
// CHECK-SAME:      %{{.*}}: tensor<1xf32> {weft.name = "s"}
// CHECK:         weft.dot_general {{.*}} {weft.origin = #weft.origin<gradient_of = "w">}
// CHECK:         weft.broadcast {{.*}} {weft.origin = #weft.origin<gradient_of = "w">}
// CHECK-NOT:     weft.origin
func.func public @stack_of_one(
    %w: tensor<1x4x4xf32> {tf.aliasing_output = 0 : i32} loc("w"),
    %s: tensor<1xf32> {tf.aliasing_output = 1 : i32} loc("s"),
    %x: tensor<4x4xf32> loc("x")) -> (tensor<1x4x4xf32>, tensor<1xf32>) {
  %layer = "stablehlo.reshape"(%w) : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
  %d = "stablehlo.dot_general"(%layer, %x) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = "stablehlo.broadcast_in_dim"(%d) {broadcast_dimensions = array<i64: 1, 2>} : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
  %new_w = "stablehlo.subtract"(%w, %g) : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %scalar = "stablehlo.reshape"(%s) : (tensor<1xf32>) -> tensor<f32>
  %rate = "stablehlo.tanh"(%scalar) : (tensor<f32>) -> tensor<f32>
  %rates = "stablehlo.broadcast_in_dim"(%rate) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<1xf32>
  %new_s = "stablehlo.multiply"(%s, %rates) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  "func.return"(%new_w, %new_s) : (tensor<1x4x4xf32>, tensor<1xf32>) -> ()
}

// -----

// A running mean, which the program does not read, and a cache, which is not
// updated element by element of itself, are no parameters.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     weft.parameter
// CHECK-NOT:     weft.origin
func.func public @others(
    %mean: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("mean"),
    %cache: tensor<4x4xf32> {tf.aliasing_output = 1 : i32} loc("cache"),
    %x: tensor<4x4xf32> loc("x")) -> (tensor<4xf32>, tensor<4x4xf32>) {
  %zero = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %sum = "stablehlo.reduce"(%x, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %new_mean = "stablehlo.add"(%mean, %sum) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %new_cache = "stablehlo.dot_general"(%cache, %x) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  "func.return"(%new_mean, %new_cache) : (tensor<4xf32>, tensor<4x4xf32>) -> ()
}
