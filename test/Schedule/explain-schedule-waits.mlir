// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Two collectives follow each other on the same links, and nothing is left to
// compute beside the second; in a loop several instructions hide one. The
// step has three iterations with what they hide in it.

// RUN: shard-compile %s --cluster=%S/../Partition/Inputs/uniform.toml --target=none --explain=schedule -o %t.plan | FileCheck %s

// CHECK: loop of step: 1 of 1 collective beside computation, 28.6 us instead of 41.8 us
// CHECK-NEXT: step: 1 of 2 collectives beside computation, 137.8 us instead of 144.4 us
// CHECK-NEXT: schedule, estimated for uniform:
// A copy comes later.
// CHECK-NEXT: step: 143.9 us {{.*}} 2 collectives
// CHECK-NEXT: all_gather of 2.00 MiB
// CHECK-NEXT: hidden: {{[0-9.]+}} us behind launch
// CHECK-NEXT: exposed: {{[0-9.]+}} us, nothing is left to compute
// CHECK-NEXT: all_reduce of 2.00 MiB
// CHECK-NEXT: exposed: {{[0-9.]+}} us, its links are busy for {{[0-9.]+}} us when it could begin; nothing is left to compute
// CHECK-NEXT: each of 3 iterations of a loop: {{.*}} 1 collective
// CHECK-NEXT: all_reduce of 1.00 MiB
// CHECK-NEXT: hidden: {{[0-9.]+}} us behind 2 instructions, the longest gemm
weft.mesh @mesh = <["data"=2]>
func.func @step(%x: tensor<512x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>, weft.global_type = tensor<512x512xf32>},
                %y: tensor<512x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>, weft.global_type = tensor<512x512xf32>})
    -> (tensor<1024x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>, weft.global_type = tensor<1024x512xf32>},
        tensor<1024x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>, weft.global_type = tensor<1024x512xf32>}) {
  %s = weft.repeat 3 carry (%a = %x) : (tensor<512x512xf32>) {
    %m = weft.dot_general %a, %y contracting = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %r = weft.all_reduce sum %m over <@mesh, {"data"}> : tensor<512x512xf32>
    %n = weft.dot_general %y, %a contracting = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %o = weft.dot_general %n, %y contracting = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %p = arith.addf %r, %o : tensor<512x512xf32>
    weft.yield %p : tensor<512x512xf32>
  }
  %two = weft.concat %s, %s dim = 0 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %t = weft.all_reduce sum %two over <@mesh, {"data"}> : tensor<1024x512xf32>
  %u = weft.all_gather %s dim = 0 over <@mesh, {"data"}> : tensor<512x512xf32> -> tensor<1024x512xf32>
  return %t, %u : tensor<1024x512xf32>, tensor<1024x512xf32>
}
