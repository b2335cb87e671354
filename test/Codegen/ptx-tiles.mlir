// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-ptx | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#transposed = affine_map<(d0, d1) -> (d1, d0)>

// A block has a square of 32 rows and columns; 100 columns are four of them. It
// turns it in shared memory.
// CHECK-DAG: // transpose: 8 blocks of 256 threads, 4224 bytes of shared memory, 0 bytes of workspace
// CHECK-DAG: // transpose_bf16: 2 blocks of 256 threads, 8320 bytes of shared memory, 0 bytes of workspace
// CHECK-LABEL: .entry transpose(
// CHECK: ld.global{{.*}}.b32
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK: ld.shared.b32
// CHECK: st.global.b32
func.func private @transpose(%a: tensor<100x64xf32>) -> tensor<64x100xf32> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<64x100xf32>
  %r = linalg.generic {indexing_maps = [#transposed, #map], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<100x64xf32>) outs(%e : tensor<64x100xf32>) {
  ^bb0(%x: f32, %out: f32):
    linalg.yield %x : f32
  } -> tensor<64x100xf32>
  return %r : tensor<64x100xf32>
}

// Of numbers of 16 bits each lane has two at a time, both ways.
// CHECK-LABEL: .entry transpose_bf16(
// CHECK: ld.global{{.*}}{{\.v2\.b16|\.b32}}
// CHECK-NOT: ld.global
// CHECK: bar.sync
// CHECK: st.global{{\.v2\.b16|\.b32}}
func.func private @transpose_bf16(%a: tensor<100x64xbf16>) -> tensor<64x100xbf16> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<64x100xbf16>
  %r = linalg.generic {indexing_maps = [#transposed, #map], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<100x64xbf16>) outs(%e : tensor<64x100xbf16>) {
  ^bb0(%x: bf16, %out: bf16):
    linalg.yield %x : bf16
  } -> tensor<64x100xbf16>
  return %r : tensor<64x100xbf16>
}
