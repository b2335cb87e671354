// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What runs while the rank waits for another collective is hidden, but behind
// nothing that is computed.

// RUN: shard-compile %s --target=none --explain=schedule -o %t.plan | FileCheck %s
// CHECK: all_reduce of 128 MiB {{.*}} partial sums over {"b"}
// CHECK-NEXT: hidden: {{[0-9.]+}} us while others are waited for
weft.mesh @mesh = <["a"=8, "b"=8]>
func.func @f(
    %x: tensor<8192x8192xbf16> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>},
    %w: tensor<8192x8192xbf16> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
    %y: tensor<8192x8192xbf16> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}, {"b"}]>},
    %v: tensor<8192x8192xbf16> {weft.name = "v", weft.sharding = #weft.sharding<@mesh, [{"b"}, {}]>})
    -> (tensor<8192x8192xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %p = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16>
  %q = weft.dot_general %y, %v contracting = [1] x [0] : (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16>
  %s = math.tanh %p : tensor<8192x8192xbf16>
  %t = math.tanh %q : tensor<8192x8192xbf16>
  %r = arith.addf %s, %t : tensor<8192x8192xbf16>
  return %r : tensor<8192x8192xbf16>
}
