// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A sum of everything is made by the kernel that sums up rows or columns of the
// same: what both read is read once.
// RUN: shard-opt %s --weft-fuse-kernels --split-input-file | FileCheck %s

// A loss, its derivative, and the gradient of a bias.
// CHECK-LABEL: func.func @columns
// CHECK:         %[[D:.*]] = weft.gemm
// CHECK:         %[[ALL:.*]]:3 = weft.launch @kernel_0(%[[D]])
// CHECK-NOT:     weft.launch
// CHECK-LABEL: func.func private @kernel_0
// CHECK:         %[[ROWS:.*]] = weft.reduce sum %{{.*}} dims = [1] : tensor<512x1024xf32> -> tensor<512xf32>
// CHECK:         weft.reduce sum %[[ROWS]] dims = [0] : tensor<512xf32> -> tensor<f32>
// CHECK:         weft.reduce sum %{{.*}} dims = [0] : tensor<512x1024xf32> -> tensor<1024xf32>
func.func @columns(%a: tensor<512x64xf32>, %w: tensor<64x1024xf32>)
    -> (tensor<f32>, tensor<512x1024xf32>, tensor<1024xf32>) {
  %d = weft.gemm %a, %w batch = 1 m = 512 n = 1024 k = 64 strides = [32768, 64, 1] x [65536, 1024, 1] -> [524288, 1024, 1] : (tensor<512x64xf32>, tensor<64x1024xf32>) -> tensor<512x1024xf32>
  %square = arith.mulf %d, %d : tensor<512x1024xf32>
  %loss = weft.reduce sum %square dims = [0, 1] : tensor<512x1024xf32> -> tensor<f32>
  %two = arith.constant dense<2.0> : tensor<512x1024xf32>
  %g = arith.mulf %d, %two : tensor<512x1024xf32>
  %b = weft.reduce sum %g dims = [0] : tensor<512x1024xf32> -> tensor<1024xf32>
  return %loss, %g, %b : tensor<f32>, tensor<512x1024xf32>, tensor<1024xf32>
}

// -----

// CHECK-LABEL: func.func @rows
// CHECK:         weft.launch @kernel_0
// CHECK-NOT:     weft.launch
// CHECK-LABEL: func.func private @kernel_0
func.func @rows(%d: tensor<8x4x16xf32>) -> (tensor<f32>, tensor<8x4xf32>) {
  %e = math.exp %d : tensor<8x4x16xf32>
  %all = weft.reduce sum %e dims = [0, 1, 2] : tensor<8x4x16xf32> -> tensor<f32>
  %max = weft.reduce max %e dims = [2] : tensor<8x4x16xf32> -> tensor<8x4xf32>
  return %all, %max : tensor<f32>, tensor<8x4xf32>
}

// -----

// Nothing is rounded once more, and what nothing else sums up stays one sum.
// CHECK-LABEL: func.func @whole
// CHECK-DAG:     weft.reduce sum %{{.*}} dims = [0, 1] : tensor<8x16xbf16> -> tensor<bf16>
// CHECK-DAG:     weft.reduce sum %{{.*}} dims = [0, 1] : tensor<8x16xf32> -> tensor<f32>
func.func @whole(%d: tensor<8x16xbf16>, %e: tensor<8x16xf32>) -> (tensor<bf16>, tensor<16xbf16>, tensor<f32>) {
  %all = weft.reduce sum %d dims = [0, 1] : tensor<8x16xbf16> -> tensor<bf16>
  %columns = weft.reduce sum %d dims = [0] : tensor<8x16xbf16> -> tensor<16xbf16>
  %other = weft.reduce sum %e dims = [0, 1] : tensor<8x16xf32> -> tensor<f32>
  return %all, %columns, %other : tensor<bf16>, tensor<16xbf16>, tensor<f32>
}

// -----

// What is only repeated alike is read by kernels of its own.
// CHECK-LABEL: func.func @repeated
// CHECK:         weft.reduce sum %{{.*}} dims = [0, 1] : tensor<8x16xf32> -> tensor<f32>
func.func @repeated(%a: tensor<8x16xf32>, %b: tensor<8x16xf32>, %scale: tensor<f32>)
    -> (tensor<f32>, tensor<16xf32>) {
  %c = weft.broadcast %scale dims = [] : tensor<f32> -> tensor<8x16xf32>
  %x = arith.mulf %a, %c : tensor<8x16xf32>
  %y = arith.mulf %b, %c : tensor<8x16xf32>
  %all = weft.reduce sum %x dims = [0, 1] : tensor<8x16xf32> -> tensor<f32>
  %columns = weft.reduce sum %y dims = [0] : tensor<8x16xf32> -> tensor<16xf32>
  return %all, %columns : tensor<f32>, tensor<16xf32>
}

// -----

// A sum of a piece stays one: no kernel has ops of two pieces.
// CHECK-LABEL: func.func @pieces
// CHECK-COUNT-2: weft.launch @
// CHECK-LABEL: func.func private @
// CHECK:         weft.reduce sum %{{.*}} dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
// CHECK:         weft.reduce sum %{{.*}} dims = [0] : tensor<8xf32> -> tensor<f32>
func.func @pieces(%a: tensor<8x16xf32>, %b: tensor<8x16xf32>)
    -> (tensor<f32>, tensor<16xf32>, tensor<f32>, tensor<16xf32>) {
  %x = arith.mulf %a, %a {weft.piece = array<i64: 0, 2>} : tensor<8x16xf32>
  %all0 = weft.reduce sum %x dims = [0, 1] {weft.piece = array<i64: 0, 2>} : tensor<8x16xf32> -> tensor<f32>
  %columns0 = weft.reduce sum %x dims = [0] {weft.piece = array<i64: 0, 2>} : tensor<8x16xf32> -> tensor<16xf32>
  %y = arith.mulf %b, %b {weft.piece = array<i64: 1, 2>} : tensor<8x16xf32>
  %all1 = weft.reduce sum %y dims = [0, 1] {weft.piece = array<i64: 1, 2>} : tensor<8x16xf32> -> tensor<f32>
  %columns1 = weft.reduce sum %y dims = [0] {weft.piece = array<i64: 1, 2>} : tensor<8x16xf32> -> tensor<16xf32>
  return %all0, %columns0, %all1, %columns1 : tensor<f32>, tensor<16xf32>, tensor<f32>, tensor<16xf32>
}
