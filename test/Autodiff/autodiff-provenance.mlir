// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A collective of the backward pass says whose gradient needs it and which line
// that is the transpose of, in a call as well.
// RUN: shard-compile %s --emit=spmd | FileCheck %s
// RUN: shard-compile %s -o %t.plan
// RUN: shard-run %t.plan --dump=step | FileCheck %s --check-prefix=PLAN

weft.mesh @mesh = <["data"=2]>

func.func private @loss(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<f32> {
  %h = call @layer(%x, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %l = weft.reduce sum %h dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

func.func private @layer(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  // CHECK: cause = "partial sums over {\22data\22} of weft.dot_general (gradient of w, transpose of autodiff-provenance.mlir:[[#@LINE+3]]), needed as
  // CHECK-NOT: func.func private
  // PLAN: comm start {{.*}} cause "partial sums {{.*}} (gradient of w, transpose of autodiff-provenance.mlir:[[#@LINE+1]]), needed as {{.*}}" at "autodiff-provenance.mlir:[[#@LINE+1]]"
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %h = math.tanh %s : tensor<8x4xf32>
  return %h : tensor<8x4xf32>
}

func.func @step(
    %x: tensor<8x4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<4x4xf32> {weft.name = "w"}) -> (tensor<4x4xf32> {weft.name = "w"}) {
  %r:2 = weft.value_and_grad @loss(%x, %w) wrt = [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>)
  %new = arith.subf %w, %r#1 : tensor<4x4xf32>
  return %new : tensor<4x4xf32>
}
