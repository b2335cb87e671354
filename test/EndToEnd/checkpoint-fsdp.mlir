// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parameters at rest in shards, gathered by each layer. With its values computed
// again a layer gathers its weight once forward and once backward and holds it
// in neither; the gradient goes back to the shards by one reduce-scatter. The
// weight of the first layer may come while the derivative of the second is
// computed.

// RUN: shard-compile %s --emit=spmd --combine-collectives=false | FileCheck %s
// RUN: shard-compile %s --emit=spmd --combine-collectives=false | FileCheck %s --check-prefix=CAUSE
// RUN: sed 's/"nothing"/"everything"/' %s | shard-compile - --emit=spmd --combine-collectives=false | FileCheck %s --check-prefix=HELD

weft.mesh @mesh = <["data"=4]>

func.func private @layer(
    %x: tensor<32x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) -> tensor<32x16xf32> {
  // CAUSE: weft.all_gather {{.*}} needed as [{}, {}] by weft.dot_general (checkpoint-fsdp.mlir:[[#@LINE+4]])
  // CAUSE: weft.all_gather {{.*}} needed as [{}, {}] by weft.dot_general (checkpoint-fsdp.mlir:[[#@LINE+3]])
  // CAUSE: weft.all_gather {{.*}}cause = "\22w2\22 held as {{.*}} needed as [{}, {}] by weft.dot_general (recomputation of checkpoint-fsdp.mlir:[[#@LINE+2]])
  // CAUSE: weft.reduce_scatter {{.*}} of weft.dot_general (gradient of w1, transpose of checkpoint-fsdp.mlir:[[#@LINE+1]])
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %h = math.tanh %s : tensor<32x16xf32>
  return %h : tensor<32x16xf32>
}

func.func private @loss(%x: tensor<32x16xf32>, %w1: tensor<16x16xf32>, %w2: tensor<16x16xf32>) -> tensor<f32> {
  %h1 = weft.checkpoint @layer(%x, %w1) policy = "nothing" : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %h2 = weft.checkpoint @layer(%h1, %w2) policy = "nothing" : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %p = arith.mulf %h2, %h2 : tensor<32x16xf32>
  %l = weft.reduce sum %p dims = [0, 1] : tensor<32x16xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<8x16xf32>{{.*}}, %[[W1:.*]]: tensor<4x16xf32>{{.*}}, %[[W2:.*]]: tensor<4x16xf32>
// CHECK: weft.all_gather %[[W1]]
// CHECK: weft.all_gather %[[W2]]
// CHECK: %[[LATER2:.*]] = weft.barrier %[[W2]] after %[[G:[^ ]*]] :
// CHECK: weft.all_gather %[[LATER2]]
// CHECK: %[[LATER1:.*]] = weft.barrier %[[W1]] after %[[G]] :
// CHECK: weft.all_gather %[[LATER1]]
// CHECK-COUNT-2: weft.reduce_scatter
// CHECK-NOT: {{weft.all_gather|weft.reduce_scatter}}

// HELD-COUNT-2: weft.all_gather
// HELD-NOT: weft.all_gather
// HELD-COUNT-2: weft.reduce_scatter
// HELD-NOT: {{weft.all_gather|weft.reduce_scatter}}
func.func @step(
    %x: tensor<32x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w1: tensor<16x16xf32> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w2: tensor<16x16xf32> {weft.name = "w2", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<f32> {weft.name = "loss"}, tensor<16x16xf32> {weft.name = "w1"}, tensor<16x16xf32> {weft.name = "w2"}) {
  %g:3 = weft.value_and_grad @loss(%x, %w1, %w2) wrt = [1, 2]
      : (tensor<32x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<f32>, tensor<16x16xf32>, tensor<16x16xf32>)
  %new1 = arith.subf %w1, %g#1 : tensor<16x16xf32>
  %new2 = arith.subf %w2, %g#2 : tensor<16x16xf32>
  return %g#0, %new1, %new2 : tensor<f32>, tensor<16x16xf32>, tensor<16x16xf32>
}
