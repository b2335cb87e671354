// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: tensor<8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @below {{'weft.attention' op query and key must have rank 4 (batch, position, head, head size), got 'tensor<8x4x16xf32>' and 'tensor<2x12x2x16xf32>'}}
  %r, %l = weft.attention %q, %k, %v scale = 0.25 : (tensor<8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>) -> (tensor<8x4x16xf32>, tensor<8x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>) {
  // expected-error @below {{'weft.attention' op value must have the type of the key, 'tensor<2x12x2x16xf32>', got 'tensor<2x12x2x8xf32>'}}
  %r, %l = weft.attention %q, %k, %v scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xbf16>, %v: tensor<2x12x2x16xbf16>) {
  // expected-error @below {{'weft.attention' op query and key must have one element type, got 'f32' and 'bf16'}}
  %r, %l = weft.attention %q, %k, %v scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xbf16>, tensor<2x12x2x16xbf16>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<3x12x2x16xf32>, %v: tensor<3x12x2x16xf32>) {
  // expected-error @below {{'weft.attention' op query and key must have one batch, got 2 and 3}}
  %r, %l = weft.attention %q, %k, %v scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<3x12x2x16xf32>, tensor<3x12x2x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x8xf32>, %v: tensor<2x12x2x8xf32>) {
  // expected-error @below {{'weft.attention' op heads of query and key must have one size, got 16 and 8}}
  %r, %l = weft.attention %q, %k, %v scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x8xf32>, tensor<2x12x2x8xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x3x16xf32>, %v: tensor<2x12x3x16xf32>) {
  // expected-error @below {{'weft.attention' op heads of the query must be a multiple of the 3 of the key, got 4}}
  %r, %l = weft.attention %q, %k, %v scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x3x16xf32>, tensor<2x12x3x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @below {{'weft.attention' op out must be 'tensor<2x8x4x16xf32>', got 'tensor<2x8x2x16xf32>'}}
  %r, %l = weft.attention %q, %k, %v scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>) -> (tensor<2x8x2x16xf32>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xbf16>, %k: tensor<2x12x2x16xbf16>, %v: tensor<2x12x2x16xbf16>) {
  // expected-error @below {{'weft.attention' op out must be 'tensor<2x8x4x16xbf16>' or 'tensor<2x8x4x16xf32>', got 'tensor<2x8x4x16xf64>'}}
  %r, %l = weft.attention %q, %k, %v scale = 0.25 : (tensor<2x8x4x16xbf16>, tensor<2x12x2x16xbf16>, tensor<2x12x2x16xbf16>) -> (tensor<2x8x4x16xf64>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @below {{'weft.attention' op logsumexp must be 'tensor<2x8x4xf32>', got 'tensor<2x4x8xf32>'}}
  %r, %l = weft.attention %q, %k, %v scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %d: tensor<i32>) {
  // expected-error @below {{'weft.attention' op has a diagonal but is not causal; without 'causal' every key is seen}}
  %r, %l = weft.attention %q, %k, %v diagonal %d scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<i32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xi32>, %k: tensor<2x12x2x16xi32>, %v: tensor<2x12x2x16xi32>) {
  // expected-error @below {{'weft.attention' op operand #0 must be static ranked tensor of f32, bf16, f16 or f64, but got 'tensor<2x8x4x16xi32>'}}
  %r, %l = weft.attention %q, %k, %v scale = 0.25 : (tensor<2x8x4x16xi32>, tensor<2x12x2x16xi32>, tensor<2x12x2x16xi32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  return
}
