// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics -o /dev/null

func.func @of_nothing(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{needs as `of` the result of a weft.stage_boundary that goes forward}}
  %a = weft.stage_boundary %x of %x : tensor<2xf32> of tensor<2xf32>
  return %a : tensor<2xf32>
}

// -----

func.func @of_another_type(%x: tensor<2xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = weft.stage_boundary %x : tensor<2xf32>
  // expected-error @below {{takes back a value of type 'tensor<4xf32>', but what went forward is of type 'tensor<2xf32>'}}
  %b = weft.stage_boundary %y of %a : tensor<4xf32> of tensor<2xf32>
  return %b : tensor<4xf32>
}
