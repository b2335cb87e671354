// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate=conservative=true | FileCheck %s --check-prefixes=CHECK,FULL
// RUN: shard-opt %s --weft-propagate | FileCheck %s --check-prefixes=CHECK,SUB

weft.mesh @mesh = <["a"=2, "c"=4]>
// CHECK-LABEL: func.func @cut
func.func @cut(%x: tensor<32xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "c"}]>})
    -> tensor<4x8xf32> {
  // FULL: weft.reshape {{.*}}[{"a"}, {}]
  // SUB: weft.reshape {{.*}}[{"a", "c":(1)2}, {"c":(2)2}]
  %r = weft.reshape %x : tensor<32xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
