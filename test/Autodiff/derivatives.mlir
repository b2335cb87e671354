// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What single derivatives look like. That they are right is tested by numbers,
// in test/EndToEnd/test_derivatives.py.
// RUN: shard-opt %s --weft-autodiff --split-input-file | %strip_origins | FileCheck %s

// A product with an f32 result of bf16 operands: the cotangent is rounded, sums
// stay in f32.

// CHECK-LABEL: func.func @mixed(
// CHECK-SAME: %[[A:.*]]: tensor<4x8xbf16>, %[[B:.*]]: tensor<8x2xbf16>, %[[W:.*]]: tensor<4x2xf32>)
// CHECK: %[[G:.*]] = arith.truncf %[[W]] : tensor<4x2xf32> to tensor<4x2xbf16>
// CHECK: weft.dot_general %[[G]], %[[B]] contracting = [1] x [1] {accumulation_type = f32} : (tensor<4x2xbf16>, tensor<8x2xbf16>) -> tensor<4x8xbf16>
func.func @mixed(%a: tensor<4x8xbf16>, %b: tensor<8x2xbf16>, %w: tensor<4x2xf32>) -> tensor<4x8xbf16> {
  %r:2 = weft.value_and_grad @loss(%a, %b, %w) wrt = [0]
      : (tensor<4x8xbf16>, tensor<8x2xbf16>, tensor<4x2xf32>) -> (tensor<f32>, tensor<4x8xbf16>)
  return %r#1 : tensor<4x8xbf16>
}
func.func private @loss(%a: tensor<4x8xbf16>, %b: tensor<8x2xbf16>, %w: tensor<4x2xf32>) -> tensor<f32> {
  %s = weft.dot_general %a, %b contracting = [1] x [0] : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
  %p = arith.mulf %s, %w : tensor<4x2xf32>
  %l = weft.reduce sum %p dims = [0, 1] : tensor<4x2xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The order of the factors is chosen so that no transpose is needed.

// CHECK-LABEL: func.func @orders(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<2x8xf32>)
// CHECK: weft.dot_general %{{.*}}, %{{.*}} contracting = [0] x [0] : (tensor<4x2xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
// CHECK-NOT: weft.transpose
// CHECK: return
func.func @orders(%x: tensor<4x8xf32>, %w: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %r:2 = weft.value_and_grad @loss(%x, %w) wrt = [1] : (tensor<4x8xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<2x8xf32>)
  return %r#1 : tensor<2x8xf32>
}
func.func private @loss(%x: tensor<4x8xf32>, %w: tensor<2x8xf32>) -> tensor<f32> {
  %s = weft.dot_general %x, %w contracting = [1] x [1] : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32>
  %h = math.tanh %s : tensor<4x2xf32>
  %l = weft.reduce sum %h dims = [0, 1] : tensor<4x2xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The cotangent of a constrained value is constrained alike; where the value is
// a sum of terms, each term needs the whole cotangent.

weft.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-LABEL: func.func @constrained(
// CHECK: weft.constraint %{{.*}} <@mesh, [{"x"}], unreduced={"y"}>
// CHECK: weft.constraint %{{.*}} <@mesh, [{"x"}]>
func.func @constrained(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4xf32>
}
func.func private @loss(%x: tensor<4xf32>) -> tensor<f32> {
  %c = weft.constraint %x <@mesh, [{"x"}], unreduced={"y"}> : tensor<4xf32>
  %l = weft.reduce sum %c dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The derivative of a quotient by the divisor uses the other derivative, not the
// result, which may be infinite where its cotangent is 0.

// CHECK-LABEL: func.func @quotient(
// CHECK-SAME: %[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>)
// CHECK: %[[ONE:.*]] = arith.constant
// CHECK-NEXT: %[[DX:.*]] = arith.divf %[[ONE]], %[[Y]]
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[DX]], %[[X]]
// CHECK-NEXT: %[[Q:.*]] = arith.divf %[[P]], %[[Y]]
// CHECK-NEXT: %[[DY:.*]] = arith.negf %[[Q]]
// CHECK-NEXT: return %[[DX]], %[[DY]]
func.func @quotient(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %r:3 = weft.value_and_grad @divide(%x, %y) wrt = [0, 1] : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return %r#1, %r#2 : tensor<f32>, tensor<f32>
}
func.func private @divide(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %r = arith.divf %x, %y : tensor<f32>
  return %r : tensor<f32>
}

// -----

// Conversions convert cotangents back.

// CHECK-LABEL: func.func @converted(
// CHECK: %[[G:.*]] = arith.truncf %{{.*}} : tensor<4xf32> to tensor<4xbf16>
// CHECK: %[[H:.*]] = arith.extf %[[G]] : tensor<4xbf16> to tensor<4xf64>
// CHECK: return %[[H]]
func.func @converted(%x: tensor<4xf64>, %w: tensor<4xf32>) -> tensor<4xf64> {
  %r:2 = weft.value_and_grad @loss(%x, %w) wrt = [0] : (tensor<4xf64>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf64>)
  return %r#1 : tensor<4xf64>
}
func.func private @loss(%x: tensor<4xf64>, %w: tensor<4xf32>) -> tensor<f32> {
  %n = arith.truncf %x : tensor<4xf64> to tensor<4xbf16>
  %e = arith.extf %n : tensor<4xbf16> to tensor<4xf32>
  %p = arith.mulf %e, %w : tensor<4xf32>
  %l = weft.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// What is gathered is added back at the clamped indices.

// CHECK-LABEL: func.func @gathered(
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32>, %[[I:.*]]: tensor<3xi32>)
// CHECK: %[[LOW:.*]] = arith.maxsi %[[I]], %{{.*}} : tensor<3xi32>
// CHECK: %[[CLAMPED:.*]] = arith.minsi %[[LOW]], %{{.*}} : tensor<3xi32>
// CHECK: %[[DX:.*]] = weft.scatter_add %{{.*}}, %[[CLAMPED]] dim = 0 : (tensor<3x4xf32>, tensor<3xi32>) -> tensor<8x4xf32>
// CHECK: return %[[DX]]
func.func @gathered(%x: tensor<8x4xf32>, %i: tensor<3xi32>) -> tensor<8x4xf32> {
  %r:2 = weft.value_and_grad @loss(%x, %i) wrt = [0] : (tensor<8x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<8x4xf32>)
  return %r#1 : tensor<8x4xf32>
}
func.func private @loss(%x: tensor<8x4xf32>, %i: tensor<3xi32>) -> tensor<f32> {
  %g = weft.gather %x, %i dim = 0 : (tensor<8x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  %h = math.tanh %g : tensor<3x4xf32>
  %l = weft.reduce sum %h dims = [0, 1] : tensor<3x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Updates that were dropped get nothing.

// CHECK-LABEL: func.func @scattered(
// CHECK-SAME: %[[U:.*]]: tensor<3x4xf32>, %[[I:.*]]: tensor<3xi32>)
// CHECK: %[[TAKEN:.*]] = weft.gather %{{.*}}, %[[I]] dim = 0
// CHECK: %[[LOW:.*]] = arith.cmpi sge, %[[I]]
// CHECK: %[[HIGH:.*]] = arith.cmpi slt, %[[I]]
// CHECK: %[[KEPT:.*]] = arith.andi %[[LOW]], %[[HIGH]]
// CHECK: %[[ROWS:.*]] = weft.broadcast %[[KEPT]] dims = [0] : tensor<3xi1> -> tensor<3x4xi1>
// CHECK: %[[DU:.*]] = arith.select %[[ROWS]], %[[TAKEN]], %{{.*}}
// CHECK: return %[[DU]]
func.func @scattered(%u: tensor<3x4xf32>, %i: tensor<3xi32>) -> tensor<3x4xf32> {
  %r:2 = weft.value_and_grad @loss(%u, %i) wrt = [0] : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3x4xf32>)
  return %r#1 : tensor<3x4xf32>
}
func.func private @loss(%u: tensor<3x4xf32>, %i: tensor<3xi32>) -> tensor<f32> {
  %s = weft.scatter_add %u, %i dim = 0 : (tensor<3x4xf32>, tensor<3xi32>) -> tensor<8x4xf32>
  %h = math.tanh %s : tensor<8x4xf32>
  %l = weft.reduce sum %h dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A slice is padded back to its place, and the other way round.

// CHECK-LABEL: func.func @sliced(
// CHECK: weft.pad %{{.*}} low = [1, 0] high = [2, 0] interior = [1, 0] value = 0.000000e+00 : f32 : tensor<3x4xf32> -> tensor<8x4xf32>
// CHECK-LABEL: func.func @padded(
// CHECK: weft.slice %{{.*}} starts = [1, 0] limits = [6, 4] strides = [2, 1] : tensor<8x4xf32> -> tensor<3x4xf32>
func.func @sliced(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r:2 = weft.value_and_grad @slice(%x) wrt = [0] : (tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>)
  return %r#1 : tensor<8x4xf32>
}
func.func private @slice(%x: tensor<8x4xf32>) -> tensor<f32> {
  %s = weft.slice %x starts = [1, 0] limits = [6, 4] strides = [2, 1] : tensor<8x4xf32> -> tensor<3x4xf32>
  %h = math.tanh %s : tensor<3x4xf32>
  %l = weft.reduce sum %h dims = [0, 1] : tensor<3x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
func.func @padded(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r:2 = weft.value_and_grad @pad(%x) wrt = [0] : (tensor<3x4xf32>) -> (tensor<f32>, tensor<3x4xf32>)
  return %r#1 : tensor<3x4xf32>
}
func.func private @pad(%x: tensor<3x4xf32>) -> tensor<f32> {
  %s = weft.pad %x low = [1, 0] high = [2, 0] interior = [1, 0] value = 0.0 : f32 : tensor<3x4xf32> -> tensor<8x4xf32>
  %h = math.tanh %s : tensor<8x4xf32>
  %l = weft.reduce sum %h dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
