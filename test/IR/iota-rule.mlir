// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f() {
  // expected-remark @below {{()->([i, j]) {i=4, j=256}, not linear}}
  %0 = weft.iota dim = 1 : tensor<4x256xi32>
  return
}
