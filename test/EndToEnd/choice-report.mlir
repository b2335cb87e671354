// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the choice of shardings saves against propagation alone is printed. The
// table is larger than what is looked up in it: indices are gathered and
// partial lookups reduce-scattered, where propagation gathers the table.
// RUN: shard-compile %s --target=none -o %t.plan | FileCheck %s
// RUN: shard-compile %s --target=none -o %t.plan --optimize-shardings=false | FileCheck %s --check-prefix=OFF --implicit-check-not="shardings of"

// CHECK-DAG: all_gather
// CHECK-DAG: reduce_scatter
// CHECK: choices, with times predicted on DGX H100
// CHECK-NEXT: {{^  }}shardings of look_up: chosen by cost for 1 op: {{.*}} KiB a step instead of {{.*}} MiB, {{[0-9.]+}} us instead of {{.*}} us, 80.0 KiB of tensors at once instead of 64.0 MiB

// OFF: all_gather {{.*}} "table" held as
module {
  weft.mesh @mesh = <["data"=4]>
  func.func @look_up(
      %table: tensor<65536x256xf32> {weft.name = "table", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
      %ids: tensor<64xi32> {weft.name = "ids", weft.sharding = #weft.sharding<@mesh, [{"data"}]>})
      -> (tensor<64x256xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
    %rows = weft.gather %table, %ids dim = 0 : (tensor<65536x256xf32>, tensor<64xi32>) -> tensor<64x256xf32>
    return %rows : tensor<64x256xf32>
  }
}
