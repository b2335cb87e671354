// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func private @loss(%a: tensor<4xf32>, %i: tensor<4xi32>, %b: tensor<bf16>) -> (tensor<f32>, tensor<4xi32>) {
  %l = weft.reduce sum %a dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l, %i : tensor<f32>, tensor<4xi32>
}

func.func @f(%a: tensor<4xf32>, %i: tensor<4xi32>, %b: tensor<bf16>) {
  // CHECK: weft.value_and_grad @loss(%{{.*}}, %{{.*}}, %{{.*}}) wrt = [2, 0] : (tensor<4xf32>, tensor<4xi32>, tensor<bf16>) -> (tensor<f32>, tensor<4xi32>, tensor<bf16>, tensor<4xf32>)
  %r:4 = weft.value_and_grad @loss(%a, %i, %b) wrt = [2, 0]
      : (tensor<4xf32>, tensor<4xi32>, tensor<bf16>) -> (tensor<f32>, tensor<4xi32>, tensor<bf16>, tensor<4xf32>)
  // CHECK: weft.value_and_grad @loss(%{{.*}}, %{{.*}}, %{{.*}}) wrt = [] : (tensor<4xf32>, tensor<4xi32>, tensor<bf16>) -> (tensor<f32>, tensor<4xi32>)
  %s:2 = weft.value_and_grad @loss(%a, %i, %b) wrt = []
      : (tensor<4xf32>, tensor<4xi32>, tensor<bf16>) -> (tensor<f32>, tensor<4xi32>)
  return
}
