// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @unknown(%a: tensor<4xf32>) {
  // expected-error @below {{unknown kernel @kernel}}
  weft.launch @kernel(%a) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func private @kernel(%a: tensor<4xf32>)
func.func @no_kernel(%a: tensor<4xf32>) {
  // expected-error @below {{@kernel must be a private function with weft.kernel}}
  weft.launch @kernel(%a) : (tensor<4xf32>) -> ()
  return
}

// -----

weft.mesh @mesh = <["data"=2]>
func.func private @kernel(%a: tensor<4xf32>) -> tensor<4xf32> attributes {weft.kernel}
func.func @type(%a: tensor<4xf32>) {
  // expected-error @below {{needs a kernel of type '(tensor<4xf32>, tensor<i32>) -> tensor<4xf32>', @kernel has type '(tensor<4xf32>) -> tensor<4xf32>'}}
  %r = weft.launch @kernel(%a) positions = [#weft.axes<@mesh, {"data"}>]
      : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @kernel(%a: tensor<4xf32>, %b: tensor<8xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) attributes {weft.kernel}

func.func @in_place_length(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{in_place must have one element for each of the 2 results, got 1}}
  %r:2 = weft.launch @kernel(%a, %b) in_place = [0]
      : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

func.func @in_place_range(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{in_place of result 1 must be -1 or an operand, got 2}}
  %r:2 = weft.launch @kernel(%a, %b) in_place = [0, 2]
      : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

func.func @in_place_twice(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{in_place gives the buffer of operand 0 to two results}}
  %r:2 = weft.launch @kernel(%a, %b) in_place = [0, 0]
      : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

func.func @in_place_type(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{in_place of result 1 needs an operand with the elements of 'tensor<4xf32>', operand 1 has type 'tensor<8xf32>'}}
  %r:2 = weft.launch @kernel(%a, %b) in_place = [0, 1]
      : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func private @kernel(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32>
    attributes {weft.kernel}

func.func @batch_size(%a: tensor<4xf32>) {
  // expected-error @below {{batch must divide the 3 operands and the 2 results, got 2}}
  %r:2 = weft.launch @kernel(%a, %a, %a) batch = 2
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

func.func @batch_results(%a: tensor<4xf32>) {
  // expected-error @below {{batch must divide the 2 operands and the 3 results, got 2}}
  %r:3 = weft.launch @kernel(%a, %a) batch = 2
      : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

func.func @batch_range(%a: tensor<4xf32>) {
  // expected-error @below {{batch must divide the 2 operands and the 1 results, got 0}}
  %r = weft.launch @kernel(%a, %a) batch = 0
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @batch_in_place_length(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{in_place must have one element for each of the 1 results, got 2}}
  %r:2 = weft.launch @kernel(%a, %b, %b, %a) batch = 2 in_place = [0, 0]
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

func.func @batch_in_place_range(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{in_place of result 0 must be -1 or an operand, got 2}}
  %r:2 = weft.launch @kernel(%a, %b, %b, %a) batch = 2 in_place = [2]
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

func.func @batch_race(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{set 1 of the batch writes over its operand 0, which another set has as well}}
  %r:2 = weft.launch @kernel(%a, %b, %b, %c) batch = 2 in_place = [0]
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func private @kernel(%a: tensor<4xf32>) -> tensor<4xf32> attributes {weft.kernel}

func.func @batch_type(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{needs a kernel of type '(tensor<8xf32>) -> tensor<4xf32>' for set 1 of the batch, @kernel has type '(tensor<4xf32>) -> tensor<4xf32>'}}
  %r:2 = weft.launch @kernel(%a, %b) batch = 2
      : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
