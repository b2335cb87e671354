// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The first sum is hidden behind the product that is computed in between; little
// is left to compute beside the second one. Without overlap nothing is hidden.

// RUN: shard-compile %s --cluster=%S/../Partition/Inputs/uniform.toml --target=none --explain=schedule -o %t.plan | FileCheck %s
// RUN: shard-compile %s --cluster=%S/../Partition/Inputs/uniform.toml --target=none --explain=schedule --overlap-collectives=false -o %t.plan | FileCheck %s --check-prefix=ALONE
// RUN: shard-compile %s --cluster=cpu-2core --target=none --explain=schedule -o %t.plan | FileCheck %s --check-prefix=TURNS
// RUN: not shard-compile %s --explain=memory -o %t.plan 2>&1 | FileCheck %s --check-prefix=ERROR

// RUN: not shard-compile %s --explain=schedule --emit=spmd 2>&1 | FileCheck %s --check-prefix=FORM

// ERROR: --explain: expected collectives or schedule, got "memory"
// FORM: shard-compile: error: --explain is of plans, but --emit is spmd; compile to a plan: -o <file>

// CHECK: schedule, estimated for uniform:
// CHECK-NEXT: step: {{[0-9.]+ us}} (in any order at least {{[0-9.]+ us}}), computing {{[0-9.]+ us}}; 2 collectives, {{[0-9.]+ us}}, exposed {{[0-9.]+ us}}
// CHECK-NEXT: all_reduce of 1.00 MiB from {{.*}} us to {{.*}} us: partial sums over {"data"} of weft.dot_general
// CHECK-NEXT: hidden: {{[0-9.]+}} us behind gemm (explain-schedule.mlir:
// CHECK: all_reduce of 1.00 MiB from
// CHECK-NEXT: hidden: {{[0-9.]+}} us behind launch @kernel_0
// CHECK-NEXT: exposed: {{[0-9.]+}} us, launch @kernel_0 ({{.*}}) needs it, and there is no more to compute before

// ALONE: 2 collectives, [[ALL:[0-9.]+ us]], exposed [[ALL]]
// ALONE: launch @kernel_0 ({{.*}}) needs it, and there is nothing else to compute
// ALONE-NOT: hidden

// TURNS: 2 collectives, [[ALL:.*]], exposed [[ALL]]
// TURNS-COUNT-2: exposed: {{.*}}, it takes the cores that compute
weft.mesh @mesh = <["data"=2]>
func.func @step(%x: tensor<512x262144xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"data"}]>},
                %y: tensor<262144x512xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<512x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
        tensor<512x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %a = weft.dot_general %x, %y contracting = [1] x [0] : (tensor<512x262144xf32>, tensor<262144x512xf32>) -> tensor<512x512xf32>
  %b = arith.mulf %a, %a : tensor<512x512xf32>
  %z = weft.transpose %y dims = [1, 0] : tensor<262144x512xf32> -> tensor<512x262144xf32>
  %c = weft.dot_general %z, %y contracting = [1] x [0] : (tensor<512x262144xf32>, tensor<262144x512xf32>) -> tensor<512x512xf32>
  %d = arith.mulf %c, %c : tensor<512x512xf32>
  return %b, %d : tensor<512x512xf32>, tensor<512x512xf32>
}
