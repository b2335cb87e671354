// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-verify-form=form=sharded --split-input-file | FileCheck %s

// "w" is a state: a result of @init and of @train_step, an argument of
// @train_step and @eval. One annotation serves all of them.

weft.mesh @mesh = <["data"=2, "model"=2]>
// CHECK-LABEL: func.func @init
// CHECK-SAME: weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>
func.func @init() -> (tensor<16x32xf32> {weft.name = "w"}) {
  // CHECK: arith.constant {{.*}}[{}, {"model"}]
  %c = arith.constant dense<1.0> : tensor<16x32xf32>
  return %c : tensor<16x32xf32>
}

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>
// CHECK-SAME: -> (tensor<16x32xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>})
func.func @train_step(
    %w: tensor<16x32xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %g: tensor<16x32xf32> {weft.name = "g", weft.sharding = #weft.sharding<@mesh, [{"data"}, {?}]>})
    -> (tensor<16x32xf32> {weft.name = "w"}) {
  // The state is closed in its rows, but the update before it is not.
  // CHECK: arith.subf
  %u = arith.subf %w, %g : tensor<16x32xf32>
  return %u : tensor<16x32xf32>
}

// CHECK-LABEL: func.func @eval
// CHECK-SAME: weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>
func.func @eval(%w: tensor<16x32xf32> {weft.name = "w"}) -> (tensor<16x32xf32> {weft.name = "y"}) {
  // CHECK: math.exp {{.*}}[{}, {"model"}]
  %y = math.exp %w : tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}

// -----

// An optimizer state that nobody annotated follows the gradient in every entry.

weft.mesh @mesh = <["model"=2]>
// CHECK-LABEL: func.func @init
// CHECK-SAME: weft.name = "m", weft.sharding = #weft.sharding<@mesh, [{"model"}]>
func.func @init() -> (tensor<8xf32> {weft.name = "m"}) {
  %c = arith.constant dense<0.0> : tensor<8xf32>
  return %c : tensor<8xf32>
}

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: weft.name = "m", weft.sharding = #weft.sharding<@mesh, [{"model"}]>
// CHECK-SAME: -> (tensor<8xf32> {weft.name = "m", weft.sharding = #weft.sharding<@mesh, [{"model"}]>})
func.func @train_step(
    %m: tensor<8xf32> {weft.name = "m"},
    %g: tensor<8xf32> {weft.name = "g", weft.sharding = #weft.sharding<@mesh, [{"model"}]>})
    -> (tensor<8xf32> {weft.name = "m"}) {
  %n = arith.addf %m, %g : tensor<8xf32>
  return %n : tensor<8xf32>
}

// -----

// An input of two entries that no entry returns is two values.

weft.mesh @mesh = <["data"=2]>
// CHECK-LABEL: func.func @train
// CHECK-SAME: weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}]>
func.func @train(%x: tensor<8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}]>})
    -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// CHECK-LABEL: func.func @eval
// CHECK-SAME: weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}]>
func.func @eval(%x: tensor<8xf32> {weft.name = "x"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
