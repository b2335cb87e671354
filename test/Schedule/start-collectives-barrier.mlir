// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-start-collectives | FileCheck %s

// What is behind a barrier stays behind the wait for what it waits for. The
// barrier itself is gone.

weft.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @barrier(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[G:.*]]: tensor<4xf32>)
func.func @barrier(%x: tensor<8xf32>, %g: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  // CHECK: %[[PENDING:.*]] = weft.start all_reduce %[[G]]
  // CHECK: weft.wait %[[PENDING]]
  // CHECK: math.exp %[[X]]
  // CHECK-NOT: weft.barrier
  %s = weft.all_reduce sum %g over <@mesh, {"x"}> : tensor<4xf32>
  %r = weft.barrier %x after %s : tensor<8xf32> after tensor<4xf32>
  %e = math.exp %r : tensor<8xf32>
  return %e, %s : tensor<8xf32>, tensor<4xf32>
}
