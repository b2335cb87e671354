// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-decompose --weft-lower-gemms --weft-fuse-epilogues | FileCheck %s

// The first layer of a perceptron is one GEMM.

// CHECK-LABEL: func.func @perceptron(
// CHECK-SAME: %[[X:.*]]: tensor<4x16xf32>, %[[W:.*]]: tensor<16x8xf32>, %[[B:.*]]: tensor<8xf32>, %[[V:.*]]: tensor<8x2xf32>)
// CHECK-NEXT: %[[Y:.*]] = weft.gemm %[[X]], %[[W]] {{.*}} -> [32, 8, 1] then bias_gelu(%[[B]])
// CHECK-NOT: arith.
// CHECK: %[[Z:.*]] = weft.gemm %[[Y]], %[[V]]
// CHECK-NEXT: return %[[Z]]
func.func @perceptron(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %b: tensor<8xf32>, %v: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %p = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %bs = weft.broadcast %b dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %s = arith.addf %p, %bs : tensor<4x8xf32>
  %y = weft.gelu approximate %s : tensor<4x8xf32>
  %z = weft.dot_general %y, %v contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %z : tensor<4x2xf32>
}

// -----

// In bf16, with rows of two dimensions and the bias as the first operand. That
// comes from behind the GEMM.

// CHECK-LABEL: func.func @bf16(
// CHECK: %[[B:.*]] = arith.truncf
// CHECK-NEXT: %[[Y:.*]] = weft.gemm {{.*}} then bias_gelu(%[[B]]) : {{.*}} -> tensor<2x4x8xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @bf16(%x: tensor<2x4x16xbf16>, %w: tensor<16x8xbf16>, %master: tensor<8xf32>) -> tensor<2x4x8xbf16> {
  %p = weft.dot_general %x, %w contracting = [2] x [0] : (tensor<2x4x16xbf16>, tensor<16x8xbf16>) -> tensor<2x4x8xbf16>
  %b = arith.truncf %master : tensor<8xf32> to tensor<8xbf16>
  %bs = weft.broadcast %b dims = [2] : tensor<8xbf16> -> tensor<2x4x8xbf16>
  %s = arith.addf %bs, %p : tensor<2x4x8xbf16>
  %y = weft.gelu approximate %s : tensor<2x4x8xbf16>
  return %y : tensor<2x4x8xbf16>
}

// In f16.
// CHECK-LABEL: func.func @f16(
// CHECK: weft.gemm {{.*}} then bias_gelu({{.*}}) : {{.*}} -> tensor<4x8xf16>
func.func @f16(%x: tensor<4x16xf16>, %w: tensor<16x8xf16>, %b: tensor<8xf16>) -> tensor<4x8xf16> {
  %p = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf16>, tensor<16x8xf16>) -> tensor<4x8xf16>
  %bs = weft.broadcast %b dims = [1] : tensor<8xf16> -> tensor<4x8xf16>
  %s = arith.addf %p, %bs : tensor<4x8xf16>
  %y = weft.gelu approximate %s : tensor<4x8xf16>
  return %y : tensor<4x8xf16>
}

// -----

// Sums that another op reads are written beside the result.

// CHECK-LABEL: func.func @aux(
// CHECK: %[[Y:.*]], %[[SUMS:.*]] = weft.gemm {{.*}} then gelu_aux : {{.*}} -> (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK-NEXT: %[[R:.*]] = math.exp %[[SUMS]]
// CHECK-NEXT: return %[[Y]], %[[R]]
func.func @aux(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %y = weft.gelu approximate %s : tensor<4x8xf32>
  %r = math.exp %s : tensor<4x8xf32>
  return %y, %r : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A bias alone, of heads.

// CHECK-LABEL: func.func @bias(
// CHECK-SAME: %[[B:[a-z0-9]*]]: tensor<2x4xf32>)
// CHECK-NEXT: weft.gemm {{.*}} then bias(%[[B]]) : {{.*}} -> tensor<4x2x4xf32>
// CHECK-NEXT: return
func.func @bias(%x: tensor<4x16xf32>, %w: tensor<16x2x4xf32>, %b: tensor<2x4xf32>) -> tensor<4x2x4xf32> {
  %p = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x2x4xf32>) -> tensor<4x2x4xf32>
  %bs = weft.broadcast %b dims = [1, 2] : tensor<2x4xf32> -> tensor<4x2x4xf32>
  %s = arith.addf %p, %bs : tensor<4x2x4xf32>
  return %s : tensor<4x2x4xf32>
}

// -----

// A result that lies transposed is the result of the transposed GEMM.

// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %[[X:.*]]: tensor<4x16xf32>, %[[W:.*]]: tensor<16x8xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK-NEXT: weft.gemm %[[W]], %[[X]] batch = 1 m = 8 n = 4 k = 16 strides = [128, 1, 8] x [64, 1, 16] -> [32, 4, 1] then bias_gelu(%[[B]])
func.func @transposed(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %p = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %t = weft.transpose %p dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %bs = weft.broadcast %b dims = [1] : tensor<4xf32> -> tensor<8x4xf32>
  %s = arith.addf %t, %bs : tensor<8x4xf32>
  %y = weft.gelu approximate %s : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// Without a vector there may be batches.

// CHECK-LABEL: func.func @batches(
// CHECK: weft.gemm {{.*}} batch = 2 {{.*}} then gelu :
// CHECK-NEXT: weft.gemm {{.*}} -> [64, 16, 1] :
// CHECK-NEXT: %[[P:.*]] = weft.gemm {{.*}} batch = 2 {{.*}} -> [32, 8, 1] :
// CHECK: arith.addf %[[P]]
func.func @batches(%x: tensor<2x4x16xf32>, %w: tensor<2x16x8xf32>, %b: tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %p = weft.dot_general %x, %w batching = [0] x [0] contracting = [2] x [1] : (tensor<2x4x16xf32>, tensor<2x16x8xf32>) -> tensor<2x4x8xf32>
  %y = weft.gelu approximate %p : tensor<2x4x8xf32>
  %q = weft.dot_general %y, %w batching = [0] x [0] contracting = [2] x [2] : (tensor<2x4x8xf32>, tensor<2x16x8xf32>) -> tensor<2x4x16xf32>
  %r = weft.dot_general %q, %w batching = [0] x [0] contracting = [2] x [1] : (tensor<2x4x16xf32>, tensor<2x16x8xf32>) -> tensor<2x4x8xf32>
  %bs = weft.broadcast %b dims = [2] : tensor<8xf32> -> tensor<2x4x8xf32>
  %s = arith.addf %r, %bs : tensor<2x4x8xf32>
  return %y, %s : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}

// -----

// Another order of operations, and constants rounded to bf16: as JAX has it.

// CHECK-LABEL: func.func @rounded_constants(
// CHECK-NEXT: weft.gemm {{.*}} then gelu :
// CHECK-NEXT: return
func.func @rounded_constants(%x: tensor<4x16xbf16>, %w: tensor<16x8xbf16>) -> tensor<4x8xbf16> {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
  %half = arith.constant dense<0.5> : tensor<bf16>
  %halves = weft.broadcast %half dims = [] : tensor<bf16> -> tensor<4x8xbf16>
  %one = arith.constant dense<1.0> : tensor<4x8xbf16>
  %weight = arith.constant dense<0.044678> : tensor<4x8xbf16>
  %root = arith.constant dense<0.796875> : tensor<4x8xbf16>
  %square = arith.mulf %s, %s : tensor<4x8xbf16>
  %cube = arith.mulf %square, %s : tensor<4x8xbf16>
  %weighted = arith.mulf %weight, %cube : tensor<4x8xbf16>
  %sum = arith.addf %weighted, %s : tensor<4x8xbf16>
  %scaled = arith.mulf %root, %sum : tensor<4x8xbf16>
  %t = math.tanh %scaled : tensor<4x8xbf16>
  %more = arith.addf %one, %t : tensor<4x8xbf16>
  %cdf = arith.mulf %halves, %more : tensor<4x8xbf16>
  %y = arith.mulf %s, %cdf : tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// -----

// In f32 the same constants are another function.

// CHECK-LABEL: func.func @other_constants(
// CHECK: weft.gemm {{.*}} -> [32, 8, 1] :
// CHECK: math.tanh
func.func @other_constants(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %half = arith.constant dense<0.5> : tensor<4x8xf32>
  %one = arith.constant dense<1.0> : tensor<4x8xf32>
  %weight = arith.constant dense<0.044678> : tensor<4x8xf32>
  %root = arith.constant dense<0.796875> : tensor<4x8xf32>
  %square = arith.mulf %s, %s : tensor<4x8xf32>
  %cube = arith.mulf %square, %s : tensor<4x8xf32>
  %weighted = arith.mulf %weight, %cube : tensor<4x8xf32>
  %sum = arith.addf %weighted, %s : tensor<4x8xf32>
  %scaled = arith.mulf %root, %sum : tensor<4x8xf32>
  %t = math.tanh %scaled : tensor<4x8xf32>
  %more = arith.addf %one, %t : tensor<4x8xf32>
  %cdf = arith.mulf %half, %more : tensor<4x8xf32>
  %y = arith.mulf %s, %cdf : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// So is the exact GELU.

// CHECK-LABEL: func.func @exact(
// CHECK: weft.gemm {{.*}} -> [32, 8, 1] :
// CHECK: math.erf
func.func @exact(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %y = weft.gelu %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Of GELU itself no part may be needed.

// CHECK-LABEL: func.func @tanh_escapes(
// CHECK: weft.gemm {{.*}} -> [32, 8, 1] :
// CHECK: math.tanh
func.func @tanh_escapes(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %half = arith.constant dense<0.5> : tensor<4x8xf32>
  %weight = arith.constant dense<0.044715> : tensor<4x8xf32>
  %root = arith.constant dense<0.7978845608> : tensor<4x8xf32>
  %square = arith.mulf %s, %s : tensor<4x8xf32>
  %cube = arith.mulf %square, %s : tensor<4x8xf32>
  %weighted = arith.mulf %weight, %cube : tensor<4x8xf32>
  %sum = arith.addf %weighted, %s : tensor<4x8xf32>
  %scaled = arith.mulf %root, %sum : tensor<4x8xf32>
  %t = math.tanh %scaled : tensor<4x8xf32>
  %a = arith.mulf %half, %s : tensor<4x8xf32>
  %b = arith.mulf %a, %t : tensor<4x8xf32>
  %y = arith.addf %a, %b : tensor<4x8xf32>
  return %y, %t : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Sums over devices are complete only behind the collective.

// CHECK-LABEL: func.func @partial(
// CHECK: weft.gemm {{.*}} -> [32, 8, 1] :
// CHECK-NEXT: weft.all_reduce
// CHECK: arith.addf
// CHECK: math.tanh
weft.mesh @mesh = <["model"=2]>
func.func @partial(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %p = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %all = weft.all_reduce sum %p over <@mesh, {"model"}> : tensor<4x8xf32>
  %bs = weft.broadcast %b dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %s = arith.addf %all, %bs : tensor<4x8xf32>
  %y = weft.gelu approximate %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A bias that differs from row to row, and a GEMM that is needed without it.

// CHECK-LABEL: func.func @no_bias(
// CHECK-COUNT-2: weft.gemm {{.*}} -> [32, 8, 1] :
func.func @no_bias(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %a: tensor<4xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %p = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %as = weft.broadcast %a dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %r = arith.addf %p, %as : tensor<4x8xf32>
  %q = weft.dot_general %r, %w contracting = [1] x [1] : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %n = math.exp %q : tensor<4x16xf32>
  %o = weft.dot_general %n, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %bs = weft.broadcast %b dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %s = arith.addf %o, %bs : tensor<4x8xf32>
  return %r, %o, %s : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// What a kernel does on its way stays there: a bias, or GELU of sums that are
// written in any case.

// CHECK-LABEL: func.func @kernels_follow(
// CHECK: weft.gemm {{.*}} -> [32, 8, 1] :
// CHECK: arith.addf
// CHECK: math.sin
// CHECK: weft.gemm {{.*}} -> [32, 8, 1] :
// CHECK: math.tanh
func.func @kernels_follow(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %v: tensor<8x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %p = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %bs = weft.broadcast %b dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %s = arith.addf %p, %bs : tensor<4x8xf32>
  %r = math.sin %s : tensor<4x8xf32>
  %q = weft.dot_general %r, %v contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y = weft.gelu approximate %q : tensor<4x8xf32>
  %z = math.sin %y : tensor<4x8xf32>
  return %q, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Sums can be stored for rows of a multiple of 8 elements; a bias for any.

// CHECK-LABEL: func.func @narrow(
// CHECK: %[[S:.*]] = weft.gemm {{.*}} n = 4 {{.*}} then bias(%{{.*}})
// CHECK: math.tanh
func.func @narrow(%x: tensor<4x16xf32>, %w: tensor<16x4xf32>, %b: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %p = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
  %bs = weft.broadcast %b dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
  %s = arith.addf %p, %bs : tensor<4x4xf32>
  %y = weft.gelu approximate %s : tensor<4x4xf32>
  return %s, %y : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// cuBLASLt has no epilogues for f64.

// CHECK-LABEL: func.func @double(
// CHECK: weft.gemm {{.*}} -> [32, 8, 1] :
// CHECK: math.tanh
func.func @double(%x: tensor<4x16xf64>, %w: tensor<16x8xf64>) -> tensor<4x8xf64> {
  %s = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x16xf64>, tensor<16x8xf64>) -> tensor<4x8xf64>
  %y = weft.gelu approximate %s : tensor<4x8xf64>
  return %y : tensor<4x8xf64>
}
