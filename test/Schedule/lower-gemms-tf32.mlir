// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-lower-gemms=tf32=true | FileCheck %s
// RUN: shard-opt %s --weft-lower-gemms | FileCheck %s --check-prefix=FULL

// FULL-NOT: tf32

// CHECK-LABEL: @single
func.func @single(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  // CHECK: weft.gemm {{.*}} -> [32, 8, 1] tf32 :
  %r = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Other types have one precision.
// CHECK-LABEL: @half
func.func @half(%x: tensor<4x16xbf16>, %w: tensor<16x8xbf16>) -> tensor<4x8xf32> {
  // CHECK: weft.gemm {{.*}} -> [32, 8, 1] :
  %r = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
