// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where a backward pass is in pieces it reads slices of what the forward pass
// computed whole. They are recomputed from slices.
// RUN: shard-opt %s --weft-recompute-in-kernels --split-input-file | FileCheck %s

// CHECK-LABEL: func @layer
// CHECK:         %[[X:.*]] = weft.gemm %arg0, %arg1
// CHECK-DAG:     %[[X0:.*]] = weft.slice %[[X]] starts = [0, 0] limits = [512, 512]
// CHECK-DAG:     %[[X1:.*]] = weft.slice %[[X]] starts = [512, 0] limits = [1024, 512]
// CHECK-NOT:     weft.slice
// CHECK:         %[[T0:.*]] = math.tanh %[[X0]] {weft.origin = #weft.origin<recomputed = true>, weft.piece = array<i64: 0, 2>} : tensor<512x512xf32>
// CHECK:         %[[T1:.*]] = math.tanh %[[X1]] {weft.origin = #weft.origin<recomputed = true>, weft.piece = array<i64: 1, 2>} : tensor<512x512xf32>
// CHECK:         arith.mulf %{{.*}}, %[[T0]]
// CHECK:         arith.mulf %{{.*}}, %[[T1]]
func.func @layer(%a: tensor<1024x512xf32>, %w: tensor<512x512xf32>,
                 %v: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %x = weft.gemm %a, %w batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 512, 1] -> [524288, 512, 1] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %x0 = weft.slice %x starts = [0, 0] limits = [512, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %x1 = weft.slice %x starts = [512, 0] limits = [1024, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %t = math.tanh %x : tensor<1024x512xf32>
  %t0 = weft.slice %t starts = [0, 0] limits = [512, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %t1 = weft.slice %t starts = [512, 0] limits = [1024, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %h = arith.mulf %x, %t : tensor<1024x512xf32>
  %y = weft.gemm %h, %v batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 512, 1] -> [524288, 512, 1] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %y0 = weft.slice %y starts = [0, 0] limits = [512, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %y1 = weft.slice %y starts = [512, 0] limits = [1024, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %dh0 = weft.gemm %y0, %v batch = 1 m = 512 n = 512 k = 512 strides = [262144, 512, 1] x [262144, 1, 512] -> [262144, 512, 1] {weft.piece = array<i64: 0, 2>} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %dt0 = arith.mulf %dh0, %t0 {weft.piece = array<i64: 0, 2>} : tensor<512x512xf32>
  %dx0 = arith.mulf %dt0, %x0 {weft.piece = array<i64: 0, 2>} : tensor<512x512xf32>
  %dh1 = weft.gemm %y1, %v batch = 1 m = 512 n = 512 k = 512 strides = [262144, 512, 1] x [262144, 1, 512] -> [262144, 512, 1] {weft.piece = array<i64: 1, 2>} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %dt1 = arith.mulf %dh1, %t1 {weft.piece = array<i64: 1, 2>} : tensor<512x512xf32>
  %dx1 = arith.mulf %dt1, %x1 {weft.piece = array<i64: 1, 2>} : tensor<512x512xf32>
  %dx = weft.concat %dx0, %dx1 dim = 0 {weft.part} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %dw = weft.gemm %a, %dx batch = 1 m = 512 n = 512 k = 1024 strides = [524288, 1, 512] x [524288, 512, 1] -> [262144, 512, 1] : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<512x512xf32>
  return %dw : tensor<512x512xf32>
}

// -----

// What a GEMM needs whole is in memory: its slices are read there. Of what
// is repeated for each row, and of constants, each piece makes its own.
// CHECK-LABEL: func @kept
// CHECK:         %[[X:.*]] = weft.gemm %arg0, %arg1
// CHECK-DAG:     %[[BIAS:.*]] = weft.broadcast %arg2 dims = [1] {{.*}} : tensor<512xf32> -> tensor<512x512xf32>
// CHECK-DAG:     %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<512x512xf32>
// CHECK-DAG:     %[[X1:.*]] = weft.slice %[[X]] starts = [512, 0]
// CHECK-DAG:     %[[SUM:.*]] = arith.addf %[[X1]], %[[BIAS]] {{.*}}weft.piece = array<i64: 1, 2>
// CHECK-DAG:     %[[PIECE:.*]] = arith.mulf %[[SUM]], %[[TWO]] {{.*}}weft.piece = array<i64: 1, 2>
// CHECK:         %[[H:.*]] = arith.mulf %[[S:.*]], %[[S]] : tensor<1024x512xf32>
// CHECK:         %[[H1:.*]] = weft.slice %[[H]] starts = [512, 0]
// CHECK:         arith.subf %[[PIECE]], %[[H1]]
func.func @kept(%a: tensor<1024x512xf32>, %w: tensor<512x512xf32>,
                %b: tensor<512xf32>) -> (tensor<1024x512xf32>, tensor<512x512xf32>) {
  %x = weft.gemm %a, %w batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 512, 1] -> [524288, 512, 1] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %rows = weft.broadcast %b dims = [1] : tensor<512xf32> -> tensor<1024x512xf32>
  %sum = arith.addf %x, %rows : tensor<1024x512xf32>
  %two = arith.constant dense<2.0> : tensor<1024x512xf32>
  %s = arith.mulf %sum, %two : tensor<1024x512xf32>
  %s1 = weft.slice %s starts = [512, 0] limits = [1024, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %h = arith.mulf %s, %s : tensor<1024x512xf32>
  %h1 = weft.slice %h starts = [512, 0] limits = [1024, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %y = weft.gemm %h, %w batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 512, 1] -> [524288, 512, 1] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %d1 = arith.subf %s1, %h1 {weft.piece = array<i64: 1, 2>} : tensor<512x512xf32>
  return %y, %d1 : tensor<1024x512xf32>, tensor<512x512xf32>
}

// -----

// What one collective sums up for several has parts: a part has none.
// CHECK-LABEL: func @part_of_part
// CHECK:         %[[SUM:.*]] = weft.all_reduce sum
// CHECK:         %[[PART:.*]] = weft.slice %[[SUM]]
// CHECK:         weft.slice %[[PART]] starts = [0] limits = [32] strides = [1] : tensor<64xf32> -> tensor<32xf32>
weft.mesh @mesh = <["model"=2]>
func.func @part_of_part(%a: tensor<64xf32>, %b: tensor<64xf32>) -> (tensor<32xf32>, tensor<64xf32>) {
  %all = weft.concat %a, %b dim = 0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
  %sum = weft.all_reduce sum %all over <@mesh, {"model"}> : tensor<128xf32>
  %x = weft.slice %sum starts = [0] limits = [64] strides = [1] : tensor<128xf32> -> tensor<64xf32>
  %y = weft.slice %sum starts = [64] limits = [128] strides = [1] : tensor<128xf32> -> tensor<64xf32>
  %t = math.tanh %x : tensor<64xf32>
  %t0 = weft.slice %t starts = [0] limits = [32] strides = [1] {weft.part} : tensor<64xf32> -> tensor<32xf32>
  %r = arith.negf %t0 {weft.piece = array<i64: 0, 2>} : tensor<32xf32>
  return %r, %y : tensor<32xf32>, tensor<64xf32>
}

// -----

// What is put together of pieces has them.
// CHECK-LABEL: func @joined
// CHECK-SAME:    %[[P0:.*]]: tensor<512x512xf32>, %[[P1:.*]]: tensor<512x512xf32>
// CHECK:         math.tanh %[[P1]] {{.*}}weft.piece = array<i64: 1, 2>
func.func @joined(%p0: tensor<512x512xf32>, %p1: tensor<512x512xf32>) -> (tensor<1024x512xf32>, tensor<512x512xf32>) {
  %x = weft.concat %p0, %p1 dim = 0 {weft.part} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %t = math.tanh %x : tensor<1024x512xf32>
  %t1 = weft.slice %t starts = [512, 0] limits = [1024, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %h = arith.negf %t : tensor<1024x512xf32>
  %d1 = arith.negf %t1 {weft.piece = array<i64: 1, 2>} : tensor<512x512xf32>
  return %h, %d1 : tensor<1024x512xf32>, tensor<512x512xf32>
}

// -----

// A piece stands behind its slices, wherever these were, and a view that a GEMM
// reads needs all of a value.
// CHECK-LABEL: func @order
// CHECK:         %[[X:.*]] = weft.gemm %arg0, %arg1
// CHECK:         %[[H:.*]] = arith.mulf %[[X]], %[[X]] : tensor<1024x512xf32>
// CHECK:         %[[X0:.*]] = weft.slice %[[X]] starts = [0, 0]
// CHECK:         %[[T0:.*]] = math.tanh %[[X0]]
// CHECK:         %[[H0:.*]] = weft.slice %[[H]] starts = [0, 0]
// CHECK:         arith.mulf %[[T0]], %[[H0]]
func.func @order(%a: tensor<1024x512xf32>, %w: tensor<512x512xf32>)
    -> (tensor<512x512xf32>, tensor<1024x512xf32>) {
  %x = weft.gemm %a, %w batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 512, 1] -> [524288, 512, 1] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %t = math.tanh %x : tensor<1024x512xf32>
  %h = arith.mulf %x, %x : tensor<1024x512xf32>
  %flat = weft.reshape %h : tensor<1024x512xf32> -> tensor<1024x1x512xf32>
  %again = weft.reshape %flat : tensor<1024x1x512xf32> -> tensor<1024x512xf32>
  %y = weft.gemm %again, %w batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 512, 1] -> [524288, 512, 1] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %x0 = weft.slice %x starts = [0, 0] limits = [512, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %t0 = weft.slice %t starts = [0, 0] limits = [512, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %h0 = weft.slice %h starts = [0, 0] limits = [512, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %unread = weft.slice %t starts = [512, 0] limits = [1024, 512] strides = [1, 1] {weft.part} : tensor<1024x512xf32> -> tensor<512x512xf32>
  %s0 = arith.addf %t0, %x0 {weft.piece = array<i64: 0, 2>} : tensor<512x512xf32>
  %d0 = arith.mulf %t0, %h0 {weft.piece = array<i64: 0, 2>} : tensor<512x512xf32>
  %r0 = arith.addf %s0, %d0 {weft.piece = array<i64: 0, 2>} : tensor<512x512xf32>
  return %r0, %y : tensor<512x512xf32>, tensor<1024x512xf32>
}
