// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s | shard-opt | FileCheck %s
// RUN: shard-opt %s --mlir-print-op-generic | shard-opt | FileCheck %s

weft.mesh @mesh = <["a"=2, "b"=2]>

// CHECK-LABEL: @kinds
func.func @kinds(%x: tensor<4x8xf32>) {
  // CHECK: weft.start all_reduce %{{.*}} max over <@mesh, {"a"}> {in_place} : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  %0 = weft.start all_reduce %x max over <@mesh, {"a"}> {in_place}
      : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  // CHECK: weft.start all_gather %{{.*}} dim = 0 over <@mesh, {"a", "b"}> {cause = "because"} : tensor<4x8xf32> -> !weft.pending<tensor<16x8xf32>>
  %1 = weft.start all_gather %x dim = 0 over <@mesh, {"a", "b"}> {cause = "because"}
      : tensor<4x8xf32> -> !weft.pending<tensor<16x8xf32>>
  // CHECK: weft.start reduce_scatter %{{.*}} sum dim = 1 over <@mesh, {"b"}> : tensor<4x8xf32> -> !weft.pending<tensor<4x4xf32>>
  %2 = weft.start reduce_scatter %x sum dim = 1 over <@mesh, {"b"}>
      : tensor<4x8xf32> -> !weft.pending<tensor<4x4xf32>>
  // CHECK: weft.start all_to_all %{{.*}} split = 1 concat = 0 over <@mesh, {"a"}> : tensor<4x8xf32> -> !weft.pending<tensor<8x4xf32>>
  %3 = weft.start all_to_all %x split = 1 concat = 0 over <@mesh, {"a"}>
      : tensor<4x8xf32> -> !weft.pending<tensor<8x4xf32>>
  // CHECK: weft.start permute %{{.*}} from <@mesh, {"a"}> to <@mesh, {"b"}> : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  %4 = weft.start permute %x from <@mesh, {"a"}> to <@mesh, {"b"}>
      : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  // CHECK: weft.start permute %{{.*}} from <@mesh, {"a"}> to <@mesh, {"a"}> {shift = 1 : i64} : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  %5 = weft.start permute %x from <@mesh, {"a"}> to <@mesh, {"a"}> {shift = 1 : i64}
      : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
  // CHECK: weft.start exchange %{{.*}} dim = 1 over <@mesh, {"a"}> map <[8] to [4, 2], 0 to 0 for 12> : tensor<4x8xf32> -> !weft.pending<tensor<4x6xf32>>
  %6 = weft.start exchange %x dim = 1 over <@mesh, {"a"}> map <[8] to [4, 2], 0 to 0 for 12>
      : tensor<4x8xf32> -> !weft.pending<tensor<4x6xf32>>
  return
}
