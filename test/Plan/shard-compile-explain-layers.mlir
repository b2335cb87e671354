// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Two layers of which the second weight is split along the wrong dimension.

// RUN: shard-compile %s --target=none --explain=collectives -o %t.plan | FileCheck %s

// CHECK: why entry step communicates
// CHECK-DAG: what is held taken by weft.dot_general
// CHECK-DAG: edit: annotate "w2" (shard-compile-explain-layers.mlir:{{[0-9]+}}) as [{"model"}, {}]
// CHECK-DAG: needed added up over {"model"}: by math.sqrt ({{.*}}), which takes no partial results
weft.mesh @mesh = <["model"=4]>
func.func @step(%x: tensor<512x1024xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
                %w1: tensor<1024x4096xf32> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
                %w2: tensor<4096x1024xf32> {weft.name = "w2", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<512xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  %a = weft.dot_general %x, %w1 contracting = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x4096xf32>) -> tensor<512x4096xf32>
  %b = math.tanh %a : tensor<512x4096xf32>
  %c = weft.dot_general %b, %w2 contracting = [1] x [0] : (tensor<512x4096xf32>, tensor<4096x1024xf32>) -> tensor<512x1024xf32>
  %d = math.tanh %c : tensor<512x1024xf32>
  %e = weft.reduce sum %d dims = [1] : tensor<512x1024xf32> -> tensor<512xf32>
  %f = math.sqrt %e : tensor<512xf32>
  return %f : tensor<512xf32>
}
