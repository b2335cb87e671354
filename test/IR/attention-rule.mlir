// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

// As many keys as queries: one factor, j, of both.
func.func @ring(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x2x16xf32>, %l: tensor<2x8x4xf32>, %d: tensor<i32>) {
  // expected-remark @below {{([i, j, kl, m], [i, j, k, m], [i, j, k, m])->([i, j, kl, m], [i, j, kl]) {i=2, j=8, k=2, l=2, m=16} need_replication={m}}}
  %r, %s = weft.attention %q, %k, %k scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  // Only the cotangents of keys and values are sums over the heads of a group.
  // expected-remark @below {{([i, j, kl, m], [i, j, k, m], [i, j, k, m], [i, j, kl, m], [i, j, kl], [i, j, kl, m])->([i, j, kl, m], [i, j, k, m], [i, j, k, m]) {i=2, j=8, k=2, l=2, m=16} reduction={l} need_replication={m}}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %q, %l, %q scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>)
  // expected-remark @below {{([i, j, kl, m], [i, j, k, m], [i, j, k, m], [i, j, kl, m], [i, j, kl], [i, j, kl, m], [i, j, kl], [])->([i, j, kl, m], [i, j, k, m], [i, j, k, m]) {i=2, j=8, k=2, l=2, m=16} reduction={l} need_replication={m}}}
  %eq, %ek, %ev = weft.attention_grad %q, %k, %k, %q, %l, %q logsumexp %l causal diagonal %d scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<i32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>)
  return
}

// Queries that see more keys than there are queries.
func.func @more(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %l: tensor<2x8x4xf32>, %d: tensor<i32>) {
  // expected-remark @below {{([i, j, kl, m], [i, n, k, m], [i, n, k, m], [])->([i, j, kl, m], [i, j, kl]) {i=2, j=8, k=2, l=2, m=16, n=12} need_replication={m, n}}}
  %r, %s = weft.attention %q, %k, %k causal diagonal %d scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<i32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  // expected-remark @below {{([i, j, kl, m], [i, n, k, m], [i, n, k, m], [i, j, kl, m], [i, j, kl], [i, j, kl, m])->([i, j, kl, m], [i, n, k, m], [i, n, k, m]) {i=2, j=8, k=2, l=2, m=16, n=12} reduction={j, l} need_replication={m, n}}}
  %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %q, %l, %q scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32>)
  return
}

// Each head of queries has its own keys.
func.func @one(%q: tensor<2x8x4x16xf32>) {
  // expected-remark @below {{([i, j, k, l], [i, j, k, l], [i, j, k, l])->([i, j, k, l], [i, j, k]) {i=2, j=8, k=4, l=16} need_replication={l}}}
  %r, %s = weft.attention %q, %q, %q causal scale = 0.25 : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
  return
}
