// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s | shard-opt | FileCheck %s
// RUN: shard-opt %s --mlir-print-op-generic | shard-opt | FileCheck %s

// CHECK-LABEL: @wait
// CHECK-SAME: %[[PENDING:.*]]: !weft.pending<tensor<4x8xf32>>
func.func @wait(%p: !weft.pending<tensor<4x8xf32>>) -> tensor<4x8xf32> {
  // CHECK: weft.wait %[[PENDING]] : !weft.pending<tensor<4x8xf32>>
  %r = weft.wait %p : !weft.pending<tensor<4x8xf32>>
  return %r : tensor<4x8xf32>
}
