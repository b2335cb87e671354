// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-split-collectives=pieces=2 | FileCheck %s

weft.mesh @mesh = <["data"=2, "tensor"=2]>

// The documented example: an MLP of tensor and sequence parallelism. While rows
// of one sequence are gathered, those of the other are multiplied.
// CHECK-LABEL: @mlp
// CHECK-SAME: %[[X:.*]]: tensor<2x4x16xf32>, %[[UP:.*]]: tensor<16x32xf32>, %[[DOWN:.*]]: tensor<32x16xf32>
func.func @mlp(%x: tensor<2x4x16xf32>, %up: tensor<16x32xf32>, %down: tensor<32x16xf32>) -> tensor<2x4x16xf32> {
  // CHECK: %[[NORM:.*]] = math.tanh %[[X]]
  // CHECK-DAG: %[[N0:.*]] = weft.slice %[[NORM]] starts = [0, 0, 0] limits = [1, 4, 16]
  // CHECK-DAG: %[[N1:.*]] = weft.slice %[[NORM]] starts = [1, 0, 0] limits = [2, 4, 16]
  // CHECK: %[[G0:.*]] = weft.all_gather %[[N0]] dim = 1 over <@mesh, {"tensor"}> {weft.piece = array<i64: 0, 2>} : tensor<1x4x16xf32> -> tensor<1x8x16xf32>
  // CHECK: %[[G1:.*]] = weft.all_gather %[[N1]] dim = 1 over <@mesh, {"tensor"}> {weft.piece = array<i64: 1, 2>}
  // CHECK: %[[H0:.*]] = weft.dot_general %[[G0]], %[[UP]] contracting = [2] x [0]
  // CHECK: %[[A0:.*]] = math.tanh %[[H0]]
  // CHECK: %[[Y0:.*]] = weft.dot_general %[[A0]], %[[DOWN]] contracting = [2] x [0]
  // CHECK: %[[R0:.*]] = weft.reduce_scatter sum %[[Y0]] dim = 1
  // CHECK: %[[H1:.*]] = weft.dot_general %[[G1]], %[[UP]] contracting = [2] x [0]
  // CHECK: %[[R1:.*]] = weft.reduce_scatter sum
  // CHECK: %[[R:.*]] = weft.concat %[[R0]], %[[R1]] dim = 0
  // CHECK: return %[[R]]
  %norm = math.tanh %x : tensor<2x4x16xf32>
  %0 = weft.all_gather %norm dim = 1 over <@mesh, {"tensor"}> : tensor<2x4x16xf32> -> tensor<2x8x16xf32>
  %1 = weft.dot_general %0, %up contracting = [2] x [0] : (tensor<2x8x16xf32>, tensor<16x32xf32>) -> tensor<2x8x32xf32>
  %2 = math.tanh %1 : tensor<2x8x32xf32>
  %3 = weft.dot_general %2, %down contracting = [2] x [0] : (tensor<2x8x32xf32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %4 = weft.reduce_scatter sum %3 dim = 1 over <@mesh, {"tensor"}> : tensor<2x8x16xf32> -> tensor<2x4x16xf32>
  return %4 : tensor<2x4x16xf32>
}

// One sequence: pieces are of its rows, in an order that no op between an
// all-gather and a reduce-scatter asks for. The gradient of the weight is that
// of all rows, which lie side by side.
// CHECK-LABEL: @order
func.func @order(%x: tensor<1x4x16xf32>, %w: tensor<16x32xf32>, %dy: tensor<1x4x32xf32>)
    -> (tensor<1x4x16xf32>, tensor<16x32xf32>) {
  // CHECK: %[[G0:.*]] = weft.all_gather {{.*}} : tensor<1x2x16xf32> -> tensor<1x4x16xf32>
  // CHECK: %[[G1:.*]] = weft.all_gather
  // CHECK: %[[ALL_X:.*]] = weft.concat %[[G0]], %[[G1]] dim = 1
  // CHECK: %[[D0:.*]] = weft.all_gather {{.*}} : tensor<1x2x32xf32> -> tensor<1x4x32xf32>
  // CHECK: %[[D1:.*]] = weft.all_gather
  // CHECK: %[[ALL_D:.*]] = weft.concat %[[D0]], %[[D1]] dim = 1
  // CHECK: %[[DX0:.*]] = weft.dot_general %[[D0]], %{{.*}} contracting = [2] x [1]
  // CHECK: weft.reduce_scatter sum %[[DX0]] dim = 1 {{.*}} : tensor<1x4x16xf32> -> tensor<1x2x16xf32>
  // CHECK: weft.dot_general %[[D1]]
  // CHECK: weft.reduce_scatter
  // CHECK: weft.dot_general %[[ALL_X]], %[[ALL_D]] contracting = [0, 1] x [0, 1]
  %own = math.tanh %x : tensor<1x4x16xf32>
  %cotangent = math.tanh %dy : tensor<1x4x32xf32>
  %rows = weft.all_gather %own dim = 1 over <@mesh, {"tensor"}> : tensor<1x4x16xf32> -> tensor<1x8x16xf32>
  %d = weft.all_gather %cotangent dim = 1 over <@mesh, {"tensor"}> : tensor<1x4x32xf32> -> tensor<1x8x32xf32>
  %dx = weft.dot_general %d, %w contracting = [2] x [1] : (tensor<1x8x32xf32>, tensor<16x32xf32>) -> tensor<1x8x16xf32>
  %sum = weft.reduce_scatter sum %dx dim = 1 over <@mesh, {"tensor"}> : tensor<1x8x16xf32> -> tensor<1x4x16xf32>
  %dw = weft.dot_general %rows, %d contracting = [0, 1] x [0, 1] : (tensor<1x8x16xf32>, tensor<1x8x32xf32>) -> tensor<16x32xf32>
  return %sum, %dw : tensor<1x4x16xf32>, tensor<16x32xf32>
}

// What is scattered over other ranks than it is gathered from would come in
// another order.
// CHECK-LABEL: @ranks
func.func @ranks(%x: tensor<1x4x16xf32>, %w: tensor<16x16xf32>) -> tensor<1x2x16xf32> {
  // CHECK: weft.all_gather {{.*}} -> tensor<1x8x16xf32>
  // CHECK: weft.reduce_scatter {{.*}} : tensor<1x8x16xf32>
  %own = math.tanh %x : tensor<1x4x16xf32>
  %rows = weft.all_gather %own dim = 1 over <@mesh, {"tensor"}> : tensor<1x4x16xf32> -> tensor<1x8x16xf32>
  %0 = weft.dot_general %rows, %w contracting = [2] x [0] : (tensor<1x8x16xf32>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
  %1 = weft.reduce_scatter sum %0 dim = 1 over <@mesh, {"data", "tensor"}> : tensor<1x8x16xf32> -> tensor<1x2x16xf32>
  return %1 : tensor<1x2x16xf32>
}

// A sum over rows is that of the pieces' sums, where it reads them anyway.
// CHECK-LABEL: @sum
func.func @sum(%x: tensor<2x4x16xf32>, %w: tensor<16x16xf32>) -> (tensor<2x4x16xf32>, tensor<16xf32>) {
  // CHECK: %[[S0:.*]] = weft.reduce sum %{{.*}} dims = [0, 1] {{.*}} : tensor<1x4x16xf32>
  // CHECK: %[[S1:.*]] = weft.reduce sum %{{.*}} dims = [0, 1] {{.*}} : tensor<1x4x16xf32>
  // CHECK: arith.addf %[[S0]], %[[S1]] : tensor<16xf32>
  %0 = weft.dot_general %x, %w contracting = [2] x [0] : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
  %1 = weft.all_reduce sum %0 over <@mesh, {"tensor"}> : tensor<2x4x16xf32>
  %2 = weft.reduce sum %1 dims = [0, 1] : tensor<2x4x16xf32> -> tensor<16xf32>
  return %1, %2 : tensor<2x4x16xf32>, tensor<16xf32>
}

// Attention knows which position a row has.
// CHECK-LABEL: @positions
func.func @positions(%x: tensor<1x4x16xf32>, %w: tensor<16x16xf32>) -> tensor<1x8x1x16xf32> {
  // CHECK: weft.all_gather {{.*}} -> tensor<1x8x16xf32>
  // CHECK-NOT: weft.concat
  // CHECK: return
  %own = math.tanh %x : tensor<1x4x16xf32>
  %rows = weft.all_gather %own dim = 1 over <@mesh, {"tensor"}> : tensor<1x4x16xf32> -> tensor<1x8x16xf32>
  %q = weft.dot_general %rows, %w contracting = [2] x [0] : (tensor<1x8x16xf32>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
  %heads = weft.reshape %q : tensor<1x8x16xf32> -> tensor<1x8x1x16xf32>
  %out, %lse = weft.attention %heads, %heads, %heads causal scale = 0.25
      : (tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>) -> (tensor<1x8x1x16xf32>, tensor<1x8x1xf32>)
  return %out : tensor<1x8x1x16xf32>
}


// Images of a batch are convolved while others of it are summed.
// CHECK-LABEL: @convolution
// CHECK-SAME: %[[X:.*]]: tensor<4x8x3xf32>, %[[W:.*]]: tensor<3x3x16xf32>
func.func @convolution(%x: tensor<4x8x3xf32>, %w: tensor<3x3x16xf32>) -> tensor<4x8x16xf32> {
  // CHECK-DAG: %[[X0:.*]] = weft.slice %[[X]] starts = [0, 0, 0] limits = [2, 8, 3]
  // CHECK-DAG: %[[X1:.*]] = weft.slice %[[X]] starts = [2, 0, 0] limits = [4, 8, 3]
  // CHECK: %[[Y0:.*]] = weft.convolution %[[X0]], %[[W]] {{.*}} -> tensor<2x8x16xf32>
  // CHECK: %[[R0:.*]] = weft.all_reduce sum %[[Y0]]
  // CHECK: %[[Y1:.*]] = weft.convolution %[[X1]], %[[W]]
  // CHECK: %[[R1:.*]] = weft.all_reduce sum %[[Y1]]
  // CHECK: %[[R:.*]] = weft.concat %[[R0]], %[[R1]] dim = 0
  // CHECK: return %[[R]]
  %y = weft.convolution %x, %w strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 1
      : (tensor<4x8x3xf32>, tensor<3x3x16xf32>) -> tensor<4x8x16xf32>
  %r = weft.all_reduce sum %y over <@mesh, {"tensor"}> : tensor<4x8x16xf32>
  return %r : tensor<4x8x16xf32>
}
