// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<4x8xf32>) {
  // Only the dimension taken whole is shared. A device with a part of another
  // one has zeros for what it does not hold.
  // expected-remark @below {{([i, k])->([i, j]) {i=4, j=6, k=8} reduction={k} permutation={j}, linear}}
  %0 = weft.slice %x starts = [0, 2] limits = [4, 8] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x6xf32>
  return
}
