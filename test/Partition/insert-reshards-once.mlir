// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-insert-reshards | FileCheck %s
// RUN: shard-opt %s --weft-propagate --weft-optimize-shardings --weft-insert-reshards | FileCheck %s

// What a constraint moves before a loop over micro-batches, or before what is
// recomputed, is moved once: the cast of a parameter, in the narrow type.

weft.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @microbatches(
// CHECK: %[[CAST:.*]] = arith.truncf %arg0
// CHECK: %[[WHOLE:.*]] = weft.reshard %[[CAST]] <@mesh, [{}, {}]>
// CHECK: weft.microbatch_use %[[WHOLE]]
// CHECK-NOT: weft.reshard %{{.*}} <@mesh, [{}, {}]> {{.*}}tensor<64x8xbf16>
func.func @microbatches(
    %w: tensor<64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>},
    %x: tensor<4x512x64xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<4x512x8xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %c = weft.constraint %w <@mesh, [{}, {}]> : tensor<64x8xf32>
  %a = arith.truncf %c : tensor<64x8xf32> to tensor<64x8xbf16>
  %u = weft.microbatch_use %a of <"step", 4> : tensor<64x8xbf16>
  %xi = weft.microbatch_slice %x dim = 0 of <"step", 4> : tensor<4x512x64xbf16> -> tensor<512x64xbf16>
  %y = weft.dot_general %xi, %u contracting = [1] x [0] : (tensor<512x64xbf16>, tensor<64x8xbf16>) -> tensor<512x8xbf16>
  %s = weft.microbatch_stack %y dim = 0 of <"step", 4> : tensor<512x8xbf16> -> tensor<4x512x8xbf16>
  return %s : tensor<4x512x8xbf16>
}

// CHECK-LABEL: func.func @barrier(
// CHECK: %[[WHOLE:.*]] = weft.reshard %arg0 <@mesh, [{}]>
// CHECK: %[[KEPT:.*]] = weft.barrier %[[WHOLE]] after
// CHECK: weft.broadcast %[[KEPT]]
// CHECK-NOT: weft.reshard %{{.*}} <@mesh, [{}]>
func.func @barrier(
    %b: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>},
    %x: tensor<512x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<512x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}) {
  %c = weft.constraint %b <@mesh, [{}]> : tensor<8xf32>
  %f = weft.broadcast %c dims = [1] : tensor<8xf32> -> tensor<512x8xf32>
  %y = arith.addf %x, %f : tensor<512x8xf32>
  %k = weft.barrier %c after %y : tensor<8xf32> after tensor<512x8xf32>
  %g = weft.broadcast %k dims = [1] : tensor<8xf32> -> tensor<512x8xf32>
  %z = arith.mulf %y, %g : tensor<512x8xf32>
  return %z : tensor<512x8xf32>
}
