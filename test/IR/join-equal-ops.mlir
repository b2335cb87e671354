// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-join-equal-ops | FileCheck %s

// What the backward pass computes once more is taken from the forward pass.
// CHECK-LABEL: func.func @forward_and_backward
// CHECK-NEXT:    %[[E:.*]] = math.exp %{{.*}} : tensor<4xf32>
// CHECK-NEXT:    %[[S:.*]] = arith.mulf %[[E]], %[[E]] {weft.origin = #weft.origin<backward = true>} : tensor<4xf32>
// CHECK-NEXT:    return %[[E]], %[[S]]
func.func @forward_and_backward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = math.exp %x : tensor<4xf32>
  %b = math.exp %x {weft.origin = #weft.origin<backward = true>} : tensor<4xf32>
  %c = arith.mulf %a, %b {weft.origin = #weft.origin<backward = true>} : tensor<4xf32>
  return %a, %c : tensor<4xf32>, tensor<4xf32>
}

// What one of them is the gradient of, the one that stays is.
// CHECK-LABEL: func.func @gradient
// CHECK-NEXT:    %[[E:.*]] = math.exp %{{.*}} {weft.origin = #weft.origin<gradient_of = "w">} : tensor<4xf32>
// CHECK-NEXT:    return %[[E]], %[[E]]
func.func @gradient(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = math.exp %x : tensor<4xf32>
  %b = math.exp %x {weft.origin = #weft.origin<backward = true, gradient_of = "w">} : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    math.exp
// CHECK-NEXT:    math.log
func.func @nothing(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = math.exp %x : tensor<4xf32>
  %b = math.log %x : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
