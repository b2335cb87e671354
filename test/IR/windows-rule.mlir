// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

// A dimension of windows has a factor on each side.
func.func @convolution(%x: tensor<4x16x16x6xf32>, %w: tensor<3x3x6x8xf32>, %one: tensor<1x1x6x8xf32>, %two: tensor<3x3x2x9xf32>, %each: tensor<3x3x1x6xf32>) {
  // expected-remark @below {{([i, m, n, o], [p, q, o, l])->([i, j, k, l]) {i=4, j=16, k=16, l=8, m=16, n=16, o=6, p=3, q=3} reduction={o} need_replication={j, k, p, q} permutation={m, n}, linear in one}}
  %0 = weft.convolution %x, %w strides = [1, 1] low = [1, 1] high = [1, 1] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<4x16x16x6xf32>, tensor<3x3x6x8xf32>) -> tensor<4x16x16x8xf32>
  // A kernel of one element multiplies each by itself.
  // expected-remark @below {{([i, j, k, m], [n, o, m, l])->([i, j, k, l])}}
  %1 = weft.convolution %x, %one strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 : (tensor<4x16x16x6xf32>, tensor<1x1x6x8xf32>) -> tensor<4x16x16x8xf32>
  // Groups are the major part of features.
  // expected-remark @below {{([i, n, o, lp], [q, r, p, lm])->([i, j, k, lm])}}
  %2 = weft.convolution %x, %two strides = [2, 2] low = [1, 1] high = [1, 1] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 3 : (tensor<4x16x16x6xf32>, tensor<3x3x2x9xf32>) -> tensor<4x8x8x9xf32>
  // expected-remark @below {{([i, m, n, l], [o, p, q, l])->([i, j, k, l])}}
  %3 = weft.convolution %x, %each strides = [1, 1] low = [1, 1] high = [1, 1] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 6 : (tensor<4x16x16x6xf32>, tensor<3x3x1x6xf32>) -> tensor<4x16x16x6xf32>
  return
}

// Features of groups that are apart can be split by themselves.
func.func @groups_apart(%x: tensor<4x16x3x2xf32>, %w: tensor<3x2x9xf32>) {
  // expected-remark @below {{([i, m, k, n], [o, n, kl])->([i, j, kl])}}
  %0 = weft.convolution %x, %w strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 3 : (tensor<4x16x3x2xf32>, tensor<3x2x9xf32>) -> tensor<4x16x9xf32>
  return
}

func.func @windows(%x: tensor<4x16x3xf32>, %g: tensor<4x8x3xf32>) {
  // expected-remark @below {{([i, l, k])->([i, j, k]) {i=4, j=8, k=3, l=16} need_replication={j} permutation={l}, not linear}}
  %0 = weft.reduce_window max %x dim = 1 size = 2 stride = 2 dilation = 1 : tensor<4x16x3xf32> -> tensor<4x8x3xf32>
  // expected-remark @below {{([i, l, k])->([i, j, k]) {i=4, j=8, k=3, l=16} need_replication={j} permutation={l}, linear}}
  %1 = weft.reduce_window sum %x dim = 1 size = 2 stride = 2 dilation = 1 : tensor<4x16x3xf32> -> tensor<4x8x3xf32>
  // expected-remark @below {{([i, l, k])->([i, j, k]) {i=4, j=16, k=3, l=8} need_replication={j} permutation={l}, linear}}
  %2 = weft.spread_windows %g dim = 1 size = 2 stride = 2 dilation = 1 : (tensor<4x8x3xf32>) -> tensor<4x16x3xf32>
  // expected-remark @below {{([i, l, k], [i, j, k], [i, l, k])->([i, j, k]) {i=4, j=16, k=3, l=8} need_replication={j} permutation={l}, linear in first}}
  %3 = weft.spread_windows %g of %x, %0 dim = 1 size = 2 stride = 2 dilation = 1 : (tensor<4x8x3xf32>, tensor<4x16x3xf32>, tensor<4x8x3xf32>) -> tensor<4x16x3xf32>
  return
}
