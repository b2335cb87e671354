// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-ptx | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A warp walks a row of 768 numbers in 6 steps, 8 rows a block. The maximum is
// found by shuffles alone, and the row is loaded once for both passes.
// CHECK-DAG: // short_rows: 1024 blocks of 256 threads, 0 bytes of shared memory, 0 bytes of workspace
// CHECK-DAG: // long_rows: 128 blocks of 256 threads, 64 bytes of shared memory, 0 bytes of workspace
// CHECK-DAG: // tiny_rows: 32 blocks of 256 threads, 0 bytes of shared memory, 0 bytes of workspace
// CHECK-LABEL: .entry short_rows(
// CHECK-COUNT-6: ld.global{{.*}}.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT: bar.sync
// CHECK-COUNT-6: st.global.v4.b32
// CHECK-NOT: {{shfl|ld.global|bar.sync}}
func.func private @short_rows(%x: tensor<8192x768xf32>) -> tensor<8192x768xf32> attributes {weft.kernel} {
  %init = arith.constant dense<0xFF800000> : tensor<8192xf32>
  %e = tensor.empty() : tensor<8192x768xf32>
  %m = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8192x768xf32>) outs(%init : tensor<8192xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.maximumf %a, %out : f32
    linalg.yield %s : f32
  } -> tensor<8192xf32>
  %y = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<8192x768xf32>, tensor<8192xf32>) outs(%e : tensor<8192x768xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8192x768xf32>
  return %y : tensor<8192x768xf32>
}

// A block walks a row; its warps meet in shared memory, once.
// CHECK-LABEL: .entry long_rows(
// CHECK-COUNT-4: ld.global{{.*}}.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.shared
// CHECK: bar.sync
// CHECK: ld.shared
// CHECK-NOT: bar.sync
// CHECK-COUNT-4: st.global.v4.b32
// CHECK-NOT: {{bar.sync|ld.global}}
func.func private @long_rows(%x: tensor<128x4096xf32>) -> tensor<128x4096xf32> attributes {weft.kernel} {
  %init = arith.constant dense<0xFF800000> : tensor<128xf32>
  %e = tensor.empty() : tensor<128x4096xf32>
  %m = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<128x4096xf32>) outs(%init : tensor<128xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.maximumf %a, %out : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  %y = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<128x4096xf32>, tensor<128xf32>) outs(%e : tensor<128x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<128x4096xf32>
  return %y : tensor<128x4096xf32>
}

// 8 threads have a row of 32 numbers: 4 rows a warp.
// CHECK-LABEL: .entry tiny_rows(
// CHECK-COUNT-3: shfl.sync.bfly.b32
// CHECK-NOT: shfl
func.func private @tiny_rows(%x: tensor<1024x32xf32>) -> tensor<1024xf32> attributes {weft.kernel} {
  %init = arith.constant dense<0.0> : tensor<1024xf32>
  %m = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<1024x32xf32>) outs(%init : tensor<1024xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %a, %out : f32
    linalg.yield %s : f32
  } -> tensor<1024xf32>
  return %m : tensor<1024xf32>
}
