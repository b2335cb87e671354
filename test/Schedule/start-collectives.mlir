// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-start-collectives | FileCheck %s

weft.mesh @mesh = <["data"=2, "model"=2]>
func.func private @use(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {weft.kernel}

// The documented example: the gradient of the weight is computed while the
// gradient of the input is reduced.
// CHECK-LABEL: @backward
// CHECK-SAME: %[[DY:.*]]: tensor<64x64xf32>, %[[X:.*]]: tensor<64x64xf32>, %[[W:.*]]: tensor<64x64xf32>
func.func @backward(%dy: tensor<64x64xf32>, %x: tensor<64x64xf32>, %w: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  // CHECK: %[[DX:.*]] = weft.gemm %[[DY]], %[[W]]
  // CHECK: %[[PENDING:.*]] = weft.start all_reduce %[[DX]] sum over <@mesh, {"model"}> {cause = "partial"}
  // CHECK: %[[DW:.*]] = weft.gemm %[[DY]], %[[X]]
  // CHECK: %[[SUM:.*]] = weft.wait %[[PENDING]]
  // CHECK: %[[R:.*]] = weft.launch @use(%[[SUM]])
  // CHECK: return %[[R]], %[[DW]]
  %dw = weft.gemm %dy, %x batch = 1 m = 64 n = 64 k = 64
      strides = [4096, 1, 64] x [4096, 64, 1] -> [4096, 64, 1]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %dx = weft.gemm %dy, %w batch = 1 m = 64 n = 64 k = 64
      strides = [4096, 64, 1] x [4096, 1, 64] -> [4096, 64, 1]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %sum = weft.all_reduce sum %dx over <@mesh, {"model"}> {cause = "partial"} : tensor<64x64xf32>
  %r = weft.launch @use(%sum) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r, %dw : tensor<64x64xf32>, tensor<64x64xf32>
}

// CHECK-LABEL: @exchange
func.func @exchange(%x: tensor<4x6xf32>) -> tensor<4x4xf32> {
  // CHECK: weft.start exchange %{{.*}} dim = 1 over <@mesh, {"model"}> map <[6] to [4], 2 to 0 for 8> {cause = "why"}
  // CHECK-NEXT: weft.wait
  %0 = weft.exchange %x dim = 1 over <@mesh, {"model"}> map <[6] to [4], 2 to 0 for 8> {cause = "why"} : tensor<4x6xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: @kinds
func.func @kinds(%x: tensor<4x8xf32>)
    -> (tensor<8x8xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>) {
  // CHECK: weft.start all_gather %{{.*}} dim = 0 over <@mesh, {"data"}>
  // CHECK: weft.start reduce_scatter %{{.*}} max dim = 1 over <@mesh, {"data"}>
  // CHECK: weft.start all_to_all %{{.*}} split = 1 concat = 0 over <@mesh, {"data"}>
  // CHECK: weft.start permute %{{.*}} from <@mesh, {"data"}> to <@mesh, {"model"}>
  // CHECK: weft.wait
  // CHECK: return
  %0 = weft.all_gather %x dim = 0 over <@mesh, {"data"}> : tensor<4x8xf32> -> tensor<8x8xf32>
  %1 = weft.reduce_scatter max %x dim = 1 over <@mesh, {"data"}> : tensor<4x8xf32> -> tensor<4x4xf32>
  %2 = weft.all_to_all %x split = 1 concat = 0 over <@mesh, {"data"}> : tensor<4x8xf32> -> tensor<8x4xf32>
  %3 = weft.permute %x from <@mesh, {"data"}> to <@mesh, {"model"}> : tensor<4x8xf32>
  return %0, %1, %2, %3 : tensor<8x8xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>
}

// A view right behind a collective is no reason to wait.
// CHECK-LABEL: @view
func.func @view(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<4096xf32>, tensor<64x64xf32>) {
  // CHECK: weft.start
  // CHECK: weft.launch
  // CHECK: weft.wait
  // CHECK: weft.reshape
  %sum = weft.all_reduce sum %x over <@mesh, {"data"}> : tensor<64x64xf32>
  %flat = weft.reshape %sum : tensor<64x64xf32> -> tensor<4096xf32>
  %r = weft.launch @use(%y) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %flat, %r : tensor<4096xf32>, tensor<64x64xf32>
}

// Nothing to start.
// CHECK-LABEL: @no_collective
func.func @no_collective(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK-NEXT: weft.launch
  // CHECK-NEXT: return
  %r = weft.launch @use(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
