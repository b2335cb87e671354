// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// While a gradient is scattered, the next one may be made, beside it in memory.
// Above a limit the order holds no more than that of the program.

// RUN: shard-opt %s --weft-choose-recomputation | FileCheck %s --check-prefix=BESIDE
// RUN: shard-opt %s --weft-choose-recomputation=memory-limit=1073741824 | FileCheck %s --check-prefix=BESIDE
// RUN: shard-opt %s --weft-choose-recomputation=memory-limit=1 | FileCheck %s --check-prefix=LIMIT

// BESIDE: weft.start reduce_scatter
// BESIDE-NEXT: weft.gemm
// BESIDE-NEXT: weft.wait
// LIMIT: weft.start reduce_scatter
// LIMIT-NEXT: weft.wait
// LIMIT-NEXT: weft.gemm
weft.mesh @mesh = <["data"=2]>
func.func @gradients(%x: tensor<1024x1024xf32>, %y: tensor<1024x1024xf32>) -> (tensor<512x1024xf32>, tensor<512x1024xf32>) {
  %g = weft.gemm %x, %x batch = 1 m = 1024 n = 1024 k = 1024
      strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1]
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %r = weft.reduce_scatter sum %g dim = 0 over <@mesh, {"data"}> : tensor<1024x1024xf32> -> tensor<512x1024xf32>
  %h = weft.gemm %x, %y batch = 1 m = 1024 n = 1024 k = 1024
      strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1]
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s = weft.reduce_scatter sum %h dim = 0 over <@mesh, {"data"}> : tensor<1024x1024xf32> -> tensor<512x1024xf32>
  return %r, %s : tensor<512x1024xf32>, tensor<512x1024xf32>
}
