// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<4x8xbf16>, %s: tensor<8xf32>, %b: tensor<8xbf16>) {
  // CHECK: weft.layer_norm %{{.*}} dims = [1] epsilon = 1.000000e-05 : tensor<4x8xbf16>
  %r0 = weft.layer_norm %x dims = [1] epsilon = 1.0e-5 : tensor<4x8xbf16>
  // CHECK: weft.layer_norm %{{.*}} scale %{{.*}} dims = [1] epsilon = 1.000000e-05 : tensor<4x8xbf16> scale tensor<8xf32>
  %r1 = weft.layer_norm %x scale %s dims = [1] epsilon = 1.0e-5 : tensor<4x8xbf16> scale tensor<8xf32>
  // CHECK: weft.layer_norm %{{.*}} bias %{{.*}} dims = [1] epsilon = 1.000000e-05 : tensor<4x8xbf16> bias tensor<8xbf16>
  %r2 = weft.layer_norm %x bias %b dims = [1] epsilon = 1.0e-5 : tensor<4x8xbf16> bias tensor<8xbf16>
  // CHECK: weft.layer_norm %{{.*}} scale %{{.*}} bias %{{.*}} dims = [1] epsilon = 1.000000e-05 : tensor<4x8xbf16> scale tensor<8xf32> bias tensor<8xbf16>
  %r3 = weft.layer_norm %x scale %s bias %b dims = [1] epsilon = 1.0e-5
      : tensor<4x8xbf16> scale tensor<8xf32> bias tensor<8xbf16>
  return
}
