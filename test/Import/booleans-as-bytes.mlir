// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --emit=graph | FileCheck %s
// RUN: sed 's/000001">/0001">/' %s > %t
// RUN: not shard-compile %t --emit=graph 2>&1 | FileCheck %s --check-prefix=SHORT

// Newer versions of MLIR write a byte for each element of a boolean constant.
// Integers stay as they are, also beside it, and so does the constant with a
// bit for each element.

// CHECK: dense<[true, false, false, true, false, false, false, false, false, false, true]> : tensor<11xi1>
// CHECK: dense<[1, 256]> : tensor<2xi32>
// CHECK: dense<[false, false, false, true, false, false, false, false, false, false, true]> : tensor<11xi1>
// SHORT: error: elements hex data size is invalid for provided type: 'tensor<11xi1>'
func.func @main() -> (tensor<11xi1>, tensor<2xi32>, tensor<11xi1>) {
  %0 = "stablehlo.constant"() <{value = dense<"0x0100000100000000000001"> : tensor<11xi1>}> : () -> tensor<11xi1>
  %1 = "stablehlo.constant"() <{value = dense<"0x0100000000010000"> : tensor<2xi32>}> : () -> tensor<2xi32>
  %2 = "stablehlo.constant"() <{value = dense<"0x0804"> : tensor<11xi1>}> : () -> tensor<11xi1>
  return %0, %1, %2 : tensor<11xi1>, tensor<2xi32>, tensor<11xi1>
}
