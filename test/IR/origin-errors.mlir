// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @not_an_origin(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{weft.origin must be a #weft.origin, got "backward"}}
  %a = math.exp %x {weft.origin = "backward"} : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

func.func @one_for_each_result(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{weft.result_origins must have a #weft.origin or unit for each of the op's 1 results, got [unit, unit]}}
  %a = math.exp %x {weft.result_origins = [unit, unit]} : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

func.func @parameter_is_no_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{weft.parameter is for arguments and results of functions, not for ops}}
  %a = math.exp %x {weft.parameter} : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// expected-error@+1 {{weft.parameter is for arguments, not for result 0}}
func.func @parameter_is_no_result(%x: tensor<4xf32>) -> (tensor<4xf32> {weft.parameter}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{weft.parameter of argument 0 must be a unit attribute, got "w"}}
func.func @parameter_has_no_value(%x: tensor<4xf32> {weft.parameter = "w"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
