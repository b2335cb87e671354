// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @counts(%g: tensor<4x3x3xf32>) {
  // expected-error @below {{'weft.spread_windows' op g and extremum must have an element for each window, 'tensor<4x4x3xf32>', got 'tensor<4x3x3xf32>'}}
  %r = weft.spread_windows %g dim = 1 size = 2 stride = 2 dilation = 1 : (tensor<4x3x3xf32>) -> tensor<4x8x3xf32>
  return
}

// -----

func.func @extrema(%g: tensor<4x4x3xf32>, %x: tensor<4x8x3xf32>) {
  // expected-error @below {{'weft.spread_windows' op needs none or both of what windows are of and their extrema, got 1 of them}}
  %r = weft.spread_windows %g of %x dim = 1 size = 2 stride = 2 dilation = 1 : (tensor<4x4x3xf32>, tensor<4x8x3xf32>) -> tensor<4x8x3xf32>
  return
}

// -----

func.func @result(%g: tensor<4x4x3xf32>, %x: tensor<4x9x3xf32>) {
  // expected-error @below {{'weft.spread_windows' op the result must have the type of what windows are of, 'tensor<4x9x3xf32>', got 'tensor<4x8x3xf32>'}}
  %r = weft.spread_windows %g of %x, %g dim = 1 size = 2 stride = 2 dilation = 1 : (tensor<4x4x3xf32>, tensor<4x9x3xf32>, tensor<4x4x3xf32>) -> tensor<4x8x3xf32>
  return
}

// -----

func.func @stride(%g: tensor<4x4x3xf32>) {
  // expected-error @below {{'weft.spread_windows' op stride must be at least 1, got 0}}
  %r = weft.spread_windows %g dim = 1 size = 2 stride = 0 dilation = 1 : (tensor<4x4x3xf32>) -> tensor<4x8x3xf32>
  return
}
