// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<f32>) {
  // expected-error @below {{unknown function @loss}}
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @loss(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{needs a private function, but @loss is public and thus an entry of its own; make it private}}
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func private @loss(%x: tensor<f32>) -> tensor<f32>
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{needs a function with a body, but @loss is declared only}}
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func private @loss(%x: tensor<f32>, %i: tensor<i32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @operands(%x: tensor<f32>) {
  // expected-error @below {{must have 2 operands, got 1}}
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func private @loss(%x: tensor<f32>, %i: tensor<i32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @operand_type(%x: tensor<f32>) {
  // expected-error @below {{operand 1 must be 'tensor<i32>', got 'tensor<f32>'}}
  %r:2 = weft.value_and_grad @loss(%x, %x) wrt = [0] : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func private @loss(%x: tensor<f32>, %i: tensor<i32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @range(%x: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{wrt names argument 2, but @loss has 2}}
  %r:2 = weft.value_and_grad @loss(%x, %i) wrt = [2] : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func private @loss(%x: tensor<f32>, %i: tensor<i32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @twice(%x: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{wrt names argument 0 twice}}
  %r:3 = weft.value_and_grad @loss(%x, %i) wrt = [0, 0] : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

func.func private @loss(%x: tensor<f32>, %i: tensor<i32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @integer(%x: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{cannot differentiate by argument 1 of type 'tensor<i32>': its elements are not floating-point}}
  %r:2 = weft.value_and_grad @loss(%x, %i) wrt = [1] : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  return
}

// -----

func.func private @loss(%x: tensor<f32>, %i: tensor<i32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @results(%x: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{must have 2 results, got 1}}
  %r = weft.value_and_grad @loss(%x, %i) wrt = [0] : (tensor<f32>, tensor<i32>) -> tensor<f32>
  return
}

// -----

func.func private @loss(%x: tensor<f32>, %i: tensor<i32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @result_type(%x: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{result 1 must be 'tensor<f32>', got 'tensor<1xf32>'}}
  %r:2 = weft.value_and_grad @loss(%x, %i) wrt = [0] : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<1xf32>)
  return
}

// -----

func.func private @loss(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{needs a function whose first result is a loss, a floating-point scalar, but @loss has type '(tensor<4xf32>) -> tensor<4xf32>'}}
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func private @loss(%x: tensor<4xf32>) {
  return
}
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{needs a function whose first result is a loss, a floating-point scalar, but @loss has type '(tensor<4xf32>) -> ()'}}
  %r = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<4xf32>) -> tensor<4xf32>
  return
}
