// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-ptx | FileCheck %s

// All numbers of a tensor, by several blocks: the last one to arrive adds their
// sums up. The only atomic operation counts blocks.
// CHECK: // norm: 144 blocks of 256 threads, {{[0-9]+}} bytes of shared memory, {{[0-9]+}} bytes of workspace
// CHECK-LABEL: .entry norm(
// CHECK: ld.global{{.*}}.v4.b32
// CHECK: bar.sync
// CHECK: fence.acq_rel.gpu
// CHECK: atom{{.*}}.inc.u32
// CHECK: fence.acq_rel.gpu
// CHECK-NOT: {{[[:space:]](atom|red)\.}}
func.func private @norm(%x: tensor<768x768xf32>) -> tensor<f32> attributes {weft.kernel} {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>],
                       iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<768x768xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %out: f32):
    %p = arith.mulf %a, %a : f32
    %t = arith.addf %p, %out : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  %e = tensor.empty() : tensor<f32>
  %n = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%s : tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32, %out: f32):
    %r = math.sqrt %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %n : tensor<f32>
}
