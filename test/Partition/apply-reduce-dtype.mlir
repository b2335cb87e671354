// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-apply-reduce-dtype --split-input-file | FileCheck %s

weft.mesh @mesh = <["data"=4]>

// The product, the sum with another and the reshard are in f32; the sum over
// devices is rounded once.
// CHECK-LABEL: func.func @gradient
// CHECK-SAME:      %[[X:[a-z0-9]*]]: tensor<8x4xbf16> {{.*}}, %[[G:[a-z0-9]*]]: tensor<8x2xbf16>
// CHECK:         %[[A:.*]] = weft.dot_general %[[X]], %[[G]] {{.*}} : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
// CHECK-NEXT:    %[[B:.*]] = weft.dot_general %[[X]], %[[X]] {{.*}} -> tensor<4x4xf32>
// CHECK-NEXT:    %[[S:.*]] = weft.slice %[[B]] {{.*}} : tensor<4x4xf32> -> tensor<4x2xf32>
// CHECK-NEXT:    %[[D:.*]] = arith.addf %[[A]], %[[S]] {{.*}} : tensor<4x2xf32>
// CHECK-NEXT:    %[[SUM:.*]] = weft.reshard %[[D]] <@mesh, [{"data"}, {}]> {{.*}} : tensor<4x2xf32>
// CHECK-NEXT:    %[[R:.*]] = arith.truncf %[[SUM]] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<4x2xf32> to tensor<4x2xbf16>
// CHECK-NEXT:    return %[[R]]
func.func @gradient(
    %x: tensor<8x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<8x2xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4x2xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %a = weft.dot_general %x, %g contracting = [0] x [0] {weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]}
      : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %b = weft.dot_general %x, %x contracting = [0] x [0] {weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]}
      : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<4x4xbf16>
  %s = weft.slice %b starts = [0, 0] limits = [4, 2] strides = [1, 1] {weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]}
      : tensor<4x4xbf16> -> tensor<4x2xbf16>
  %d = arith.addf %a, %s {weft.origin = #weft.origin<backward = true, gradient_of = "w">, weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]} : tensor<4x2xbf16>
  %r = weft.reshard %d <@mesh, [{"data"}, {}]> {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<4x2xbf16>
  return %r : tensor<4x2xbf16>
}

// -----

weft.mesh @mesh = <["data"=4]>

// What ops other than products take is converted before them, and what they put
// in as well; a conversion of terms is none any more.
// CHECK-LABEL: func.func @borders
// CHECK-SAME:      %[[G:[a-z0-9]*]]: tensor<8x2xbf16>
// CHECK:         %[[WIDE:.*]] = arith.extf %[[G]] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<8x2xbf16> to tensor<8x2xf32>
// CHECK-NEXT:    %[[A:.*]] = weft.reduce sum %[[WIDE]] {{.*}} : tensor<8x2xf32> -> tensor<2xf32>
// CHECK-NEXT:    %[[P:.*]] = weft.pad %[[A]] {{.*}} value = 0.000000e+00 : f32 {{.*}} : tensor<2xf32> -> tensor<4xf32>
// CHECK-NEXT:    %[[SUM:.*]] = weft.reshard %[[P]] <@mesh, [{}]> {{.*}} : tensor<4xf32>
// CHECK-NEXT:    return %[[SUM]]
func.func @borders(%g: tensor<8x2xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  %a = weft.reduce sum %g dims = [0] {weft.origin = #weft.origin<backward = true, gradient_of = "b">, weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]}
      : tensor<8x2xbf16> -> tensor<2xbf16>
  %p = weft.pad %a low = [0] high = [2] interior = [0] value = 0.0 : bf16 {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]}
      : tensor<2xbf16> -> tensor<4xbf16>
  %w = arith.extf %p {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]} : tensor<4xbf16> to tensor<4xf32>
  %r = weft.reshard %w <@mesh, [{}]> {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

// Who widens the sum takes it as it is.
// CHECK-LABEL: func.func @widened
// CHECK:         %[[SUM:.*]] = weft.reshard {{.*}} : tensor<4x4xf32>
// CHECK-NEXT:    %[[R:.*]] = arith.truncf %[[SUM]] {{.*}} : tensor<4x4xf32> to tensor<4x4xbf16>
// CHECK-NEXT:    return %[[SUM]], %[[R]]
func.func @widened(%x: tensor<8x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
        tensor<4x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %a = weft.dot_general %x, %x contracting = [0] x [0] {weft.origin = #weft.origin<backward = true, gradient_of = "w">, weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]}
      : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<4x4xbf16>
  %b = weft.reshard %a <@mesh, [{}, {}]> {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4x4xbf16>
  %c = arith.extf %b {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4x4xbf16> to tensor<4x4xf32>
  return %c, %b : tensor<4x4xf32>, tensor<4x4xbf16>
}

// -----

weft.mesh @mesh = <["data"=4]>

// Nothing happens to activations, to maxima, to terms that are returned, and to
// gradients that no device has a part of.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     f32
// CHECK:         return
func.func @others(
    %x: tensor<8x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<8x2xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<4xbf16> {weft.sharding = #weft.sharding<@mesh, [{}]>},
        tensor<4xbf16> {weft.sharding = #weft.sharding<@mesh, [{}]>},
        tensor<4xbf16> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"data"}>},
        tensor<2xbf16> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  %a = weft.reduce sum %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]} : tensor<8x4xbf16> -> tensor<4xbf16>
  %b = weft.reshard %a <@mesh, [{}]> {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xbf16>
  %c = weft.reduce max %x dims = [0] {weft.origin = #weft.origin<backward = true, gradient_of = "m">, weft.shardings = [#weft.sharding<@mesh, [{}], unreduced=max{"data"}>]}
      : tensor<8x4xbf16> -> tensor<4xbf16>
  %d = weft.reshard %c <@mesh, [{}]> {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xbf16>
  %e = weft.reduce sum %x dims = [0] {weft.origin = #weft.origin<backward = true, gradient_of = "n">, weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]}
      : tensor<8x4xbf16> -> tensor<4xbf16>
  %f = weft.reduce sum %g dims = [0] {weft.origin = #weft.origin<backward = true, gradient_of = "o">, weft.shardings = [#weft.sharding<@mesh, [{}]>]}
      : tensor<8x2xbf16> -> tensor<2xbf16>
  return %b, %d, %e, %f : tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<2xbf16>
}

// -----

weft.mesh @mesh = <["model"=4]>

// Without replicas, the sum over micro-batches gets the product as it is.
// CHECK-LABEL: func.func @one_replica
// CHECK:         %[[A:.*]] = weft.dot_general {{.*}} -> tensor<4x2xf32>
// CHECK-NEXT:    weft.microbatch_sum %[[A]] of <"step", 4> {{.*}} : tensor<4x2xf32>
// What something else reads is rounded as before.
// CHECK:         %[[B:.*]] = weft.dot_general {{.*}} -> tensor<4x2xbf16>
// CHECK-NEXT:    arith.extf %[[B]]
func.func @one_replica(
    %x: tensor<8x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %g: tensor<8x2xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x2xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
        tensor<4x2xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
        tensor<4x2xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %a = weft.dot_general %x, %g contracting = [0] x [0] {weft.origin = #weft.origin<backward = true, gradient_of = "w">, weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]}
      : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %wide = arith.extf %a {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4x2xbf16> to tensor<4x2xf32>
  %sum = weft.microbatch_sum %wide of <"step", 4> {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4x2xf32>
  %b = weft.dot_general %x, %g contracting = [0] x [0] {weft.origin = #weft.origin<backward = true, gradient_of = "v">, weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]}
      : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %other = arith.extf %b {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4x2xbf16> to tensor<4x2xf32>
  %others = weft.microbatch_sum %other of <"step", 4> {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4x2xf32>
  return %sum, %others, %b : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xbf16>
}

// -----

weft.mesh @mesh = <["data"=4]>

// The gradients of two uses of a parameter are added up before their sum over
// devices, which is one.
// CHECK-LABEL: func.func @two_uses
// CHECK:         %[[A:.*]] = weft.dot_general {{.*}} -> tensor<4x2xf32>
// CHECK-NEXT:    %[[B:.*]] = weft.reduce sum {{.*}} -> tensor<4x2xf32>
// CHECK-NEXT:    %[[D:.*]] = arith.addf %[[A]], %[[B]] {{.*}}unreduced={"data"}>]} : tensor<4x2xf32>
// CHECK-NEXT:    %[[SUM:.*]] = weft.reshard %[[D]] <@mesh, [{}, {}]> {cause = "b"{{.*}} : tensor<4x2xf32>
// CHECK-NEXT:    return %[[SUM]]
func.func @two_uses(
    %x: tensor<8x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<8x2xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %u: tensor<8x4x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>})
    -> (tensor<4x2xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %a = weft.dot_general %x, %g contracting = [0] x [0] {weft.origin = #weft.origin<backward = true, gradient_of = "w">, weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]}
      : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %r = weft.reshard %a <@mesh, [{}, {}]> {cause = "a", weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4x2xbf16>
  %wide = arith.extf %r {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4x2xbf16> to tensor<4x2xf32>
  %b = weft.reduce sum %u dims = [0] {weft.origin = #weft.origin<backward = true, gradient_of = "w">, weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]}
      : tensor<8x4x2xf32> -> tensor<4x2xf32>
  %s = weft.reshard %b <@mesh, [{}, {}]> {cause = "b", weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4x2xf32>
  %d = arith.addf %wide, %s {weft.origin = #weft.origin<backward = true, gradient_of = "w">, weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4x2xf32>
  return %d : tensor<4x2xf32>
}
