// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<8xf32>, %zero: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[SUM:.*]] = weft.repeat 4 carry (%[[ACC:.*]] = %{{.*}}) : (tensor<8xf32>) {
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[ACC]], %{{.*}}
  // CHECK-NEXT: weft.yield %[[NEXT]] : tensor<8xf32>
  %sum = weft.repeat 4 carry (%acc = %zero) : (tensor<8xf32>) {
    %next = arith.addf %acc, %x : tensor<8xf32>
    weft.yield %next : tensor<8xf32>
  }
  // CHECK: weft.repeat 2 attributes {note = "nothing is carried"} {
  weft.repeat 2 attributes {note = "nothing is carried"} {
    weft.yield
  }
  return %sum : tensor<8xf32>
}
