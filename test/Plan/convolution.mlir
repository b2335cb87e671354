// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --target=none -o %t.plan | FileCheck %s --check-prefix=REPORT
// RUN: shard-run %t.plan --dump | FileCheck %s
// RUN: shard-compile %s --emit=schedule -o %t.mlir --target=none
// RUN: not shard-compile %t.mlir --target=cuda:sm_90 -o %t.plan 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: shard-compile %s --target=cuda:sm_90 -o %t.plan && shard-run %t.plan --dump | FileCheck %s --check-prefix=MATMULS

// REPORT: entry f: 2 GEMMs, 1 convolution,
// Windows are not laid out. What is one matmul, and other types, are no convolutions.
// CHECK: compute convolution %{{.*}} * %{{.*}} -> %{{.*}} groups 1 batch 2 features 3 to 8 [16 by 3 to 16 stride 1 low 1 dilations 1 x 1 strides 3 x 24 -> 8] strides [3, 48, 1] x [8, 8, 1] -> [8, 128, 1] flops 4608
// CHECK-NOT: compute convolution
// CUDA: has no instruction on CUDA devices; compile the graph, in which other ops take its place
// MATMULS-NOT: compute convolution
weft.mesh @mesh = <["data"=2]>
func.func @f(%x: tensor<4x16x3xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>},
             %w: tensor<3x3x8xf32> {weft.name = "w"}, %v: tensor<1x3x8xf32> {weft.name = "v"},
             %y: tensor<4x16x3xbf16> {weft.name = "y"}, %u: tensor<3x3x8xbf16> {weft.name = "u"})
    -> (tensor<4x16x8xf32> {weft.name = "r", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>},
        tensor<4x16x8xf32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>},
        tensor<4x16x8xbf16> {weft.name = "t"}) {
  %r = weft.convolution %x, %w strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 1
      : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x16x8xf32>
  %s = weft.convolution %x, %v strides = [1] low = [0] high = [0] lhs_dilation = [1] rhs_dilation = [1] groups = 1
      : (tensor<4x16x3xf32>, tensor<1x3x8xf32>) -> tensor<4x16x8xf32>
  %t = weft.convolution %y, %u strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 1
      : (tensor<4x16x3xbf16>, tensor<3x3x8xbf16>) -> tensor<4x16x8xbf16>
  return %r, %s, %t : tensor<4x16x8xf32>, tensor<4x16x8xf32>, tensor<4x16x8xbf16>
}
