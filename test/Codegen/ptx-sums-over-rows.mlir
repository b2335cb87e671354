// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-ptx | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#vector = affine_map<(d0) -> (d0)>

// Six tiles of 128 columns; threads of a tile meet in shared memory, blocks in
// the workspace. The sums are rounded where they are complete.
// CHECK-DAG: // bias: 528 blocks of 256 threads, {{[0-9]+}} bytes of shared memory, {{[0-9]+}} bytes of workspace
// CHECK-DAG: // norm_scale: 2048 blocks of 192 threads, {{[0-9]+}} bytes of shared memory, {{[0-9]+}} bytes of workspace
// CHECK-LABEL: .entry bias(
// CHECK: st.shared
// CHECK: bar.sync
// CHECK: atom{{.*}}.inc.u32
// CHECK: st.global.v2.b32
// CHECK-NOT: {{[[:space:]](atom|red)\.}}
func.func private @bias(%x: tensor<8192x768xf32>) -> tensor<768xbf16> attributes {weft.kernel} {
  %zero = arith.constant dense<0.0> : tensor<768xf32>
  %s = linalg.generic {indexing_maps = [#map, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8192x768xf32>) outs(%zero : tensor<768xf32>) {
  ^bb0(%a: f32, %out: f32):
    %t = arith.addf %a, %out : f32
    linalg.yield %t : f32
  } -> tensor<768xf32>
  %e = tensor.empty() : tensor<768xbf16>
  %r = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]}
      ins(%s : tensor<768xf32>) outs(%e : tensor<768xbf16>) {
  ^bb0(%a: f32, %out: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<768xbf16>
  return %r : tensor<768xbf16>
}

// A sum over rows of what needs the rows' own sums: a block has whole rows, and
// a thread one vector of columns, which it adds up in registers.
// CHECK-LABEL: .entry norm_scale(
// CHECK: ld.global{{.*}}.v4.b32
// CHECK: shfl.sync.bfly.b32
// CHECK: bar.sync
// CHECK-COUNT-2: atom{{.*}}.inc.u32
// CHECK-NOT: {{[[:space:]](atom|red)\.}}
func.func private @norm_scale(%x: tensor<8192x768xf32>) -> tensor<768xf32> attributes {weft.kernel} {
  %zeros = arith.constant dense<0.0> : tensor<8192xf32>
  %zero = arith.constant dense<0.0> : tensor<768xf32>
  %s = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8192x768xf32>) outs(%zeros : tensor<8192xf32>) {
  ^bb0(%a: f32, %out: f32):
    %t = arith.addf %a, %out : f32
    linalg.yield %t : f32
  } -> tensor<8192xf32>
  %r = linalg.generic {indexing_maps = [#map, #row, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %s : tensor<8192x768xf32>, tensor<8192xf32>) outs(%zero : tensor<768xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %p, %out : f32
    linalg.yield %t : f32
  } -> tensor<768xf32>
  return %r : tensor<768xf32>
}
