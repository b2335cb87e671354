// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-ptx | FileCheck %s
// RUN: shard-opt %s --weft-print-ptx=processor=sm_80 | FileCheck %s --check-prefix=SM80
// RUN: shard-opt %s --weft-print-ptx=processor=sm_100 | FileCheck %s --check-prefix=SM100

#map = affine_map<(d0, d1) -> (d0, d1)>

// The documented example: each thread has four numbers, read and written at
// once. What is multiplied and added is rounded twice.
// CHECK: // axpy: 1024 blocks of 256 threads, 0 bytes of shared memory, 0 bytes of workspace
// CHECK: .target sm_90
// CHECK: .entry axpy(
// CHECK-COUNT-2: ld.global{{.*}}.v4.b32
// CHECK-COUNT-4: add.rn.f32
// CHECK-NOT: fma
// CHECK: st.global.v4.b32
// SM80: .target sm_80
// SM100: .target sm_100
func.func private @axpy(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {weft.kernel} {
  %c = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %r = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %p = arith.mulf %x, %c : f32
    %s = arith.addf %p, %y : f32
    linalg.yield %s : f32
  } -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}
