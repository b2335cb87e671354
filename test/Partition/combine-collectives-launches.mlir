// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Three gradients of 1 MiB, each behind a kernel and a product that take little
// but their launches. Where these are of 20 us, they hide most of the first two sums in
// one call of 47 us. A GPU launches all kernels as one graph: nothing hides a
// sum, and one call is the fastest.

// RUN: sed 's/launch_seconds = 5e-6/launch_seconds = 20e-6/' %S/Inputs/uniform.toml > %t.toml
// RUN: shard-opt %s --weft-combine-collectives="cluster=%t.toml" | FileCheck %s --check-prefix=SLOW
// RUN: sed 's/generation = "cpu"/generation = "hopper"/' %t.toml > %t.gpu.toml
// RUN: shard-opt %s --weft-combine-collectives="cluster=%t.gpu.toml" | FileCheck %s --check-prefix=GRAPH

weft.mesh @mesh = <["data"=2]>

// SLOW-COUNT-2: weft.dot_general
// SLOW: weft.all_reduce {{.*}} : tensor<524288xf32>
// SLOW: weft.dot_general
// SLOW: weft.all_reduce {{.*}} : tensor<512x512xf32>
// SLOW-NOT: weft.all_reduce

// GRAPH-COUNT-3: weft.dot_general
// GRAPH: weft.all_reduce {{.*}} : tensor<786432xf32>
// GRAPH-NOT: weft.all_reduce
func.func @backward(%x: tensor<512x512xf32>, %dy: tensor<512x512xf32>, %w: tensor<512x512xf32>)
    -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %a = weft.dot_general %x, %dy contracting = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<512x512xf32>
  %d = math.tanh %dy : tensor<512x512xf32>
  %b = weft.dot_general %x, %d contracting = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %q = weft.all_reduce sum %b over <@mesh, {"data"}> : tensor<512x512xf32>
  %e = math.sin %d : tensor<512x512xf32>
  %c = weft.dot_general %x, %e contracting = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = weft.all_reduce sum %c over <@mesh, {"data"}> : tensor<512x512xf32>
  %u = arith.addf %w, %p : tensor<512x512xf32>
  %v = arith.addf %w, %q : tensor<512x512xf32>
  %z = arith.addf %w, %r : tensor<512x512xf32>
  return %u, %v, %z : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}
