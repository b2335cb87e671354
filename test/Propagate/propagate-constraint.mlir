// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --split-input-file | FileCheck %s

// A constraint is a source like an annotation. Its closed dimensions stay.

weft.mesh @mesh = <["a"=2, "b"=2]>
// CHECK-LABEL: func.func @closed_stays
func.func @closed_stays(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>})
    -> tensor<8x8xf32> {
  // CHECK: weft.constraint %{{.*}} <@mesh, [{}, {"b"}]>
  // CHECK-SAME: weft.shardings = [#weft.sharding<@mesh, [{}, {"b"}]>]
  %c = weft.constraint %x <@mesh, [{}, {"b"}]> : tensor<8x8xf32>
  // CHECK: math.exp {{.*}}[{}, {"b"}]
  %y = math.exp %c : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Its open dimensions take what arrives, and the op says so afterwards.

weft.mesh @mesh = <["a"=2, "b"=2]>
// CHECK-LABEL: func.func @open_grows
func.func @open_grows(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>})
    -> tensor<8x8xf32> {
  // CHECK: weft.constraint %{{.*}} <@mesh, [{"a"}, {"b"}]>
  %c = weft.constraint %x <@mesh, [{?}, {"b"}]> : tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

// -----

// Replicated axes are reserved: the other operand's "a" does not come in.

weft.mesh @mesh = <["a"=2, "b"=2]>
// CHECK-LABEL: func.func @replicated
func.func @replicated(
    %x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>},
    %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: weft.constraint %{{.*}} <@mesh, [{}, {"b"}]>
  %c = weft.constraint %y <@mesh, [{?}, {?}], replicated={"a"}> : tensor<8x8xf32>
  %z = arith.addf %x, %c : tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// -----

// Unreduced axes of an annotation stay, and are not used otherwise.

weft.mesh @mesh = <["a"=2, "b"=2]>
// CHECK-LABEL: func.func @unreduced
// CHECK-SAME: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"b"}], unreduced={"a"}>}
func.func @unreduced(
    %g: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {?}], unreduced={"a"}>},
    %x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>})
    -> tensor<8x8xf32> {
  %z = arith.addf %x, %g : tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// -----

// A sharding that an op result has already counts as an annotation.

weft.mesh @mesh = <["a"=2]>
// CHECK-LABEL: func.func @annotated_result
// CHECK-SAME: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}
func.func @annotated_result(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = arith.negf %x {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} : tensor<8xf32>
  return %y : tensor<8xf32>
}
