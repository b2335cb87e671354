// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --target=none --explain=collectives -o %t.plan | FileCheck %s

// CHECK: {{^}}entry step has no collectives
// CHECK-NOT: why entry
weft.mesh @mesh = <["data"=2]>
func.func @step(%x: tensor<64x128xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<64x128xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %y = arith.addf %x, %x : tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}
