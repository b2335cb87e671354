// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-verify-form=form=sharded --verify-diagnostics -o /dev/null

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(
    // expected-error @below {{after propagate: argument 0 of @step has no weft.sharding}}
    %x: tensor<4xf32>) {
  // expected-error @below {{after propagate: results of arith.negf have no weft.shardings}}
  %y = arith.negf %x : tensor<4xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
// expected-error @below {{after propagate: result 0 of @step has no weft.sharding}}
func.func @step(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(
    // expected-note @below {{#weft.sharding<@mesh, [{"x"}]> as argument 0 of @step}}
    %w: tensor<4xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"x"}]>})
    // Open or closed makes no difference to where the data is.
    -> (tensor<4xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"x", ?}]>}) {
  return %w : tensor<4xf32>
}
// expected-error @below {{after propagate: state "w" must have one sharding, got #weft.sharding<@mesh, [{}]> as result 0 of @init}}
func.func @init() -> (tensor<4xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  %c = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{}]>]} dense<0.0> : tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

module attributes {weft.differentiated = ["cast of w"]} {
  weft.mesh @mesh = <["x"=2]>
  func.func @step(%w: tensor<4xf32> {weft.name = "w", weft.parameter, weft.sharding = #weft.sharding<@mesh, [{}]>},
                  %x: tensor<4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<4xf32> {weft.name = "r", weft.sharding = #weft.sharding<@mesh, [{}]>}) {
    %a = arith.addf %w, %w {weft.origin = #weft.origin<backward = true, gradient_of = "w">, weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
    %b = arith.addf %a, %a {weft.origin = #weft.origin<backward = true, gradient_of = "cast of w">, weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
    // expected-error @below {{after propagate: arith.addf makes the gradient of "x", which is no argument with weft.parameter and not in weft.differentiated of the module}}
    %c = arith.addf %b, %b {weft.origin = #weft.origin<backward = true, gradient_of = "x">, weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
    return %c : tensor<4xf32>
  }
}
