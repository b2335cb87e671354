// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-start-collectives=cluster=%S/../Partition/Inputs/uniform.toml --split-input-file | FileCheck %s
// RUN: shard-opt %s --weft-start-collectives="cluster=%S/../Partition/Inputs/uniform.toml overlap-collectives=false" --split-input-file | FileCheck %s --check-prefix=PROGRAM

// The gradient of a weight is the last to read what was gathered. It goes before
// the gradient that is sent, as large as that, though something could be
// computed meanwhile: 1 % of the time for a third of what is alive at once.
// CHECK-LABEL: func @gathered
// CHECK:         weft.start all_gather
// CHECK-NEXT:    %[[H:.*]] = weft.wait
// CHECK-NEXT:    %[[Y:.*]] = weft.gemm %[[H]], %arg1
// CHECK-NEXT:    weft.gemm %[[Y]], %[[H]]
// CHECK-NEXT:    weft.gemm %[[Y]], %arg2
// CHECK-NEXT:    weft.start reduce_scatter
// CHECK-NEXT:    weft.wait
// CHECK-NEXT:    return
// PROGRAM-LABEL: func @gathered
// PROGRAM:       weft.gemm {{.*}}, %arg2
// PROGRAM-NEXT:  weft.start reduce_scatter
// PROGRAM-NEXT:  weft.wait
// PROGRAM-NEXT:  weft.gemm
weft.mesh @mesh = <["data"=8]>
func.func @gathered(%h: tensor<256x2048xf32>, %v: tensor<2048x128xf32>, %w: tensor<128x2048xf32>)
    -> (tensor<256x2048xf32>, tensor<128x2048xf32>) {
  %whole = weft.all_gather %h dim = 0 over <@mesh, {"data"}> : tensor<256x2048xf32> -> tensor<2048x2048xf32>
  %y = weft.gemm %whole, %v batch = 1 m = 2048 n = 128 k = 2048 strides = [4194304, 2048, 1] x [262144, 128, 1] -> [262144, 128, 1]
      : (tensor<2048x2048xf32>, tensor<2048x128xf32>) -> tensor<2048x128xf32>
  %dh = weft.gemm %y, %w batch = 1 m = 2048 n = 2048 k = 128 strides = [262144, 128, 1] x [262144, 2048, 1] -> [4194304, 2048, 1]
      : (tensor<2048x128xf32>, tensor<128x2048xf32>) -> tensor<2048x2048xf32>
  %dx = weft.reduce_scatter sum %dh dim = 0 over <@mesh, {"data"}> : tensor<2048x2048xf32> -> tensor<256x2048xf32>
  %dw = weft.gemm %y, %whole batch = 1 m = 128 n = 2048 k = 2048 strides = [262144, 1, 128] x [4194304, 2048, 1] -> [262144, 2048, 1]
      : (tensor<2048x128xf32>, tensor<2048x2048xf32>) -> tensor<128x2048xf32>
  return %dx, %dw : tensor<256x2048xf32>, tensor<128x2048xf32>
}

// -----

// Not where a matmul takes long.
// CHECK-LABEL: func @slow
// CHECK:         weft.gemm {{.*}}, %arg2
// CHECK-NEXT:    weft.start reduce_scatter
// CHECK-NEXT:    weft.gemm
// CHECK-NEXT:    weft.wait
weft.mesh @mesh = <["data"=8]>
func.func @slow(%h: tensor<256x2048xf32>, %v: tensor<2048x16384xf32>, %w: tensor<16384x2048xf32>)
    -> (tensor<256x2048xf32>, tensor<16384x2048xf32>) {
  %whole = weft.all_gather %h dim = 0 over <@mesh, {"data"}> : tensor<256x2048xf32> -> tensor<2048x2048xf32>
  %y = weft.gemm %whole, %v batch = 1 m = 2048 n = 16384 k = 2048 strides = [4194304, 2048, 1] x [33554432, 16384, 1] -> [33554432, 16384, 1]
      : (tensor<2048x2048xf32>, tensor<2048x16384xf32>) -> tensor<2048x16384xf32>
  %dh = weft.gemm %y, %w batch = 1 m = 2048 n = 2048 k = 16384 strides = [33554432, 16384, 1] x [33554432, 2048, 1] -> [4194304, 2048, 1]
      : (tensor<2048x16384xf32>, tensor<16384x2048xf32>) -> tensor<2048x2048xf32>
  %dx = weft.reduce_scatter sum %dh dim = 0 over <@mesh, {"data"}> : tensor<2048x2048xf32> -> tensor<256x2048xf32>
  %dw = weft.gemm %y, %whole batch = 1 m = 16384 n = 2048 k = 2048 strides = [33554432, 1, 16384] x [4194304, 2048, 1] -> [33554432, 2048, 1]
      : (tensor<2048x16384xf32>, tensor<2048x2048xf32>) -> tensor<16384x2048xf32>
  return %dx, %dw : tensor<256x2048xf32>, tensor<16384x2048xf32>
}
