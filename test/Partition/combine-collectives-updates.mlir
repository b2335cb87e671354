// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-combine-collectives="cluster=%S/Inputs/uniform.toml" | FileCheck %s

// Parameters less a rate times their gradients, one update after another: the
// rate is multiplied where a gradient is made, and updates wait for the call.

weft.mesh @mesh = <["data"=2]>

// CHECK-LABEL: func.func @step(
// CHECK: %[[A:.*]] = weft.dot_general
// CHECK-NEXT: arith.mulf %{{.*}}, %[[A]]
// CHECK-NOT: weft.all_reduce
// CHECK: %[[B:.*]] = weft.dot_general
// CHECK-NEXT: arith.mulf %{{.*}}, %[[B]]
// CHECK: weft.all_reduce {{.*}} : tensor<8192xf32>
// CHECK-NOT: weft.all_reduce
// CHECK: arith.subf %arg2
// CHECK: arith.subf %arg3
func.func @step(%x: tensor<32x64xf32>, %y: tensor<32x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %rate = arith.constant dense<0.1> : tensor<64x64xf32>
  %a = weft.dot_general %x, %y contracting = [0] x [0] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %b = weft.dot_general %y, %x contracting = [0] x [0] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %p = arith.mulf %rate, %a : tensor<64x64xf32>
  %q = weft.all_reduce sum %p over <@mesh, {"data"}> : tensor<64x64xf32>
  %u = arith.subf %w, %q : tensor<64x64xf32>
  %r = arith.mulf %rate, %b : tensor<64x64xf32>
  %s = weft.all_reduce sum %r over <@mesh, {"data"}> : tensor<64x64xf32>
  %t = arith.subf %v, %s : tensor<64x64xf32>
  return %u, %t : tensor<64x64xf32>, tensor<64x64xf32>
}

// What is made of values that are held anyway stays where it is: it would be
// held longer.
// CHECK-LABEL: func.func @held(
// CHECK: weft.dot_general
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: weft.all_reduce
func.func @held(%a: tensor<64xf32>, %b: tensor<64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
  %m = weft.dot_general %a, %b contracting = [] x [] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %p = arith.mulf %a, %b : tensor<64xf32>
  %s = weft.all_reduce sum %p over <@mesh, {"data"}> : tensor<64xf32>
  return %m, %s : tensor<64x64xf32>, tensor<64xf32>
}
