// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Pieces are chosen by cost: of what takes longer to send than to call for, and
// where nothing else is left to compute. On a CPU what communicates computes.
// RUN: shard-opt %s --weft-split-collectives=cluster=dgx-h100 | FileCheck %s
// RUN: shard-opt %s --weft-split-collectives=cluster=cpu-2core | FileCheck %s --check-prefix=CPU

weft.mesh @mesh = <["tensor"=2]>

// CHECK-LABEL: @large
// CHECK-SAME: weft.saved_times = [{seconds = {{.*}}, seconds_before = {{.*}}, what = "1 collective in 2 pieces each,"}]
// CPU-LABEL: @large
// CPU-NOT: weft.piece
func.func @large(%x: tensor<4x2048x2048xbf16>, %w: tensor<2048x4096xbf16>) -> tensor<4x2048x4096xbf16> {
  // CHECK-COUNT-2: weft.all_reduce {{.*}} : tensor<2x2048x4096xbf16>
  %0 = weft.dot_general %x, %w contracting = [2] x [0] : (tensor<4x2048x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<4x2048x4096xbf16>
  %1 = weft.all_reduce sum %0 over <@mesh, {"tensor"}> : tensor<4x2048x4096xbf16>
  %2 = math.tanh %1 : tensor<4x2048x4096xbf16>
  return %2 : tensor<4x2048x4096xbf16>
}

// CHECK-LABEL: @small
// CHECK-NOT: weft.piece
// CPU-LABEL: @small
func.func @small(%x: tensor<4x16x128xbf16>, %w: tensor<128x128xbf16>) -> tensor<4x16x128xbf16> {
  %0 = weft.dot_general %x, %w contracting = [2] x [0] : (tensor<4x16x128xbf16>, tensor<128x128xbf16>) -> tensor<4x16x128xbf16>
  %1 = weft.all_reduce sum %0 over <@mesh, {"tensor"}> : tensor<4x16x128xbf16>
  %2 = math.tanh %1 : tensor<4x16x128xbf16>
  return %2 : tensor<4x16x128xbf16>
}

// Behind a matmul that nobody waits for, all of it is hidden anyway.
// CHECK-LABEL: @hidden
// CHECK-NOT: weft.piece
// CPU-LABEL: @hidden
func.func @hidden(%x: tensor<4x2048x2048xbf16>, %w: tensor<2048x4096xbf16>, %v: tensor<16384x2048xbf16>)
    -> (tensor<4x2048x4096xbf16>, tensor<16384x4096xbf16>) {
  %0 = weft.dot_general %x, %w contracting = [2] x [0] : (tensor<4x2048x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<4x2048x4096xbf16>
  %1 = weft.all_reduce sum %0 over <@mesh, {"tensor"}> : tensor<4x2048x4096xbf16>
  %2 = math.tanh %1 : tensor<4x2048x4096xbf16>
  %3 = weft.dot_general %v, %w contracting = [1] x [0] : (tensor<16384x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<16384x4096xbf16>
  return %2, %3 : tensor<4x2048x4096xbf16>, tensor<16384x4096xbf16>
}
