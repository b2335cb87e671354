// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A sum that is complete before the last iteration ends is reduced beside the
// rest of it.

// RUN: shard-compile %s --target=none --explain=schedule -o %t.plan | FileCheck %s
// CHECK: schedule, estimated for
// CHECK-NEXT: step: {{.*}} 2 collectives
// CHECK-NEXT: all_reduce of 64.0 MiB
// CHECK-NEXT: exposed
// CHECK-NEXT: all_reduce of 64.0 MiB
// CHECK-NEXT: hidden: {{[0-9.]+}} us behind repeat
weft.mesh @mesh = <["data"=2]>
func.func @step(%x: tensor<4096x4096xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>, weft.global_type = tensor<4096x4096xf32>},
                %y: tensor<4096x4096xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>, weft.global_type = tensor<4096x4096xf32>})
    -> (tensor<4096x4096xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>, weft.global_type = tensor<4096x4096xf32>},
        tensor<4096x4096xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>, weft.global_type = tensor<4096x4096xf32>}) {
  %zero = arith.constant dense<0.0> : tensor<4096x4096xf32>
  %s:2 = weft.repeat 3 carry (%a = %zero, %b = %zero) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
    %m = weft.dot_general %x, %y contracting = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %early = arith.addf %b, %m : tensor<4096x4096xf32>
    %n = weft.dot_general %m, %y contracting = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %late = arith.addf %a, %n : tensor<4096x4096xf32>
    weft.yield %late, %early : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  }
  %p = weft.all_reduce sum %s#0 over <@mesh, {"data"}> : tensor<4096x4096xf32>
  %q = weft.all_reduce sum %s#1 over <@mesh, {"data"}> : tensor<4096x4096xf32>
  return %p, %q : tensor<4096x4096xf32>, tensor<4096x4096xf32>
}
