// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Three gradients of 1 MiB, one after each of three products, and the updates
// behind all of them. Where a product takes much longer than a sum, the first
// two are one call that the third product hides, and the last is not held up
// by them; where a sum takes longer than a product, the first one begins as soon as it can.
// Where ranks have no core to spare for them, no product hides a sum: one call is the fastest.

// RUN: shard-opt %s --weft-combine-collectives="cluster=%S/Inputs/uniform.toml" | FileCheck %s --check-prefix=HIDDEN
// RUN: sed 's/100e9/2e9/; s/2.5e-6/150e-6/' %S/Inputs/uniform.toml > %t.toml
// RUN: shard-opt %s --weft-combine-collectives="cluster=%t.toml" | FileCheck %s --check-prefix=SLOW
// RUN: sed 's/^devices = 1024/devices = 2/' %S/Inputs/uniform.toml > %t.cores.toml
// RUN: shard-opt %s --weft-combine-collectives="cluster=%t.cores.toml" | FileCheck %s --check-prefix=TURNS

weft.mesh @mesh = <["data"=2]>

// HIDDEN: weft.dot_general
// HIDDEN-NOT: weft.all_reduce
// HIDDEN: weft.dot_general
// HIDDEN: weft.all_reduce {{.*}} : tensor<524288xf32>
// HIDDEN: weft.dot_general
// HIDDEN: weft.all_reduce {{.*}} : tensor<512x512xf32>
// HIDDEN-NOT: weft.all_reduce

// SLOW: weft.dot_general
// SLOW: weft.all_reduce {{.*}} : tensor<512x512xf32>
// SLOW: weft.dot_general
// SLOW: weft.dot_general
// SLOW: weft.all_reduce {{.*}} : tensor<524288xf32>
// SLOW-NOT: weft.all_reduce

// TURNS-COUNT-3: weft.dot_general
// TURNS: weft.all_reduce {{.*}} : tensor<786432xf32>
// TURNS-NOT: weft.all_reduce
func.func @backward(%x: tensor<512x262144xf32>, %dy: tensor<262144x512xf32>, %w: tensor<512x512xf32>)
    -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %a = weft.dot_general %x, %dy contracting = [1] x [0] : (tensor<512x262144xf32>, tensor<262144x512xf32>) -> tensor<512x512xf32>
  %p = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<512x512xf32>
  %b = weft.dot_general %x, %dy contracting = [1] x [0] : (tensor<512x262144xf32>, tensor<262144x512xf32>) -> tensor<512x512xf32>
  %q = weft.all_reduce sum %b over <@mesh, {"data"}> : tensor<512x512xf32>
  %c = weft.dot_general %x, %dy contracting = [1] x [0] : (tensor<512x262144xf32>, tensor<262144x512xf32>) -> tensor<512x512xf32>
  %r = weft.all_reduce sum %c over <@mesh, {"data"}> : tensor<512x512xf32>
  %u = arith.addf %w, %p : tensor<512x512xf32>
  %v = arith.addf %w, %q : tensor<512x512xf32>
  %z = arith.addf %w, %r : tensor<512x512xf32>
  return %u, %v, %z : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}
