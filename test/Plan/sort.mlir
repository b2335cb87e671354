// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --target=none -o %t.plan && shard-run %t.plan --dump | FileCheck %s
// RUN: shard-compile %s --emit=schedule -o %t.mlir --target=none
// RUN: not shard-compile %t.mlir --target=cuda:sm_90 -o %t.plan 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: shard-compile %s --target=cuda:sm_90 -o %t.plan && shard-run %t.plan --dump | FileCheck %s --check-prefix=KERNELS

// Rows are split, the dimension that is sorted is not.
// CHECK-NOT: all_gather
// CHECK: compute sort %{{[0-9]+}} -> %{{[0-9]+}} outer 2 size 64 inner 8 count 64
// CHECK: compute sort %{{[0-9]+}} -> %{{[0-9]+}} outer 2 size 64 inner 8 count 5 descending
// CUDA: has no instruction on CUDA devices; compile the graph, in which other ops take its place
// KERNELS-NOT: compute sort
weft.mesh @mesh = <["data"=2]>
func.func @f(%x: tensor<4x64x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>})
    -> (tensor<4x64x8xi32> {weft.name = "r", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>},
        tensor<4x5x8xi32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>}) {
  %r = weft.argsort %x dim = 1 : tensor<4x64x8xf32> -> tensor<4x64x8xi32>
  %s = weft.argsort %x dim = 1 descending : tensor<4x64x8xf32> -> tensor<4x5x8xi32>
  return %r, %s : tensor<4x64x8xi32>, tensor<4x5x8xi32>
}
