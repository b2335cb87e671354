// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --target=none -o %t.plan && shard-run %t.plan --dump | FileCheck %s
// RUN: shard-compile %s --emit=schedule -o %t.mlir --target=none
// RUN: not shard-compile %t.mlir --target=cuda:sm_90 -o %t.plan 2>&1 | FileCheck %s --check-prefix=CUDA

// Of a batch that is split, each rank has the sizes of its own.
// CHECK: compute gemm %{{.*}} = %{{.*}} * %{{.*}} batch 1 m 32 n 16 k 8 strides lhs [256, 8, 1] rhs [128, 16, 1] out [512, 16, 1] groups of rows %{{[0-9]+}} flops 8192
// CHECK: compute gemm %{{.*}} = %{{.*}} * %{{.*}} batch 1 m 8 n 16 k 32 strides lhs [256, 1, 8] rhs [512, 16, 1] out [128, 16, 1] groups of sums %{{[0-9]+}} flops 8192
// CHECK: all_reduce sum
// CUDA: has no instruction on CUDA devices; compile the graph, in which other ops take its place
weft.mesh @mesh = <["data"=2]>
func.func @f(%x: tensor<2x32x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>},
             %w: tensor<4x8x16xf32> {weft.name = "w"},
             %s: tensor<2x4xi32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<2x32x16xf32> {weft.name = "r", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>},
        tensor<4x8x16xf32> {weft.name = "g", weft.sharding = #weft.sharding<@mesh, [{}, {}, {}]>}) {
  %r = weft.grouped_dot %x, %w groups %s : (tensor<2x32x8xf32>, tensor<4x8x16xf32>, tensor<2x4xi32>) -> tensor<2x32x16xf32>
  %g = weft.grouped_outer %x, %r groups %s : (tensor<2x32x8xf32>, tensor<2x32x16xf32>, tensor<2x4xi32>) -> tensor<4x8x16xf32>
  return %r, %g : tensor<2x32x16xf32>, tensor<4x8x16xf32>
}
