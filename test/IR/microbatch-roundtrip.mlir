// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<8x4x16xf32>, %w: tensor<16xf32>) {
  // CHECK: %[[PART:.*]] = weft.microbatch_slice %{{.*}} dim = 1 of <"step", 4> : tensor<8x4x16xf32> -> tensor<8x16xf32>
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4>
      : tensor<8x4x16xf32> -> tensor<8x16xf32>
  // CHECK: weft.microbatch_use %{{.*}} of <"step", 4> : tensor<16xf32>
  %wi = weft.microbatch_use %w of <"step", 4> : tensor<16xf32>
  // CHECK: weft.microbatch_sum %[[PART]] of <"step", 4> : tensor<8x16xf32>
  %s = weft.microbatch_sum %xi of <"step", 4> : tensor<8x16xf32>
  // CHECK: weft.microbatch_stack %[[PART]] dim = 0 of <"step", 4> : tensor<8x16xf32> -> tensor<4x8x16xf32>
  %y = weft.microbatch_stack %xi dim = 0 of <"step", 4>
      : tensor<8x16xf32> -> tensor<4x8x16xf32>
  return
}
