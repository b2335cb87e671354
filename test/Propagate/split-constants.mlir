// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-split-constants --split-input-file | FileCheck %s

// Each use of a constant gets its own, so that the two uses can be split
// differently.

// CHECK-LABEL: func.func @two_uses
func.func @two_uses(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-DAG: %[[FIRST:.*]] = arith.constant dense<2.0
  // CHECK-DAG: %[[SECOND:.*]] = arith.constant dense<2.0
  %c = arith.constant dense<2.0> : tensor<8xf32>
  // CHECK: arith.mulf %{{.*}}, %[[A:.*]] :
  // CHECK-NOT: arith.mulf %{{.*}}, %[[A]] :
  // CHECK: arith.mulf %{{.*}}, %{{.*}} :
  %a = arith.mulf %x, %c : tensor<8xf32>
  %b = arith.mulf %y, %c : tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// Whole expressions are copied: iota, broadcast, elementwise. Scalars are
// shared.

// CHECK-LABEL: func.func @expression
func.func @expression(%x: tensor<4x8xi32>, %y: tensor<4x8xi32>) -> (tensor<4x8xi32>, tensor<4x8xi32>) {
  // CHECK-COUNT-1: arith.constant dense<3> : tensor<i32>
  // CHECK-NOT: arith.constant
  // CHECK: weft.iota
  // CHECK: weft.iota
  // CHECK-NOT: weft.iota
  // CHECK: arith.addi %{{.*}}, %[[E1:.*]] :
  // CHECK: arith.addi %{{.*}}, %{{.*}} :
  %c = arith.constant dense<3> : tensor<i32>
  %b = weft.broadcast %c dims = [] : tensor<i32> -> tensor<4x8xi32>
  %i = weft.iota dim = 1 : tensor<4x8xi32>
  %e = arith.muli %b, %i : tensor<4x8xi32>
  %p = arith.addi %x, %e : tensor<4x8xi32>
  %q = arith.addi %y, %e : tensor<4x8xi32>
  return %p, %q : tensor<4x8xi32>, tensor<4x8xi32>
}

// -----

// Two expressions that share a part are separated.

// CHECK-LABEL: func.func @shared_part
func.func @shared_part(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[C1:.*]] = arith.constant
  // CHECK: arith.negf %[[C1]]
  // CHECK: %[[C2:.*]] = arith.constant
  // CHECK: math.exp %[[C2]]
  // CHECK: arith.mulf
  %c = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %n = arith.negf %c : tensor<8xf32>
  %e = math.exp %c : tensor<8xf32>
  %a = arith.mulf %x, %n : tensor<8xf32>
  %b = arith.mulf %x, %e : tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// A scalar that varies is as good as a constant: every device has it.

// CHECK-LABEL: func.func @varying_scalar
func.func @varying_scalar(%rate: tensor<f32>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[RATE:.*]] = arith.negf %{{.*}} : tensor<f32>
  // CHECK-NOT: arith.negf
  // CHECK: weft.broadcast %[[RATE]]
  // CHECK: weft.broadcast %[[RATE]]
  // CHECK: arith.mulf %{{.*}}, %[[A:.*]] :
  // CHECK-NOT: arith.mulf %{{.*}}, %[[A]] :
  // CHECK: arith.mulf %{{.*}}, %{{.*}} :
  %r = arith.negf %rate : tensor<f32>
  %b = weft.broadcast %r dims = [] : tensor<f32> -> tensor<8xf32>
  %a = arith.mulf %x, %b : tensor<8xf32>
  %c = arith.mulf %y, %b : tensor<8xf32>
  return %a, %c : tensor<8xf32>, tensor<8xf32>
}

// -----

// Nothing to do: one use, a scalar, and a chain that varies.

// CHECK-LABEL: func.func @nothing
func.func @nothing(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>) {
  // CHECK-COUNT-2: arith.constant
  // CHECK-NOT: arith.constant
  // CHECK: math.exp
  // CHECK-NOT: math.exp
  %c = arith.constant dense<2.0> : tensor<8xf32>
  %s = arith.constant dense<1.0> : tensor<f32>
  %a = arith.mulf %x, %c : tensor<8xf32>
  %e = math.exp %a : tensor<8xf32>
  %y = arith.addf %e, %x : tensor<8xf32>
  %z = arith.subf %e, %x : tensor<8xf32>
  return %y, %z, %s, %s : tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>
}

// -----

// A constraint is an annotation of one use: it is never copied.

weft.mesh @mesh = <["a"=2]>
// CHECK-LABEL: func.func @constraint
func.func @constraint(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-COUNT-1: weft.constraint
  // CHECK-NOT: weft.constraint
  %c = arith.constant dense<2.0> : tensor<8xf32>
  %k = weft.constraint %c <@mesh, [{"a"}]> : tensor<8xf32>
  %a = arith.mulf %x, %k : tensor<8xf32>
  %b = arith.addf %x, %k : tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}
