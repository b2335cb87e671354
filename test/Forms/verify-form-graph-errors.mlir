// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-verify-form=form=graph --verify-diagnostics -o /dev/null

weft.mesh @mesh = <["x"=4]>
// expected-error @below {{after import: a program has one mesh, but @other is declared beside @mesh}}
weft.mesh @other = <["x"=4]>

// -----

// expected-error @below {{after import: a module holds weft.mesh and func.func, got memref.global}}
memref.global @data : memref<4xf32>

// -----

// expected-error @below {{after import: function @step has no body}}
func.func private @step(tensor<4xf32>)

// -----

func.func @step(%x: tensor<4xf32> {weft.name = "x"},
                // expected-error @below {{after import: argument 1 of @step is named "x" as argument 0 is}}
                %y: tensor<4xf32> {weft.name = "x"}) {
  return
}

// -----

// expected-error @below {{after import: result 1 of @step is named "x" as result 0 is}}
func.func @step(%x: tensor<4xf32>) -> (tensor<4xf32> {weft.name = "x"}, tensor<4xf32> {weft.name = "x"}) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @init() -> (tensor<4xf32> {weft.name = "w"}) {
  %c = arith.constant dense<0.0> : tensor<4xf32>
  return %c : tensor<4xf32>
}
func.func @step(%w: tensor<4xf32> {weft.name = "w"}) -> (tensor<4xf32> {weft.name = "w"}) {
  return %w : tensor<4xf32>
}
// A name that no entry returns is an input, and each entry has its own.
func.func @predict(%w: tensor<4xf32> {weft.name = "w"}, %x: tensor<2xf32> {weft.name = "x"}) {
  return
}
// expected-error @below {{after import: state "w" must have one type, got 'tensor<8xf32>' as argument 0 of @evaluate and 'tensor<4xf32>' as argument 0 of @step}}
func.func @evaluate(%w: tensor<8xf32> {weft.name = "w"}, %x: tensor<3xf32> {weft.name = "x"}) {
  return
}

// -----

func.func @step(
    // expected-error @below {{after import: argument 0 of @step must be a ranked tensor with static, positive sizes, at most 2^59 elements, of f32, bf16, f16, f64, i64, i32, i16, i8 or i1, got 'tensor<?xf32>'}}
    %a: tensor<?xf32>,
    // expected-error @below {{after import: argument 1 of @step must be a ranked tensor}}
    %b: memref<4xf32>,
    // expected-error @below {{after import: argument 2 of @step must be a ranked tensor}}
    %c: tensor<4xf8E5M2>,
    // expected-error @below {{after import: argument 3 of @step must be a ranked tensor}}
    %d: f32,
    // expected-error @below {{after import: argument 4 of @step must be a ranked tensor}}
    %big: tensor<4294967296x4294967296xf32>) {
  // expected-error @below {{after import: result 0 of arith.negf must be a ranked tensor with static}}
  %e = arith.negf %d : f32
  return
}

// -----

// expected-error @below {{after import: result 0 of @step must be a ranked tensor with static}}
func.func @step(%x: tensor<4xf32>) -> index {
  // expected-error @below {{after import: result 0 of arith.constant must be a ranked tensor with static}}
  %c = arith.constant 1 : index
  return %c : index
}

// -----

weft.mesh @mesh = <["x"=4]>
func.func @f(%x: tensor<4xf32>) {
  return
}
func.func @step(%x: tensor<4xf32>) {
  // expected-error @below {{after import: a graph holds no calls; run --weft-inline-calls before}}
  call @f(%x) : (tensor<4xf32>) -> ()
  // expected-error @below {{after import: a graph holds no weft.stop_gradient; run --weft-autodiff before}}
  %g = weft.stop_gradient %x : tensor<4xf32>
  // expected-error @below {{after import: a graph holds no weft.silu; run --weft-decompose before}}
  %a = weft.silu %x : tensor<4xf32>
  // expected-error @below {{after import: a graph holds ops of arith, math and weft, got tensor.empty}}
  %s = tensor.empty() : tensor<4xf32>
  // expected-error @below {{after import: weft.all_reduce is no op of a graph: it states no sharding rule; implement ShardingRuleOpInterface for it or write it with other ops}}
  %r = weft.all_reduce sum %x over <@mesh, {"x"}> : tensor<4xf32>
  return
}

// -----

module attributes {weft.differentiated = ["cast of w"]} {
  weft.mesh @mesh = <["x"=2]>
  func.func @step(%w: tensor<4xf32> {weft.name = "w", weft.parameter, weft.sharding = #weft.sharding<@mesh, [{}]>},
                  %x: tensor<4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<4xf32> {weft.name = "r", weft.sharding = #weft.sharding<@mesh, [{}]>}) {
    %a = arith.addf %w, %w {weft.origin = #weft.origin<backward = true, gradient_of = "w">} : tensor<4xf32>
    %b = arith.addf %a, %a {weft.origin = #weft.origin<backward = true, gradient_of = "cast of w">} : tensor<4xf32>
    // expected-error @below {{after import: arith.addf makes the gradient of "x", which is no argument with weft.parameter and not in weft.differentiated of the module}}
    %c = arith.addf %b, %b {weft.origin = #weft.origin<backward = true, gradient_of = "x">} : tensor<4xf32>
    return %c : tensor<4xf32>
  }
}

// -----

// Nothing is computed with what has no elements.
func.func @step(%a: tensor<0x4xf32> {weft.name = "a"}) -> (tensor<0x4xf32> {weft.name = "b"}) {
  // expected-error @below {{after import: result 0 of math.exp must be a ranked tensor with static, positive sizes}}
  %b = math.exp %a : tensor<0x4xf32>
  return %b : tensor<0x4xf32>
}
