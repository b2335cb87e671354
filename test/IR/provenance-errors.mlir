// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{weft.provenance of argument 0 must be a dictionary}}
func.func private @f(tensor<8xf32> {weft.provenance = "x"})

// -----

// expected-error @below {{weft.provenance of result 0 may have "annotation", a string, and "axes", a dictionary, got "axis"}}
func.func private @f() -> (tensor<8xf32> {weft.provenance = {axis = "x"}})

// -----

// expected-error @below {{weft.provenance of argument 0 must have an array of strings, the annotation first, for axis "data"}}
func.func private @f(tensor<8xf32> {weft.provenance = {axes = {data = []}}})

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{weft.provenance must be an array with one dictionary for each of the op's 1 results, got {}}}
  %y = arith.negf %x {weft.provenance = {}} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{weft.provenance of result 0 must be a dictionary}}
  %y = arith.negf %x {weft.provenance = [1]} : tensor<8xf32>
  return %y : tensor<8xf32>
}
