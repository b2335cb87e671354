// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not shard-opt %s --weft-print-ptx=processor=sm_30 2>&1 | FileCheck %s --check-prefix=OLD
// OLD: error: unknown CUDA processor "sm_30"; expected cuda:sm_80 (A100), cuda:sm_90 (H100, H200) or cuda:sm_100 (B200)

// RUN: not shard-opt %s --weft-print-ptx 2>&1 | FileCheck %s
// CHECK: error: 'weft.scatter_add' op is used by arith.negf in its kernel
func.func private @f(%i: tensor<4xi32>, %u: tensor<4x8xf32>) -> tensor<16x8xf32> attributes {weft.kernel} {
  %r = weft.scatter_add %u, %i dim = 0 : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<16x8xf32>
  %n = arith.negf %r : tensor<16x8xf32>
  return %n : tensor<16x8xf32>
}
