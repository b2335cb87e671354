// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-hoist-releases | FileCheck %s

weft.mesh @mesh = <["data"=2]>
func.func private @scale(%g: tensor<64xf32>) -> tensor<64xf32> attributes {weft.kernel}
func.func private @update(%w: tensor<64xf32>, %g: tensor<64xf32>) -> tensor<64xf32> attributes {weft.kernel}
func.func private @backward(%w: tensor<64xf32>, %g: tensor<64xf32>) -> tensor<64xf32> attributes {weft.kernel}
func.func private @widen(%g: tensor<64xf32>) -> tensor<128xf32> attributes {weft.kernel}

// The documented example: the update of w2 does not wait for the backward pass
// of w1, and does not come before the last use of w2.
// CHECK-LABEL: @step
// CHECK-SAME: %[[W1:.*]]: tensor<64xf32>, %[[W2:.*]]: tensor<64xf32>, %[[X:.*]]: tensor<64xf32>
func.func @step(%w1: tensor<64xf32>, %w2: tensor<64xf32>, %x: tensor<64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK: %[[G2:.*]] = weft.launch @backward(%[[X]], %[[X]])
  // CHECK: %[[S2:.*]] = weft.launch @scale(%[[G2]])
  // CHECK: %[[R2:.*]] = weft.all_reduce sum %[[S2]]
  // CHECK: %[[G1:.*]] = weft.launch @backward(%[[W2]], %[[X]])
  // CHECK: %[[N2:.*]] = weft.launch @update(%[[W2]], %[[R2]])
  // CHECK: %[[H:.*]] = weft.launch @backward(%[[G1]], %[[X]])
  // CHECK: %[[N1:.*]] = weft.launch @update(%[[W1]], %[[H]])
  // CHECK: return %[[N1]], %[[N2]]
  %g2 = weft.launch @backward(%x, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %g1 = weft.launch @backward(%w2, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %h = weft.launch @backward(%g1, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %n1 = weft.launch @update(%w1, %h) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %s2 = weft.launch @scale(%g2) : (tensor<64xf32>) -> tensor<64xf32>
  %r2 = weft.all_reduce sum %s2 over <@mesh, {"data"}> : tensor<64xf32>
  %n2 = weft.launch @update(%w2, %r2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %n1, %n2 : tensor<64xf32>, tensor<64xf32>
}

// What needs more memory than it frees stays.
// CHECK-LABEL: @stays
func.func @stays(%x: tensor<64xf32>) -> (tensor<128xf32>, tensor<64xf32>) {
  // CHECK: weft.launch @scale
  // CHECK: weft.launch @backward
  // CHECK: weft.launch @widen
  %a = weft.launch @scale(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %b = weft.launch @backward(%x, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %c = weft.launch @widen(%a) : (tensor<64xf32>) -> tensor<128xf32>
  return %c, %b : tensor<128xf32>, tensor<64xf32>
}

// A value that is used later, here through a view, is not freed.
// CHECK-LABEL: @view
func.func @view(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<8x8xf32>) {
  // CHECK: weft.launch @scale
  // CHECK: weft.launch @backward
  // CHECK: weft.launch @scale
  %a = weft.launch @scale(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %b = weft.launch @backward(%x, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %c = weft.launch @scale(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %v = weft.reshape %a : tensor<64xf32> -> tensor<8x8xf32>
  return %c, %v : tensor<64xf32>, tensor<8x8xf32>
}

// What frees enough without a value that another op reads leaves that to the
// other: before it, there is less memory in use.
// CHECK-LABEL: @before_other_reader
// CHECK-SAME: %[[X:.*]]: tensor<64xf32>
func.func @before_other_reader(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<128xf32>) {
  // CHECK: %[[A:.*]] = weft.launch @scale(%[[X]])
  // CHECK: %[[B:.*]] = weft.launch @scale(%[[X]])
  // CHECK-NEXT: %[[D:.*]] = weft.launch @backward(%[[B]], %[[A]])
  // CHECK-NEXT: %[[C:.*]] = weft.launch @widen(%[[A]])
  // CHECK-NEXT: return %[[D]], %[[C]]
  %a = weft.launch @scale(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %b = weft.launch @scale(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %c = weft.launch @widen(%a) : (tensor<64xf32>) -> tensor<128xf32>
  %d = weft.launch @backward(%b, %a) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %d, %c : tensor<64xf32>, tensor<128xf32>
}
