// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops of arith and math state their rules through external models.
// RUN: shard-opt %s --weft-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>, %s: i1, %i: tensor<4x8xi32>, %h: tensor<4x8xbf16>) {
  // expected-remark @below {{([i, j], [i, j])->([i, j]) {i=4, j=8}, linear}}
  %0 = arith.addf %x, %x : tensor<4x8xf32>
  // expected-remark @below {{{i=4, j=8}, linear}}
  %1 = arith.subf %x, %x : tensor<4x8xf32>
  // expected-remark @below {{{i=4, j=8}, linear}}
  %2 = arith.negf %x : tensor<4x8xf32>
  // expected-remark @below {{{i=4, j=8}, linear}}
  %3 = arith.extf %h : tensor<4x8xbf16> to tensor<4x8xf32>
  // Rounding every term is not rounding the sum.
  // expected-remark @below {{{i=4, j=8}, not linear}}
  %4 = arith.truncf %x : tensor<4x8xf32> to tensor<4x8xbf16>
  // expected-remark @below {{{i=4, j=8}, linear in one}}
  %5 = arith.mulf %x, %x : tensor<4x8xf32>
  // expected-remark @below {{{i=4, j=8}, linear in first}}
  %6 = arith.divf %x, %x : tensor<4x8xf32>
  // expected-remark @below {{{i=4, j=8}, linear}}
  %7 = arith.addi %i, %i : tensor<4x8xi32>
  // expected-remark @below {{{i=4, j=8}, linear in one}}
  %8 = arith.muli %i, %i : tensor<4x8xi32>
  // expected-remark @below {{([i, j], [i, j])->([i, j]) {i=4, j=8}, not linear}}
  %9 = arith.cmpf olt, %x, %x : tensor<4x8xf32>
  // expected-remark @below {{([i, j], [i, j], [i, j])->([i, j]) {i=4, j=8}, not linear}}
  %10 = arith.select %p, %x, %x : tensor<4x8xi1>, tensor<4x8xf32>
  // A scalar predicate takes no part.
  // expected-remark @below {{([], [i, j], [i, j])->([i, j]) {i=4, j=8}, not linear}}
  %11 = arith.select %s, %x, %x : tensor<4x8xf32>
  // expected-remark @below {{([i, j])->([i, j]) {i=4, j=8}, not linear}}
  %12 = math.exp %x : tensor<4x8xf32>
  // expected-remark @below {{([i, j], [i, j], [i, j])->([i, j]) {i=4, j=8}, not linear}}
  %13 = math.fma %x, %x, %x : tensor<4x8xf32>
  // Every device writes its own part of a constant.
  // expected-remark @below {{()->([i, j]) {i=4, j=8}, not linear}}
  %14 = arith.constant dense<1.0> : tensor<4x8xf32>
  return
}
