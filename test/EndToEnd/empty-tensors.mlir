// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --target=cpu -o %t.plan | FileCheck %s
// RUN: shard-run %t.plan --dump step | FileCheck %s --check-prefix=PLAN

// Arguments, results and states without elements take no memory, and nothing is
// sent to have them in another sharding.

// CHECK-NOT: all_to_all
// CHECK: 0 B states f32[0x8] s
// PLAN: output "s" f32[0x8] local [0x8] sharding [{"x"}, {}] %[[S:.*]] state
// PLAN-NEXT: output "t" f32[0x8] local [0x4] sharding [{}, {"x"}]
// PLAN-NEXT: output "f" f32[2x0] local [2x0]
// PLAN: %[[S]] state f32[0x8] offset 0 bytes 0
// PLAN-NOT: collective

weft.mesh @mesh = <["x"=2]>

func.func @step(
    %s: tensor<0x8xf32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>},
    %e: tensor<2x0xf32> {weft.name = "e", weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>},
    %x: tensor<4x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x8xf32> {weft.name = "y"},
        tensor<0x8xf32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>},
        tensor<0x8xf32> {weft.name = "t", weft.sharding = #weft.sharding<@mesh, [{}, {"x"}]>},
        tensor<2x0xf32> {weft.name = "f", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %y = math.exp %x : tensor<4x8xf32>
  return %y, %s, %s, %e : tensor<4x8xf32>, tensor<0x8xf32>, tensor<0x8xf32>, tensor<2x0xf32>
}
