// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-join-paddings | FileCheck %s

// The documented example: the gradients of three slices of a fused projection.
// CHECK-LABEL: func.func @thirds
// CHECK-SAME:    %[[Q:.*]]: tensor<2x4xf32>, %[[K:.*]]: tensor<2x4xf32>, %[[V:.*]]: tensor<2x4xf32>
// CHECK-NEXT:    %[[ALL:.*]] = weft.concat %[[Q]], %[[K]], %[[V]] dim = 1 {weft.origin = #weft.origin<backward = true>}
// CHECK-NEXT:    return %[[ALL]]
func.func @thirds(%q: tensor<2x4xf32>, %k: tensor<2x4xf32>, %v: tensor<2x4xf32>) -> tensor<2x12xf32> {
  %0 = weft.pad %v low = [0, 8] high = [0, 0] interior = [0, 0] value = 0.0 : f32 : tensor<2x4xf32> -> tensor<2x12xf32>
  %1 = weft.pad %k low = [0, 4] high = [0, 4] interior = [0, 0] value = 0.0 : f32 : tensor<2x4xf32> -> tensor<2x12xf32>
  %2 = arith.addf %0, %1 : tensor<2x12xf32>
  %3 = weft.pad %q low = [0, 0] high = [0, 8] interior = [0, 0] value = 0.0 : f32 : tensor<2x4xf32> -> tensor<2x12xf32>
  %4 = arith.addf %2, %3 {weft.origin = #weft.origin<backward = true>} : tensor<2x12xf32>
  return %4 : tensor<2x12xf32>
}

// Zeros between them, and at the ends; another term stays one.
// CHECK-LABEL: func.func @apart
// CHECK-SAME:    %[[A:.*]]: tensor<3xi32>, %[[B:.*]]: tensor<2xi32>, %[[C:.*]]: tensor<9xi32>
// CHECK-NEXT:    %[[GAP:.*]] = arith.constant dense<0> : tensor<1xi32>
// CHECK-NEXT:    %[[BOTH:.*]] = weft.concat %[[A]], %[[GAP]], %[[B]] dim = 0
// CHECK-NEXT:    %[[ALL:.*]] = weft.pad %[[BOTH]] low = [1] high = [2]
// CHECK-NEXT:    %[[SUM:.*]] = arith.addi %[[C]], %[[ALL]]
// CHECK-NEXT:    return %[[SUM]]
func.func @apart(%a: tensor<3xi32>, %b: tensor<2xi32>, %c: tensor<9xi32>) -> tensor<9xi32> {
  %0 = weft.pad %a low = [1] high = [5] interior = [0] value = 0 : i32 : tensor<3xi32> -> tensor<9xi32>
  %1 = weft.pad %b low = [5] high = [2] interior = [0] value = 0 : i32 : tensor<2xi32> -> tensor<9xi32>
  %2 = arith.addi %0, %c : tensor<9xi32>
  %3 = arith.addi %2, %1 : tensor<9xi32>
  return %3 : tensor<9xi32>
}

// Of those that overlap the first, and those of another dimension.
// CHECK-LABEL: func.func @overlapping
// CHECK-SAME:    %[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<2x1xf32>, %[[C:.*]]: tensor<1x4xf32>, %[[D:.*]]: tensor<1x4xf32>
// CHECK-NEXT:    %[[LATE:.*]] = weft.pad %[[B]] low = [0, 2]
// CHECK-NEXT:    %[[EARLY:.*]] = weft.pad %[[A]] low = [0, 0]
// CHECK-NEXT:    %[[ROWS:.*]] = weft.concat %[[C]], %[[D]] dim = 0
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[LATE]], %[[EARLY]]
// CHECK-NEXT:    %[[T:.*]] = arith.addf %[[S]], %[[ROWS]]
// CHECK-NEXT:    return %[[T]]
func.func @overlapping(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>, %c: tensor<1x4xf32>, %d: tensor<1x4xf32>) -> tensor<2x4xf32> {
  %0 = weft.pad %b low = [0, 2] high = [0, 1] interior = [0, 0] value = 0.0 : f32 : tensor<2x1xf32> -> tensor<2x4xf32>
  %1 = weft.pad %a low = [0, 0] high = [0, 1] interior = [0, 0] value = 0.0 : f32 : tensor<2x3xf32> -> tensor<2x4xf32>
  %2 = weft.pad %d low = [1, 0] high = [0, 0] interior = [0, 0] value = 0.0 : f32 : tensor<1x4xf32> -> tensor<2x4xf32>
  %3 = weft.pad %c low = [0, 0] high = [1, 0] interior = [0, 0] value = 0.0 : f32 : tensor<1x4xf32> -> tensor<2x4xf32>
  %4 = arith.addf %0, %1 : tensor<2x4xf32>
  %5 = arith.addf %2, %3 : tensor<2x4xf32>
  %6 = arith.addf %4, %5 : tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}

// The first of the paddings overlaps.
// CHECK-LABEL: func.func @first_overlaps
// CHECK-SAME:    %[[A:.*]]: tensor<3xf32>, %[[B:.*]]: tensor<2xf32>, %[[C:.*]]: tensor<2xf32>
// CHECK-NEXT:    %[[PAD:.*]] = weft.pad %[[A]]
// CHECK-NEXT:    %[[JOINED:.*]] = weft.concat %[[B]], %[[C]] dim = 0
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %[[PAD]], %[[JOINED]]
// CHECK-NEXT:    return %[[SUM]]
func.func @first_overlaps(%a: tensor<3xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) -> tensor<4xf32> {
  %0 = weft.pad %a low = [1] high = [0] interior = [0] value = 0.0 : f32 : tensor<3xf32> -> tensor<4xf32>
  %1 = weft.pad %b low = [0] high = [2] interior = [0] value = 0.0 : f32 : tensor<2xf32> -> tensor<4xf32>
  %2 = weft.pad %c low = [2] high = [0] interior = [0] value = 0.0 : f32 : tensor<2xf32> -> tensor<4xf32>
  %3 = arith.addf %0, %1 : tensor<4xf32>
  %4 = arith.addf %3, %2 : tensor<4xf32>
  return %4 : tensor<4xf32>
}

// Another value than zero, elements in between, two dimensions, another user.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     weft.concat
// CHECK:         return
func.func @others(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<1x1xf32>, %d: tensor<1x1xf32>)
    -> (tensor<4xf32>, tensor<5xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = weft.pad %a low = [0] high = [2] interior = [0] value = 1.0 : f32 : tensor<2xf32> -> tensor<4xf32>
  %1 = weft.pad %b low = [2] high = [0] interior = [0] value = 0.0 : f32 : tensor<2xf32> -> tensor<4xf32>
  %r0 = arith.addf %0, %1 : tensor<4xf32>
  %2 = weft.pad %a low = [0] high = [2] interior = [1] value = 0.0 : f32 : tensor<2xf32> -> tensor<5xf32>
  %3 = weft.pad %b low = [3] high = [0] interior = [0] value = 0.0 : f32 : tensor<2xf32> -> tensor<5xf32>
  %r1 = arith.addf %2, %3 : tensor<5xf32>
  %4 = weft.pad %c low = [0, 0] high = [1, 1] interior = [0, 0] value = 0.0 : f32 : tensor<1x1xf32> -> tensor<2x2xf32>
  %5 = weft.pad %d low = [1, 1] high = [0, 0] interior = [0, 0] value = 0.0 : f32 : tensor<1x1xf32> -> tensor<2x2xf32>
  %r2 = arith.addf %4, %5 : tensor<2x2xf32>
  %6 = weft.pad %a low = [0] high = [2] interior = [0] value = 0.0 : f32 : tensor<2xf32> -> tensor<4xf32>
  %7 = weft.pad %b low = [2] high = [0] interior = [0] value = 0.0 : f32 : tensor<2xf32> -> tensor<4xf32>
  %r3 = arith.addf %6, %7 : tensor<4xf32>
  return %r0, %r1, %r2, %r3, %6 : tensor<4xf32>, tensor<5xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>
}
