// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A parameter that is gathered ahead of its use is alive longer. Where no more
// bytes may be, each is gathered when the one before is not needed any more.

// RUN: shard-opt %s --weft-start-collectives=arena-growth=1 | FileCheck %s --check-prefix=AHEAD
// RUN: shard-opt %s --weft-start-collectives=arena-growth=0 | FileCheck %s --check-prefix=HELD

// AHEAD: weft.start
// AHEAD-NEXT: weft.start
// AHEAD: weft.wait
// AHEAD-NEXT: weft.gemm
// HELD: weft.start
// HELD-NEXT: weft.wait
// HELD-NEXT: weft.gemm
// HELD-NEXT: weft.start
// HELD-NEXT: weft.wait
// HELD-NEXT: weft.gemm
weft.mesh @mesh = <["data"=2]>
func.func @forward(%x: tensor<1024x1024xf32>, %v: tensor<512x1024xf32>, %w: tensor<512x1024xf32>, %u: tensor<512x1024xf32>) -> tensor<1024x1024xf32> {
  %p = weft.all_gather %v dim = 0 over <@mesh, {"data"}> : tensor<512x1024xf32> -> tensor<1024x1024xf32>
  %y = weft.gemm %x, %p batch = 1 m = 1024 n = 1024 k = 1024
      strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1]
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %q = weft.all_gather %w dim = 0 over <@mesh, {"data"}> : tensor<512x1024xf32> -> tensor<1024x1024xf32>
  %z = weft.gemm %y, %q batch = 1 m = 1024 n = 1024 k = 1024
      strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1]
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %r = weft.all_gather %u dim = 0 over <@mesh, {"data"}> : tensor<512x1024xf32> -> tensor<1024x1024xf32>
  %o = weft.gemm %z, %r batch = 1 m = 1024 n = 1024 k = 1024
      strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1]
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %o : tensor<1024x1024xf32>
}
