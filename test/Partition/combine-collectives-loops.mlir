// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-combine-collectives="latencies=4000 cluster=%S/Inputs/uniform.toml" | FileCheck %s

// Of sums in a loop, the first is there long before the end of its last
// iteration, however large what the loop only carries on is.

// CHECK-COUNT-2: weft.all_reduce {{.*}} : tensor<4096x4096xf32>
weft.mesh @mesh = <["data"=2]>
func.func @carried(%x: tensor<1024x4096xf32>, %z: tensor<4096x4096xf32>, %zz: tensor<4096x4096xf32>, %X: tensor<16000000000xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<16000000000xf32>) {
  %r:3 = weft.repeat 2 carry (%a = %z, %b = %zz, %c = %X) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<16000000000xf32>) {
    %g0 = weft.dot_general %x, %x contracting = [0] x [0] : (tensor<1024x4096xf32>, tensor<1024x4096xf32>) -> tensor<4096x4096xf32>
    %s0 = arith.addf %a, %g0 : tensor<4096x4096xf32>
    %h0 = weft.dot_general %x, %b contracting = [1] x [0] : (tensor<1024x4096xf32>, tensor<4096x4096xf32>) -> tensor<1024x4096xf32>
    %h1 = weft.dot_general %h0, %b contracting = [1] x [0] : (tensor<1024x4096xf32>, tensor<4096x4096xf32>) -> tensor<1024x4096xf32>
    %h2 = weft.dot_general %h1, %b contracting = [1] x [0] : (tensor<1024x4096xf32>, tensor<4096x4096xf32>) -> tensor<1024x4096xf32>
    %h3 = weft.dot_general %h2, %b contracting = [1] x [0] : (tensor<1024x4096xf32>, tensor<4096x4096xf32>) -> tensor<1024x4096xf32>
    %h4 = weft.dot_general %h3, %b contracting = [1] x [0] : (tensor<1024x4096xf32>, tensor<4096x4096xf32>) -> tensor<1024x4096xf32>
    %h5 = weft.dot_general %h4, %b contracting = [1] x [0] : (tensor<1024x4096xf32>, tensor<4096x4096xf32>) -> tensor<1024x4096xf32>
    %g1 = weft.dot_general %h5, %x contracting = [0] x [0] : (tensor<1024x4096xf32>, tensor<1024x4096xf32>) -> tensor<4096x4096xf32>
    %s1 = arith.addf %b, %g1 : tensor<4096x4096xf32>
    weft.yield %s0, %s1, %c : tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<16000000000xf32>
  }
  %q0 = weft.all_reduce sum %r#0 over <@mesh, {"data"}> : tensor<4096x4096xf32>
  %q1 = weft.all_reduce sum %r#1 over <@mesh, {"data"}> : tensor<4096x4096xf32>
  return %q0, %q1, %r#2 : tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<16000000000xf32>
}
