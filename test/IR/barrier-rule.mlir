// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The values that a barrier waits for have factors of their own.
// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<4x8xf32>, %g: tensor<4xf32>) {
  // expected-remark @below {{([i, j], [k])->([i, j]) {i=4, j=8, k=4}, linear}}
  %r = weft.barrier %x after %g : tensor<4x8xf32> after tensor<4xf32>
  return
}
