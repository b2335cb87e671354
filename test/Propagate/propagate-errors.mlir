// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --split-input-file --verify-diagnostics

weft.mesh @mesh = <["a"=2]>
// expected-note @below {{the other is here}}
func.func @init() -> (tensor<8xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %c = arith.constant dense<1.0> : tensor<8xf32>
  return %c : tensor<8xf32>
}
func.func @step(
    // expected-error @below {{state "w" has sharding [{}] as argument 0 "w" of @step but [{"a"}] as result 0 "w" of @init; write it once, or the same everywhere}}
    %w: tensor<8xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> tensor<8xf32> {
  return %w : tensor<8xf32>
}

// -----

func.func @init() -> (tensor<8xf32> {weft.name = "w"}) {
  %c = arith.constant dense<1.0> : tensor<8xf32>
  return %c : tensor<8xf32>
}
// expected-error @below {{state "w" has type 'tensor<4xf32>' as argument 0 "w" of @step but another shape as result 0 "w" of @init}}
func.func @step(%w: tensor<4xf32> {weft.name = "w"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>
weft.mesh @other = <["a"=2]>
// expected-error @below {{sharding of argument 0 "arg0" of @two_meshes names mesh @other but the mesh of the program is @mesh; a program has one mesh}}
func.func @two_meshes(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@other, [{"a"}]>})
    -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func private @callee(tensor<8xf32>) -> tensor<8xf32>
func.func @no_rule(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'func.call' op has no sharding rule; lower it to ops of arith, math and weft, or implement ShardingRuleOpInterface}}
  %y = func.call @callee(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @below {{argument 0 "arg0" of @dynamic must be a tensor of static shape, got 'tensor<?xf32>'}}
func.func @dynamic(%x: tensor<?xf32>) {
  return
}

// -----

// expected-error @below {{argument 0 "arg0" of @scalar must be a tensor of static shape, got 'f32'}}
func.func @scalar(%x: f32) {
  return
}

// -----

// expected-error @+1 {{function @control_flow must have one block, got 2}}
func.func @control_flow(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}
