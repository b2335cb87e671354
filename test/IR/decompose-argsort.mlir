// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-decompose | FileCheck %s
// RUN: shard-opt %s --weft-decompose=keep-cpu-instructions | FileCheck %s --check-prefix=KEPT
// Those of more than 32 elements.
// KEPT-NOT: weft.argsort %{{.*}}tensor<4x8xf32>
// KEPT: weft.argsort

// Few elements: for each the number of those before it, and the element of each
// place.

// CHECK-LABEL: func.func @counted(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : tensor<4x8xf32> to tensor<4x8xi32>
// CHECK: %[[KEYS:.*]] = arith.xori %[[BITS]],
// CHECK: %[[OWN:.*]] = weft.broadcast %[[KEYS]] dims = [0, 1] : tensor<4x8xi32> -> tensor<4x8x8xi32>
// CHECK: %[[OTHER:.*]] = weft.broadcast %[[KEYS]] dims = [0, 2] : tensor<4x8xi32> -> tensor<4x8x8xi32>
// CHECK: arith.cmpi sgt, %[[OWN]], %[[OTHER]]
// CHECK: %[[PLACE:.*]] = weft.reduce sum %{{.*}} dims = [2]
// CHECK: weft.broadcast %[[PLACE]] dims = [0, 2]
// CHECK: weft.reduce sum %{{.*}} dims = [2] : tensor<4x8x8xi32> -> tensor<4x8xi32>
func.func @counted(%x: tensor<4x8xf32>) -> tensor<4x8xi32> {
  %r = weft.argsort %x dim = 1 : tensor<4x8xf32> -> tensor<4x8xi32>
  return %r : tensor<4x8xi32>
}

// The first ones: the least, and the least of those that are left.

// CHECK-LABEL: func.func @selected(
// CHECK: %[[LEAST:.*]] = weft.reduce min %{{.*}} dims = [1] : tensor<4x8xi32> -> tensor<4xi32>
// CHECK: %[[INDEX:.*]] = weft.reduce min
// CHECK: weft.slice
// CHECK: arith.select
// CHECK: weft.reduce min
// CHECK: weft.reduce min
// CHECK: weft.concat %{{.*}} dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
func.func @selected(%x: tensor<4x8xi32>) -> tensor<4x2xi32> {
  %r = weft.argsort %x dim = 1 descending : tensor<4x8xi32> -> tensor<4x2xi32>
  return %r : tensor<4x2xi32>
}

// Many elements: pairs at distances 1; 2, 1; 4, 2, 1; ... are exchanged. What
// pads them to a power of two comes last.

// CHECK-LABEL: func.func @network(
// CHECK: weft.transpose %arg0
// CHECK: arith.xori %{{.*}} : tensor<3x1200xi32>
// CHECK: weft.pad %{{.*}} high = [0, 848] interior = [0, 0] value = 2147483647 : i32
// CHECK: weft.reshape %{{.*}} : tensor<3x2048xi32> -> tensor<3x1024x2x1xi32>
// CHECK: weft.reshape %{{.*}} : tensor<3x2048xi32> -> tensor<3x512x2x2xi32>
// CHECK: weft.reshape %{{.*}} : tensor<3x2048xi32> -> tensor<3x1x2x1024xi32>
// CHECK: %[[ORDER:.*]] = weft.slice %{{.*}} limits = [3, 1200]
// CHECK: weft.transpose %[[ORDER]]
func.func @network(%x: tensor<1200x3xi32>) -> tensor<1200x3xi32> {
  %r = weft.argsort %x dim = 0 descending : tensor<1200x3xi32> -> tensor<1200x3xi32>
  return %r : tensor<1200x3xi32>
}
