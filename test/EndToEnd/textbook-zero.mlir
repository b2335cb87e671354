// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a data parallel step exchanges, by where its state rests. With all of it
// on every device each gradient is all-reduced. With the momentum in shards
// (ZeRO-1 and ZeRO-2, Rajbhandari et al. 2020) each gradient is reduce-scattered
// and each new parameter gathered: the same bytes. Nothing of the gradient is
// kept whole.

// RUN: sed 's/REST/[{}, {}]/' %s | shard-compile - --emit=spmd --combine-collectives=false | FileCheck %s --check-prefix=DATA
// RUN: sed 's/REST/[{"data"}, {}]/' %s | shard-compile - --emit=spmd --combine-collectives=false | FileCheck %s --check-prefix=ZERO

// DATA-LABEL: func.func @step(
// DATA-COUNT-2: weft.all_reduce sum {{.*}}gradient of w{{.*}} : tensor<16x16xf32>
// DATA: weft.all_reduce sum {{.*}} : tensor<f32>
// DATA-NOT: {{weft.(all_|reduce_scatter|permute)}}

// ZERO-LABEL: func.func @step(
// ZERO-DAG: weft.reduce_scatter sum {{.*}}gradient of w1{{.*}} : tensor<16x16xf32> -> tensor<4x16xf32>
// ZERO-DAG: weft.reduce_scatter sum {{.*}}gradient of w2{{.*}} : tensor<16x16xf32> -> tensor<4x16xf32>
// ZERO-DAG: weft.all_reduce sum {{.*}} : tensor<f32>
// ZERO-DAG: weft.all_gather {{.*}}by result \22w1\22"} : tensor<4x16xf32> -> tensor<16x16xf32>
// ZERO-DAG: weft.all_gather {{.*}}by result \22w2\22"} : tensor<4x16xf32> -> tensor<16x16xf32>
// ZERO-NOT: {{weft.(all_gather|reduce_|all_to_all|permute)}}

weft.mesh @mesh = <["data"=4]>

func.func private @loss(%x: tensor<32x16xf32>, %w1: tensor<16x16xf32>, %w2: tensor<16x16xf32>) -> tensor<f32> {
  %h = weft.dot_general %x, %w1 contracting = [1] x [0] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %a = math.tanh %h : tensor<32x16xf32>
  %y = weft.dot_general %a, %w2 contracting = [1] x [0] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %s = arith.mulf %y, %y : tensor<32x16xf32>
  %l = weft.reduce sum %s dims = [0, 1] : tensor<32x16xf32> -> tensor<f32>
  return %l : tensor<f32>
}

func.func private @momentum(%m: tensor<16x16xf32>, %g: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %decay = arith.constant dense<0.9> : tensor<16x16xf32>
  %d = arith.mulf %m, %decay : tensor<16x16xf32>
  %n = arith.addf %d, %g : tensor<16x16xf32>
  return %n : tensor<16x16xf32>
}

func.func @step(
    %x: tensor<32x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w1: tensor<16x16xf32> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w2: tensor<16x16xf32> {weft.name = "w2", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %m1: tensor<16x16xf32> {weft.name = "m1", weft.sharding = #weft.sharding<@mesh, REST>},
    %m2: tensor<16x16xf32> {weft.name = "m2", weft.sharding = #weft.sharding<@mesh, REST>})
    -> (tensor<f32> {weft.name = "loss"},
        tensor<16x16xf32> {weft.name = "w1"}, tensor<16x16xf32> {weft.name = "w2"},
        tensor<16x16xf32> {weft.name = "m1"}, tensor<16x16xf32> {weft.name = "m2"}) {
  %g:3 = weft.value_and_grad @loss(%x, %w1, %w2) wrt = [1, 2]
      : (tensor<32x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<f32>, tensor<16x16xf32>, tensor<16x16xf32>)
  %n1 = func.call @momentum(%m1, %g#1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %n2 = func.call @momentum(%m2, %g#2) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %v1 = arith.subf %w1, %n1 : tensor<16x16xf32>
  %v2 = arith.subf %w2, %n2 : tensor<16x16xf32>
  return %g#0, %v1, %v2, %n1, %n2 : tensor<f32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
