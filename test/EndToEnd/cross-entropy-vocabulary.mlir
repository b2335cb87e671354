// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Logits that are split over the vocabulary stay as they are: forward and
// backward, two small values go over the model axis. The logits at the labels
// go with the loss, which the data axis has to add up as well; the gradients are
// those of any product that is split by columns.
// RUN: shard-compile %s --emit=spmd | FileCheck %s --implicit-check-not="weft.all_" --implicit-check-not=weft.reduce_scatter --implicit-check-not="tensor<4x64xf32>"

// CHECK-LABEL: func.func @step(
// CHECK: weft.all_reduce max %{{.*}} over <@mesh, {"model"}> {{.*}} : tensor<4xf32>
// CHECK: weft.all_reduce sum %{{.*}} over <@mesh, {"model"}> {{.*}} : tensor<4xf32>
// CHECK: math.log %{{.*}} : tensor<4xf32>
// CHECK-DAG: weft.all_reduce sum %{{.*}} over <@mesh, {"data", "model"}> {{.*}} : tensor<f32>
// CHECK-DAG: weft.all_reduce sum %{{.*}} over <@mesh, {"model"}> {{.*}} : tensor<4x16xf32>
// CHECK-DAG: weft.all_reduce sum %{{.*}} over <@mesh, {"data"}> {{.*}} : tensor<16x16xf32>
// CHECK: return

weft.mesh @mesh = <["data"=2, "model"=4]>

func.func private @loss(%h: tensor<8x16xf32>, %w: tensor<16x64xf32>, %labels: tensor<8xi32>) -> tensor<f32> {
  %logits = weft.dot_general %h, %w contracting = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %losses = weft.cross_entropy %logits, %labels dim = 1
      : (tensor<8x64xf32>, tensor<8xi32>) -> tensor<8xf32>
  %sum = weft.reduce sum %losses dims = [0] : tensor<8xf32> -> tensor<f32>
  %count = arith.constant dense<8.0> : tensor<f32>
  %mean = arith.divf %sum, %count : tensor<f32>
  return %mean : tensor<f32>
}

func.func @step(
    %h: tensor<8x16xf32> {weft.name = "h", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x64xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %labels: tensor<8xi32> {weft.name = "labels", weft.sharding = #weft.sharding<@mesh, [{"data"}]>})
    -> (tensor<f32> {weft.name = "loss"},
        tensor<8x16xf32> {weft.name = "dh", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<16x64xf32> {weft.name = "dw", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>}) {
  %r:3 = weft.value_and_grad @loss(%h, %w, %labels) wrt = [0, 1]
      : (tensor<8x16xf32>, tensor<16x64xf32>, tensor<8xi32>)
     -> (tensor<f32>, tensor<8x16xf32>, tensor<16x64xf32>)
  return %r#0, %r#1, %r#2 : tensor<f32>, tensor<8x16xf32>, tensor<16x64xf32>
}
