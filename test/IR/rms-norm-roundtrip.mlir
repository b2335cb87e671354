// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
  // CHECK: weft.rms_norm %{{.*}} dims = [1] epsilon = 1.000000e-05 : tensor<4x8xf32>
  %r0 = weft.rms_norm %x dims = [1] epsilon = 1.0e-5 : tensor<4x8xf32>
  // CHECK: weft.rms_norm %{{.*}} scale %{{.*}} dims = [1] epsilon = 1.000000e-05 : tensor<4x8xf32> scale tensor<8xf32>
  %r1 = weft.rms_norm %x scale %s dims = [1] epsilon = 1.0e-5 : tensor<4x8xf32> scale tensor<8xf32>
  return
}
