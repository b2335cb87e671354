// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-autodiff --split-input-file | %strip_origins | FileCheck %s

// Forward ops, then backward ops, where the gradient was taken. The cotangent
// of %x is not asked for and costs nothing; tanh's derivative uses its result.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x2xf32>)
func.func @step(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> (tensor<f32>, tensor<8x2xf32>) {
  // CHECK-NEXT: %[[S:.*]] = weft.dot_general %[[X]], %[[W]] contracting = [1] x [0]
  // CHECK-NEXT: %[[H:.*]] = math.tanh %[[S]]
  // CHECK-NEXT: %[[LOSS:.*]] = weft.reduce sum %[[H]] dims = [0, 1]
  // CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[H]], %[[H]]
  // CHECK-NEXT: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<4x2xf32>
  // CHECK-NEXT: %[[DS:.*]] = arith.subf %[[ONES]], %[[SQUARE]]
  // CHECK-NEXT: %[[DW:.*]] = weft.dot_general %[[X]], %[[DS]] contracting = [0] x [0]
  // CHECK-NEXT: return %[[LOSS]], %[[DW]]
  %loss, %dw = weft.value_and_grad @loss(%x, %w) wrt = [1]
      : (tensor<4x8xf32>, tensor<8x2xf32>) -> (tensor<f32>, tensor<8x2xf32>)
  return %loss, %dw : tensor<f32>, tensor<8x2xf32>
}
func.func private @loss(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<f32> {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %h = math.tanh %s : tensor<4x2xf32>
  %l = weft.reduce sum %h dims = [0, 1] : tensor<4x2xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Other results are passed on, also arguments; what only they need is not
// differentiated, though math.ctpop could not be. Cotangents of a value that is
// used twice are added.

// CHECK-LABEL: func.func @aux(
// CHECK-SAME: %[[X:.*]]: tensor<f32>, %[[I:.*]]: tensor<i32>)
func.func @aux(%x: tensor<f32>, %i: tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<f32>) {
  // CHECK-NEXT: %[[LOSS:.*]] = arith.mulf %[[X]], %[[X]]
  // CHECK-NEXT: %[[COUNT:.*]] = math.ctpop %[[I]]
  // CHECK-NEXT: %[[DX:.*]] = arith.addf %[[X]], %[[X]]
  // CHECK-NEXT: return %[[LOSS]], %[[COUNT]], %[[I]], %[[DX]]
  %r:4 = weft.value_and_grad @square(%x, %i) wrt = [0]
      : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<f32>)
  return %r#0, %r#1, %r#2, %r#3 : tensor<f32>, tensor<i32>, tensor<i32>, tensor<f32>
}
func.func private @square(%x: tensor<f32>, %i: tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<i32>) {
  %l = arith.mulf %x, %x : tensor<f32>
  %n = math.ctpop %i : tensor<i32>
  return %l, %n, %i : tensor<f32>, tensor<i32>, tensor<i32>
}

// -----

// A gradient that is zero: through floor, through an integer, through
// stop_gradient, and by an argument without use. One value passed for two
// arguments has two gradients.

// CHECK-LABEL: func.func @zero(
// CHECK-SAME: %[[X:.*]]: tensor<f32>)
func.func @zero(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  // CHECK-NOT: weft.stop_gradient
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
  // CHECK: %[[NONE:.*]] = arith.constant dense<0.000000e+00>
  // CHECK: return %{{.*}}, %[[ZERO]], %[[NONE]], %[[X]]
  %r:4 = weft.value_and_grad @flat(%x, %x, %x) wrt = [0, 1, 2]
      : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
  return %r#0, %r#1, %r#2, %r#3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
func.func private @flat(%x: tensor<f32>, %unused: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %f = math.floor %x : tensor<f32>
  %i = arith.fptosi %x : tensor<f32> to tensor<i32>
  %g = arith.sitofp %i : tensor<i32> to tensor<f32>
  %s = weft.stop_gradient %x : tensor<f32>
  %fg = arith.addf %f, %g : tensor<f32>
  %p = arith.mulf %s, %y : tensor<f32>
  %l = arith.addf %fg, %p : tensor<f32>
  return %l : tensor<f32>
}

// -----

// A gradient of a function that takes a gradient. d/dx of (x^3)' = 3 x^2 is
// made of the ops of the first derivative.

// CHECK-LABEL: func.func @second(
// CHECK-NOT: weft.value_and_grad
// CHECK: return
func.func @second(%x: tensor<f32>) -> tensor<f32> {
  %d:2 = weft.value_and_grad @first(%x) wrt = [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %d#1 : tensor<f32>
}
func.func private @first(%x: tensor<f32>) -> tensor<f32> {
  %d:2 = weft.value_and_grad @cube(%x) wrt = [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %d#1 : tensor<f32>
}
func.func private @cube(%x: tensor<f32>) -> tensor<f32> {
  %s = arith.mulf %x, %x : tensor<f32>
  %c = arith.mulf %s, %x : tensor<f32>
  return %c : tensor<f32>
}

// -----

// Nothing to do: no gradient is taken.

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: arith.addf
// CHECK-NEXT: return
func.func @plain(%x: tensor<f32>) {
  %y = arith.addf %x, %x : tensor<f32>
  return
}
