// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s | FileCheck %s
// RUN: shard-compile %s --emit=schedule -o - | FileCheck %s
// RUN: shard-compile %s --target=none -o %t.plan
// A list in order says nothing.
// RUN: cp %s %t.mlir
// RUN: shard-compile %t.mlir --target=none --devices=0,1,2,3 -o %t.ordered.plan
// RUN: sed -i 's/ {weft.devices.*}//' %t.mlir
// RUN: shard-compile %t.mlir --target=none -o %t.unlisted.plan
// RUN: cmp %t.ordered.plan %t.unlisted.plan
// RUN: not cmp %t.plan %t.unlisted.plan
// RUN: shard-run %t.plan --dump | FileCheck %s --check-prefix=PLAN

// CHECK: weft.mesh @mesh = <["x"=2, "y"=2]> {weft.devices = array<i64: 0, 2, 1, 3>}
// PLAN: mesh <["x"=2, "y"=2], devices=[0, 2, 1, 3]> ranks 4
weft.mesh @mesh = <["x"=2, "y"=2]> {weft.devices = array<i64: 0, 2, 1, 3>}

func.func @step(%x: tensor<8x4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<8x4xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}) {
  %y = arith.addf %x, %x : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
