// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s | shard-opt | FileCheck %s
// RUN: shard-opt %s --mlir-print-op-generic | shard-opt | FileCheck %s

weft.mesh @mesh = <["data"=2]>
func.func private @kernel(%a: tensor<4xf32>, %b: tensor<4xf32>, %p: tensor<i32>)
    -> (tensor<4xf32>, tensor<2x2xf32>) attributes {weft.kernel}

// CHECK-LABEL: @launch
func.func @launch(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // CHECK: weft.launch @kernel(%{{.*}}, %{{.*}}) positions = [#weft.axes<@mesh, {"data"}>] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>)
  %r:2 = weft.launch @kernel(%a, %b) positions = [#weft.axes<@mesh, {"data"}>]
      : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>)
  // An operand of another shape but as many elements may be overwritten.
  // CHECK: weft.launch @kernel({{.*}}) positions = [{{.*}}] in_place = [-1, 0] {weft.offsets = array<i64: 64, 0>}
  %s:2 = weft.launch @kernel(%a, %b) positions = [#weft.axes<@mesh, {"data"}>]
      in_place = [-1, 0] {weft.offsets = array<i64: 64, 0>}
      : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>)
  return
}

func.func private @descend(%p: tensor<4xf32>, %dp: tensor<4xf32>, %rate: tensor<f32>)
    -> tensor<4xf32> attributes {weft.kernel}

// CHECK-LABEL: @batch
func.func @batch(%p: tensor<4xf32>, %q: tensor<4xf32>, %d: tensor<4xf32>, %rate: tensor<f32>) {
  // Sets may share what they read.
  // CHECK-SAME: (%[[P:.*]]: tensor<4xf32>, %[[Q:.*]]: tensor<4xf32>, %[[D:.*]]: tensor<4xf32>, %[[RATE:.*]]: tensor<f32>)
  // CHECK: weft.launch @descend(%[[P]], %[[D]], %[[RATE]], %[[Q]], %[[D]], %[[RATE]]) batch = 2 in_place = [0] : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  %r:2 = weft.launch @descend(%p, %d, %rate, %q, %d, %rate) batch = 2 in_place = [0]
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>)
      -> (tensor<4xf32>, tensor<4xf32>)
  return
}
