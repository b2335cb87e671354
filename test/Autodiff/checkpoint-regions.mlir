// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-checkpoint-regions | FileCheck %s --check-prefix=MARKS
// RUN: shard-opt %s --weft-checkpoint-regions=ranges=1:2 | FileCheck %s

// The residual leads from region to region, also over the block of two products;
// between those the block's input is alive as well.

// CHECK-LABEL: module attributes {weft.chains = array<i64: 3, 1, 2, 1>}
// CHECK: func.func private @loss(%[[X:.*]]: tensor<4x4xf32>, %[[V:.*]]: tensor<4x4xf32>, %[[W:.*]]: tensor<4x4xf32>
// CHECK-NEXT: %[[S:.*]] = weft.dot_general %[[X]], %[[V]]
// CHECK-NEXT: %[[H:.*]] = math.tanh %[[S]]
// CHECK-NEXT: %[[Y:.*]] = weft.checkpoint @loss_region(%[[H]], %[[V]], %[[W]]) policy = "nothing"
// CHECK-NEXT: %[[Z:.*]] = weft.dot_general %[[Y]], %[[V]]
// CHECK: func.func private @loss_region(%[[H:.*]]: tensor<4x4xf32>, %[[V:.*]]: tensor<4x4xf32>, %[[W:.*]]: tensor<4x4xf32>)
// The constant that region 0 has made is copied.
// CHECK-NEXT: %[[C:.*]] = arith.constant {{.*}}dense<5.000000e-01>
// CHECK-NEXT: %[[UP:.*]] = weft.dot_general %[[H]], %[[V]]
// CHECK-NEXT: %[[HALF:.*]] = arith.mulf %[[UP]], %[[C]]
// CHECK-NEXT: %[[DOWN:.*]] = weft.dot_general %[[HALF]], %[[W]]
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[H]], %[[DOWN]]
// CHECK-NEXT: return %[[Y]]

// MARKS: math.tanh {{.*}} {weft.origin = #weft.origin<regions = [0]>}
// MARKS: arith.addf {{.*}} {weft.origin = #weft.origin<regions = [1]>}
// MARKS: weft.reduce {{.*}} {weft.origin = #weft.origin<regions = [2]>}
func.func @step(%x: tensor<4x4xf32>, %v: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %r:2 = weft.value_and_grad @loss(%x, %v, %w) wrt = [1]
      : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4x4xf32>
}
func.func private @loss(%x: tensor<4x4xf32>, %v: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<f32> {
  %c = arith.constant dense<0.5> : tensor<4x4xf32>
  %s = weft.dot_general %x, %v contracting = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = math.tanh %s : tensor<4x4xf32>
  %up = weft.dot_general %h, %v contracting = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %half = arith.mulf %up, %c : tensor<4x4xf32>
  %down = weft.dot_general %half, %w contracting = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = arith.addf %h, %down : tensor<4x4xf32>
  %z = weft.dot_general %y, %v contracting = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %l = weft.reduce sum %z dims = [0, 1] : tensor<4x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// A program that differentiates nothing has no chain.
// RUN: shard-opt %s --weft-checkpoint-regions --weft-autodiff --symbol-dce | shard-opt --weft-checkpoint-regions=ranges=0:1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: weft.chains = array<i64>
// NOTHING-NOT: weft.checkpoint

// Ranges lie within each other; of a region the products may be kept.
// RUN: shard-opt %s --weft-checkpoint-regions=ranges=0:2,0:1,2:3:dots | FileCheck %s --check-prefix=RANGES
// RANGES: func.func private @loss(
// RANGES-NEXT: %[[Y:.*]] = weft.checkpoint @[[OUTER:.*]](%{{.*}}) policy = "nothing"
// RANGES-NEXT: %[[L:.*]] = weft.checkpoint @[[LAST:.*]](%[[Y]], %{{.*}}) policy = "dots"
// RANGES-NEXT: return %[[L]]
// RANGES: func.func private @[[INNER:loss_region.*]](
// RANGES: math.tanh
// RANGES: func.func private @[[LAST]](
// RANGES: weft.reduce
// RANGES: func.func private @[[OUTER]](
// RANGES: weft.checkpoint @[[INNER]]
// RANGES: weft.dot_general

// A value that is used both in its region and behind it is replaced behind it only.
// RUN: shard-opt %s --weft-checkpoint-regions=ranges=3:4 | FileCheck %s --check-prefix=SHARED
// SHARED: func.func private @products(
// SHARED-NEXT: %[[CALL:.*]]:2 = weft.checkpoint @products_region(
// SHARED-NEXT: weft.dot_general %[[CALL]]#0, %[[CALL]]#1
// SHARED: func.func private @products_region(
// SHARED-NEXT: %[[T:.*]] = math.tanh
// SHARED-NEXT: %[[A:.*]] = weft.dot_general %[[T]], %
// SHARED-NEXT: return %[[T]], %[[A]]
func.func @products_step(%x: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %r:2 = weft.value_and_grad @products(%x, %v) wrt = [1]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4x4xf32>
}
func.func private @products(%x: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> tensor<f32> {
  %t = math.tanh %x : tensor<4x4xf32>
  %a = weft.dot_general %t, %v contracting = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = weft.dot_general %t, %a contracting = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %l = weft.reduce sum %b dims = [0, 1] : tensor<4x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// RUN: not shard-opt %s --weft-checkpoint-regions=ranges=2:1,a:b,0:1:all 2>&1 | FileCheck %s --check-prefix=ERRORS
// ERRORS: error: ranges: expected first:end or first:end:dots with first < end, got "2:1"
// ERRORS: error: ranges: expected first:end or first:end:dots with first < end, got "a:b"
// ERRORS: error: ranges: expected first:end or first:end:dots with first < end, got "0:1:all"
