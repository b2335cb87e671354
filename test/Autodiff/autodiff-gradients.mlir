// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Of a parameter with two uses, the gradient of each is marked as the sum is;
// the cotangent between them is none.
// RUN: shard-opt %s --weft-autodiff | FileCheck %s

// CHECK-LABEL: func.func @step(
// CHECK:         weft.dot_general {{.*}} {weft.origin = #weft.origin<backward = true>} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
// CHECK-NEXT:    weft.dot_general {{.*}} {weft.origin = #weft.origin<backward = true, gradient_of = "w">} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:    arith.truncf {{.*}} {weft.origin = #weft.origin<backward = true>} : tensor<8x4xf32> to tensor<8x4xbf16>
// CHECK-NEXT:    weft.dot_general {{.*}} {weft.origin = #weft.origin<backward = true, gradient_of = "w">} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<4x4xbf16>
// CHECK-NEXT:    arith.extf {{.*}} {weft.origin = #weft.origin<backward = true, gradient_of = "w">}
// CHECK-NEXT:    arith.addf {{.*}} {weft.origin = #weft.origin<backward = true, gradient_of = "w">}
func.func private @loss(%x: tensor<8x4xbf16>, %w: tensor<4x4xf32>) -> tensor<f32> {
  %n = arith.truncf %w : tensor<4x4xf32> to tensor<4x4xbf16>
  %h = weft.dot_general %x, %n contracting = [1] x [0] : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %wide = arith.extf %h : tensor<8x4xbf16> to tensor<8x4xf32>
  %y = weft.dot_general %wide, %w contracting = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %l = weft.reduce sum %y dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
func.func @step(%x: tensor<8x4xbf16> {weft.name = "x"}, %w: tensor<4x4xf32> {weft.name = "w"}) -> (tensor<4x4xf32> {weft.name = "dw"}) {
  %r:2 = weft.value_and_grad @loss(%x, %w) wrt = [1] : (tensor<8x4xbf16>, tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>)
  return %r#1 : tensor<4x4xf32>
}
