// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-ptx=processor=sm_90 | FileCheck %s
// RUN: shard-opt %s --weft-print-ptx=processor=sm_80 | FileCheck %s --check-prefix=SMALLER

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Rows that are too long for registers, and of which two find room in the
// shared memory of a processor: the first pass keeps what it loads, each thread
// its own vectors and edge, and the second reads no memory of the device. A
// processor of sm_80 has less.
// CHECK-DAG: // logits: 4096 blocks of 512 threads, {{[0-9]+}} bytes of shared memory, 101536 more by its launch, 0 bytes of workspace
// CHECK-DAG: // one_of_two: 4096 blocks of 512 threads, {{[0-9]+}} bytes of shared memory, 80000 more by its launch, 0 bytes of workspace
// CHECK-DAG: .extern .shared .align 16 .b8 logits_launch_shared[];
// CHECK-LABEL: .entry logits(
// CHECK: ld.global{{.*}}.v4
// CHECK: st.shared.v4
// CHECK: bar.sync
// CHECK-NOT: ld.global
// CHECK: ld.shared.v4
// CHECK: st.global.v4
// CHECK-NOT: ld.global
// CHECK: ret;
// SMALLER-DAG: // logits: 4096 blocks of 512 threads, {{[0-9]+}} bytes of shared memory, 0 bytes of workspace
func.func private @logits(%x: tensor<4096x50257xbf16>) -> tensor<4096x50257xbf16> attributes {weft.kernel} {
  %init = arith.constant dense<0xFF800000> : tensor<4096xf32>
  %e = tensor.empty() : tensor<4096x50257xbf16>
  %m = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4096x50257xbf16>) outs(%init : tensor<4096xf32>) {
  ^bb0(%a: bf16, %out: f32):
    %w = arith.extf %a : bf16 to f32
    %s = arith.maximumf %w, %out : f32
    linalg.yield %s : f32
  } -> tensor<4096xf32>
  %y = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<4096x50257xbf16>, tensor<4096xf32>) outs(%e : tensor<4096x50257xbf16>) {
  ^bb0(%a: bf16, %b: f32, %out: bf16):
    %w = arith.extf %a : bf16 to f32
    %s = arith.subf %w, %b : f32
    %n = arith.truncf %s : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<4096x50257xbf16>
  return %y : tensor<4096x50257xbf16>
}

// What only one pass reads is not kept.
// CHECK-LABEL: .entry one_of_two(
// CHECK: ld.global{{.*}}.v4
// CHECK: st.shared.v4
// CHECK: bar.sync
// CHECK-NOT: st.shared.v4
// CHECK: ld.shared.v4
// CHECK-NEXT: ld.global{{.*}}.v4
// CHECK-NOT: st.shared.v4
// CHECK: ret;
// SMALLER-DAG: // one_of_two: 4096 blocks of 512 threads, {{[0-9]+}} bytes of shared memory, 80000 more by its launch, 0 bytes of workspace
func.func private @one_of_two(%x: tensor<4096x20000xf32>, %scale: tensor<4096x20000xf32>) -> tensor<4096x20000xf32> attributes {weft.kernel} {
  %init = arith.constant dense<0xFF800000> : tensor<4096xf32>
  %e = tensor.empty() : tensor<4096x20000xf32>
  %m = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4096x20000xf32>) outs(%init : tensor<4096xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.maximumf %a, %out : f32
    linalg.yield %s : f32
  } -> tensor<4096xf32>
  %y = linalg.generic {indexing_maps = [#map, #map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %scale, %m : tensor<4096x20000xf32>, tensor<4096x20000xf32>, tensor<4096xf32>) outs(%e : tensor<4096x20000xf32>) {
  ^bb0(%a: f32, %f: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %s = arith.mulf %d, %f : f32
    linalg.yield %s : f32
  } -> tensor<4096x20000xf32>
  return %y : tensor<4096x20000xf32>
}
