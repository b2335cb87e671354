// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --emit=schedule | FileCheck %s --check-prefix=SCHEDULE
// RUN: shard-compile %s -o %t.plan
// RUN: shard-run %t.plan --dump | FileCheck %s --check-prefix=PLAN

// Attention is an instruction as it is; a diagonal is a number in memory.
// SCHEDULE:      weft.attention %{{.*}}, %{{.*}}, %{{.*}} causal diagonal %{{.*}} scale = 2.500000e-01 {weft.offsets = array<i64:
// PLAN:          compute attention %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}}, %{{.*}} causal diagonal %{{.*}} scale 0.25 batch 2 queries 8 keys 12 heads 4 of 2 head size 16 flops {{.*}} bytes {{.*}} at "{{.*}}attention.mlir:16"
weft.mesh @mesh = <["data"=2]>
func.func @f(
    %q: tensor<4x8x4x16xf32> {weft.name = "q", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}, {}]>},
    %k: tensor<4x12x2x16xf32> {weft.name = "k"}, %v: tensor<4x12x2x16xf32> {weft.name = "v"},
    %d: tensor<i32> {weft.name = "d"}) -> (tensor<4x8x4x16xf32> {weft.name = "o"}) {
  %r, %s = weft.attention %q, %k, %v causal diagonal %d scale = 0.25
      : (tensor<4x8x4x16xf32>, tensor<4x12x2x16xf32>, tensor<4x12x2x16xf32>, tensor<i32>) -> (tensor<4x8x4x16xf32>, tensor<4x8x4xf32>)
  return %r : tensor<4x8x4x16xf32>
}

// The derivative reads the results; the cotangent of logsumexp is one only where
// there is one.
// PLAN:          compute attention_grad %{{.*}}, %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} causal scale 0.5 batch 2 queries
// PLAN:          compute attention_grad %{{.*}}, %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} logsumexp %{{.*}} scale 0.5 batch 2 queries
func.func @grad(
    %q: tensor<4x8x4x16xf32> {weft.name = "q", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}, {}]>},
    %o: tensor<4x8x4x16xf32> {weft.name = "o"}, %l: tensor<4x8x4xf32> {weft.name = "l"},
    %g: tensor<4x8x4x16xf32> {weft.name = "g"}, %e: tensor<4x8x4xf32> {weft.name = "e"})
    -> (tensor<4x8x4x16xf32> {weft.name = "a"}, tensor<4x8x4x16xf32> {weft.name = "b"}) {
  %a:3 = weft.attention_grad %q, %q, %q, %o, %l, %g causal scale = 0.5
      : (tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4xf32>, tensor<4x8x4x16xf32>)
     -> (tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>)
  %b:3 = weft.attention_grad %q, %q, %q, %o, %l, %g logsumexp %e scale = 0.5
      : (tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4xf32>)
     -> (tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>)
  return %a#0, %b#0 : tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>
}
