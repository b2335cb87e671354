// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// No axis splits the dimension of the micro-batches.
// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<8x4xf32>, %w: tensor<16xf32>) {
  // expected-remark @below {{([i, j])->([i]) {i=8, j=4} need_replication={j}, linear}}
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4>
      : tensor<8x4xf32> -> tensor<8xf32>
  // expected-remark @below {{([i])->([i]) {i=16}, linear}}
  %wi = weft.microbatch_use %w of <"step", 4> : tensor<16xf32>
  // expected-remark @below {{([i])->([i]) {i=8}, linear}}
  %s = weft.microbatch_sum %xi of <"step", 4> : tensor<8xf32>
  // expected-remark @below {{([j])->([i, j]) {i=4, j=8} need_replication={i}, linear}}
  %y = weft.microbatch_stack %xi dim = 0 of <"step", 4>
      : tensor<8xf32> -> tensor<4x8xf32>
  return
}
