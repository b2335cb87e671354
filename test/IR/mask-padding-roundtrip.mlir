// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s | shard-opt | FileCheck %s

// CHECK-LABEL: func.func @mask_padding
// CHECK:         weft.mask_padding %{{.*}} dim = 0 size = 6 value = 0.000000e+00 : f32 : tensor<8x2xf32>
// CHECK:         weft.mask_padding %{{.*}} dim = 1 size = 0 value = true : tensor<8x2xi1>
func.func @mask_padding(%x: tensor<8x2xf32>, %y: tensor<8x2xi1>)
    -> (tensor<8x2xf32>, tensor<8x2xi1>) {
  %a = weft.mask_padding %x dim = 0 size = 6 value = 0.0 : f32 : tensor<8x2xf32>
  %b = weft.mask_padding %y dim = 1 size = 0 value = true : tensor<8x2xi1>
  return %a, %b : tensor<8x2xf32>, tensor<8x2xi1>
}
