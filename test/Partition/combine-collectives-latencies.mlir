// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A latency is worth 250000 bytes: of an all-reduce over two ranks, 62500
// numbers. What sends more than a quarter of the limit stays by itself.

// RUN: shard-opt %s --weft-combine-collectives="latencies=1 cluster=%S/Inputs/uniform.toml" | FileCheck %s --check-prefix=ONE
// RUN: shard-opt %s --weft-combine-collectives="latencies=2 cluster=%S/Inputs/uniform.toml" | FileCheck %s --check-prefix=TWO
// RUN: shard-opt %s --weft-combine-collectives=latencies=0 | FileCheck %s --check-prefix=NONE

weft.mesh @mesh = <["data"=2]>

// ONE: weft.all_reduce {{.*}} : tensor<50000xf32>
// ONE: weft.all_reduce {{.*}} : tensor<15000xf32>
// ONE: weft.all_reduce {{.*}} : tensor<20000xf32>
// TWO: weft.all_reduce {{.*}} : tensor<85000xf32>
// TWO-NOT: weft.all_reduce
// NONE-COUNT-6: weft.all_reduce
func.func @sizes(%a: tensor<15000xf32>, %b: tensor<20000xf32>, %c: tensor<10000xf32>) -> (tensor<15000xf32>, tensor<20000xf32>, tensor<15000xf32>, tensor<15000xf32>, tensor<10000xf32>, tensor<10000xf32>) {
  %p = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<15000xf32>
  %q = weft.all_reduce sum %b over <@mesh, {"data"}> : tensor<20000xf32>
  %r = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<15000xf32>
  %s = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<15000xf32>
  %t = weft.all_reduce sum %c over <@mesh, {"data"}> : tensor<10000xf32>
  %u = weft.all_reduce sum %c over <@mesh, {"data"}> : tensor<10000xf32>
  return %p, %q, %r, %s, %t, %u : tensor<15000xf32>, tensor<20000xf32>, tensor<15000xf32>, tensor<15000xf32>, tensor<10000xf32>, tensor<10000xf32>
}
