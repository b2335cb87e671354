// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Of a fused matrix of queries, keys and values, slices are taken before the
// matmul where it has fewer rows than the batch, and its gradient is put
// together of three.

// RUN: shard-opt %s --weft-propagate --weft-cut-weights | FileCheck %s
// RUN: shard-compile %s --emit=spmd | FileCheck %s --check-prefix=MOVED

weft.mesh @mesh = <["m"=4]>

// CHECK-LABEL: func.func @forward
// CHECK-DAG:     %[[WQ:.*]] = weft.slice %arg1 starts = [0, 0] limits = [64, 64]
// CHECK-DAG:     %[[WK:.*]] = weft.slice %arg1 starts = [0, 64] limits = [64, 128]
// CHECK-DAG:     %[[BQ:.*]] = weft.slice %arg2 starts = [0] limits = [64]
// CHECK:         %[[XQ:.*]] = weft.dot_general %arg0, %{{.*}} contracting
// CHECK:         weft.broadcast %{{.*}} dims = [1] {{.*}}: tensor<64xf32> -> tensor<1024x64xf32>
// CHECK-NOT:     weft.slice
// CHECK:         return
// MOVED-LABEL: func.func @forward
// MOVED-DAG: weft.exchange {{.*}} : tensor<64x48xf32> -> tensor<64x48xf32>
// MOVED-DAG: weft.exchange {{.*}} : tensor<48xf32> -> tensor<48xf32>
// MOVED-NOT: weft.all_gather
func.func @forward(
    %x: tensor<1024x64xf32>,
    %w: tensor<64x192xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>},
    %b: tensor<192xf32> {weft.sharding = #weft.sharding<@mesh, [{"m"}]>})
    -> (tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>}) {
  %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<1024x64xf32>, tensor<64x192xf32>) -> tensor<1024x192xf32>
  %c = weft.broadcast %b dims = [1] : tensor<192xf32> -> tensor<1024x192xf32>
  %s = arith.addf %y, %c : tensor<1024x192xf32>
  %q = weft.slice %s starts = [0, 0] limits = [1024, 64] strides = [1, 1] : tensor<1024x192xf32> -> tensor<1024x64xf32>
  %k = weft.slice %s starts = [0, 64] limits = [1024, 128] strides = [1, 1] : tensor<1024x192xf32> -> tensor<1024x64xf32>
  %v = weft.slice %s starts = [0, 128] limits = [1024, 192] strides = [1, 1] : tensor<1024x192xf32> -> tensor<1024x64xf32>
  %qk = arith.mulf %q, %k : tensor<1024x64xf32>
  %r = arith.mulf %qk, %v : tensor<1024x64xf32>
  return %r : tensor<1024x64xf32>
}

// MOVED-LABEL: func.func @backward
// MOVED-COUNT-3: weft.exchange {{.*}} : tensor<{{64x48|48}}xf32>
// MOVED-NOT: weft.exchange
// CHECK-LABEL: func.func @backward
// CHECK-COUNT-3: weft.dot_general %{{.*}} contracting = [0] x [0]
// CHECK:         weft.concat %{{.*}} dim = 1 {{.*}} -> tensor<64x192xf32>
// CHECK-COUNT-3: weft.dot_general %{{.*}} contracting = [1] x [1]
// CHECK-COUNT-2: arith.addf
// CHECK:         weft.concat %{{.*}} dim = 0 {{.*}} -> tensor<192xf32>
func.func @backward(
    %x: tensor<1024x64xf32>,
    %w: tensor<64x192xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>},
    %dq: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>},
    %dk: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>},
    %dv: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>})
    -> (tensor<64x192xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>}, tensor<1024x64xf32>,
        tensor<192xf32> {weft.sharding = #weft.sharding<@mesh, [{"m"}]>}) {
  %dy = weft.concat %dq, %dk, %dv dim = 1 : (tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x192xf32>
  %dw = weft.dot_general %x, %dy contracting = [0] x [0] : (tensor<1024x64xf32>, tensor<1024x192xf32>) -> tensor<64x192xf32>
  %dx = weft.dot_general %dy, %w contracting = [1] x [1] : (tensor<1024x192xf32>, tensor<64x192xf32>) -> tensor<1024x64xf32>
  %db = weft.reduce sum %dy dims = [0] : tensor<1024x192xf32> -> tensor<192xf32>
  return %dw, %dx, %db : tensor<64x192xf32>, tensor<1024x64xf32>, tensor<192xf32>
}

// Left alone: a weight of more rows than the batch, slices that overlap, what
// something else uses as well, and columns that no axis splits.

// CHECK-LABEL: func.func @few_rows
// CHECK:         weft.dot_general %arg0, %arg1
func.func @few_rows(%x: tensor<32x64xf32>,
    %w: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>}) -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<32x64xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
  %a = weft.slice %y starts = [0, 0] limits = [32, 64] strides = [1, 1] : tensor<32x128xf32> -> tensor<32x64xf32>
  %b = weft.slice %y starts = [0, 64] limits = [32, 128] strides = [1, 1] : tensor<32x128xf32> -> tensor<32x64xf32>
  return %a, %b : tensor<32x64xf32>, tensor<32x64xf32>
}

// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: weft.dot_general %arg0, %arg{{[12]}} contracting
// CHECK-NOT: weft.dot_general
func.func @others(%x: tensor<1024x64xf32>,
    %w: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>}, %u: tensor<64x128xf32>)
    -> (tensor<1024x96xf32>, tensor<1024x96xf32>, tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024x128xf32>, tensor<1024x64xf32>, tensor<1024x64xf32>) {
  %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<1024x64xf32>, tensor<64x128xf32>) -> tensor<1024x128xf32>
  %a = weft.slice %y starts = [0, 0] limits = [1024, 96] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x96xf32>
  %b = weft.slice %y starts = [0, 32] limits = [1024, 128] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x96xf32>
  %z = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<1024x64xf32>, tensor<64x128xf32>) -> tensor<1024x128xf32>
  %c = weft.slice %z starts = [0, 0] limits = [1024, 64] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x64xf32>
  %d = weft.slice %z starts = [0, 64] limits = [1024, 128] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x64xf32>
  %v = weft.dot_general %x, %u contracting = [1] x [0] : (tensor<1024x64xf32>, tensor<64x128xf32>) -> tensor<1024x128xf32>
  %e = weft.slice %v starts = [0, 0] limits = [1024, 64] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x64xf32>
  %f = weft.slice %v starts = [0, 64] limits = [1024, 128] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x64xf32>
  return %a, %b, %c, %d, %z, %e, %f : tensor<1024x96xf32>, tensor<1024x96xf32>, tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024x128xf32>, tensor<1024x64xf32>, tensor<1024x64xf32>
}
