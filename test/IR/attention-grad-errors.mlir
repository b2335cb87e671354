// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x3x16xf32>, %v: tensor<2x12x3x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>, %g: tensor<2x8x4x16xf32>) {
  // expected-error @below {{'weft.attention_grad' op heads of the query must be a multiple of the 3 of the key, got 4}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %o, %l, %g scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x3x16xf32>, tensor<2x12x3x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>, %g: tensor<2x8x4x16xf32>, %d: tensor<i32>) {
  // expected-error @below {{'weft.attention_grad' op has a diagonal but is not causal; without 'causal' every key is seen}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %o, %l, %g diagonal %d scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>, tensor<i32>) -> (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %o: tensor<2x8x2x16xf32>, %l: tensor<2x8x4xf32>, %g: tensor<2x8x4x16xf32>) {
  // expected-error @below {{'weft.attention_grad' op out must be 'tensor<2x8x4x16xf32>', got 'tensor<2x8x2x16xf32>'}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %o, %l, %g scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %o: tensor<2x8x4x16xf64>, %l: tensor<2x8x4xf32>, %g: tensor<2x8x4x16xf32>) {
  // expected-error @below {{'weft.attention_grad' op out must be 'tensor<2x8x4x16xf32>', got 'tensor<2x8x4x16xf64>'}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %o, %l, %g scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x4x16xf64>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x2xf32>, %g: tensor<2x8x4x16xf32>) {
  // expected-error @below {{'weft.attention_grad' op logsumexp must be 'tensor<2x8x4xf32>', got 'tensor<2x8x2xf32>'}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %o, %l, %g scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x2xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>, %g: tensor<2x8x2x16xf32>) {
  // expected-error @below {{'weft.attention_grad' op out_cotangent must be 'tensor<2x8x4x16xf32>', got 'tensor<2x8x2x16xf32>'}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %o, %l, %g scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x2x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>, %g: tensor<2x8x4x16xf32>, %e: tensor<2x8x4xbf16>) {
  // expected-error @below {{'weft.attention_grad' op logsumexp_cotangent must be 'tensor<2x8x4xf32>', got 'tensor<2x8x4xbf16>'}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %o, %l, %g logsumexp %e scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xbf16>) -> (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>, %g: tensor<2x8x4x16xf32>) {
  // expected-error @below {{'weft.attention_grad' op query_cotangent must be 'tensor<2x8x4x16xf32>', got 'tensor<2x8x2x16xf32>'}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %o, %l, %g scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>, %g: tensor<2x8x4x16xf32>) {
  // expected-error @below {{'weft.attention_grad' op key_cotangent must be 'tensor<2x12x2x16xf32>', got 'tensor<2x8x2x16xf32>'}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %o, %l, %g scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x12x2x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>, %g: tensor<2x8x4x16xf32>) {
  // expected-error @below {{'weft.attention_grad' op value_cotangent must be 'tensor<2x12x2x16xf32>', got 'tensor<2x8x2x16xf32>'}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %o, %l, %g scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x2x16xf32>)
  return
}
