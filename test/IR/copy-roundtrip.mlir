// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s | shard-opt | FileCheck %s

// CHECK-LABEL: @copy
func.func @copy(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: weft.copy %{{.*}} : tensor<4xf32>
  %r = weft.copy %a : tensor<4xf32>
  return %r : tensor<4xf32>
}
