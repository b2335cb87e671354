// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-ptx | FileCheck %s

// A warp owns 25 rows of the table and 128 of their columns. It looks at 32
// indices at a time, and adds what is for it.
// CHECK: // embedding: {{[0-9]+}} blocks of 256 threads, 0 bytes of shared memory, 0 bytes of workspace
// CHECK-LABEL: .entry embedding(
// CHECK: vote.sync.ballot.b32
// CHECK: ld.global.v4.b32
// CHECK: add.rn.f32
// CHECK: st.global.v4.b32
// CHECK-NOT: {{[[:space:]](atom|red)\.}}
func.func private @embedding(%i: tensor<8x1024xi32>, %u: tensor<8x1024x768xf32>) -> tensor<16384x768xf32> attributes {weft.kernel} {
  %r = weft.scatter_add %u, %i dim = 0 : (tensor<8x1024x768xf32>, tensor<8x1024xi32>) -> tensor<16384x768xf32>
  return %r : tensor<16384x768xf32>
}
