// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-autodiff --split-input-file --verify-diagnostics

// All ops without derivative in one error; math.ctpop is not on the way.

weft.mesh @mesh = <["x"=2]>
func.func @step(%x: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{cannot differentiate @loss: no derivative is known of func.call (autodiff-errors.mlir:19), weft.reshard (autodiff-errors.mlir:22); implement VjpOpInterface, or keep the derivative from these ops with weft.stop_gradient}}
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  return %r#0 : tensor<f32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @loss(%x: tensor<4xf32>) -> tensor<f32> {
  %p = arith.constant dense<3> : tensor<4xi32>
  %a = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %i = math.ctpop %p : tensor<4xi32>
  %n = math.fpowi %a, %i : tensor<4xf32>, tensor<4xi32>
  %b = weft.reshard %n <@mesh, [{}]> : tensor<4xf32>
  %l = weft.reduce sum %b dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func private @loss(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{cannot call @loss: it calls itself}}
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %r#0 : tensor<f32>
}

// -----

func.func @step(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{cannot call @loss: it has control flow; a program is one block}}
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %r#0 : tensor<f32>
}
func.func private @loss(%x: tensor<f32>) -> tensor<f32> {
  cf.br ^next
^next:
  return %x : tensor<f32>
}
