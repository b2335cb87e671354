// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Each gradient is used as soon as it is summed. Where sums take longer than
// products, gradients wait for their turn all the same, so that buckets of them
// take no more memory; where a sum is over before the next gradient is made,
// each is sent by itself.

// RUN: sed 's/500e12/10e9/; s/100e9/0.2e9/; s/2.5e-6/200e-6/' %S/Inputs/uniform.toml > %t.slow.toml
// RUN: shard-opt %s --weft-combine-collectives="cluster=%t.slow.toml" | FileCheck %s --check-prefix=SLOW
// RUN: sed 's/500e12/10e9/; s/100e9/2e9/; s/2.5e-6/20e-6/' %S/Inputs/uniform.toml > %t.fast.toml
// RUN: shard-opt %s --weft-combine-collectives="cluster=%t.fast.toml" | FileCheck %s --check-prefix=FAST

weft.mesh @mesh = <["data"=2]>

// SLOW-COUNT-2: weft.all_reduce {{.*}} : tensor<512x512xf32>
// SLOW: weft.all_reduce {{.*}} : tensor<524288xf32>
// SLOW-NOT: weft.all_reduce

// FAST-COUNT-4: weft.all_reduce {{.*}} : tensor<512x512xf32>
// FAST-NOT: weft.all_reduce
func.func @step(%x: tensor<512x64xf32>, %dy: tensor<64x512xf32>, %w: tensor<512x512xf32>)
    -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %a = weft.dot_general %x, %dy contracting = [1] x [0] : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  %p = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<512x512xf32>
  %t = arith.subf %w, %p : tensor<512x512xf32>
  %b = weft.dot_general %x, %dy contracting = [1] x [0] : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  %q = weft.all_reduce sum %b over <@mesh, {"data"}> : tensor<512x512xf32>
  %u = arith.subf %w, %q : tensor<512x512xf32>
  %c = weft.dot_general %x, %dy contracting = [1] x [0] : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  %r = weft.all_reduce sum %c over <@mesh, {"data"}> : tensor<512x512xf32>
  %v = arith.subf %w, %r : tensor<512x512xf32>
  %d = weft.dot_general %x, %dy contracting = [1] x [0] : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  %s = weft.all_reduce sum %d over <@mesh, {"data"}> : tensor<512x512xf32>
  %z = arith.subf %w, %s : tensor<512x512xf32>
  return %t, %u, %v, %z : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}
