// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func private @layer(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xf32>) {
  return %i, %x : tensor<4xi32>, tensor<4xf32>
}

func.func @f(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // CHECK: weft.checkpoint @layer(%{{.*}}, %{{.*}}) policy = "dots" : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xf32>)
  %r:2 = weft.checkpoint @layer(%x, %i) policy = "dots" : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xf32>)
  // CHECK: weft.checkpoint @layer(%{{.*}}, %{{.*}}) policy = "names" ["a", "b"] : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xf32>)
  %s:2 = weft.checkpoint @layer(%x, %i) policy = "names" ["a", "b"] : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xf32>)
  // CHECK: weft.checkpoint_name %{{.*}} "a" : tensor<4xf32>
  %n = weft.checkpoint_name %x "a" : tensor<4xf32>
  return
}
