// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<f32>) {
  // expected-error @below {{unknown function @layer}}
  %r = weft.checkpoint @layer(%x) policy = "nothing" : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @layer(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{policy must be "nothing", "dots", "names" or "everything", got "some"}}
  %r = weft.checkpoint @layer(%x) policy = "some" : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @layer(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{needs a list of names with the policy "names" and with no other}}
  %r = weft.checkpoint @layer(%x) policy = "dots" ["a"] : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @layer(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @f(%x: tensor<f64>) {
  // expected-error @below {{operand 0 must be 'tensor<f32>', got 'tensor<f64>'}}
  %r = weft.checkpoint @layer(%x) policy = "nothing" : (tensor<f64>) -> tensor<f32>
  return
}

// -----

func.func private @layer(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{must have 1 results, got 2}}
  %r:2 = weft.checkpoint @layer(%x) policy = "nothing" : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}
