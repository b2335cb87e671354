// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s

// What uses an op that cannot be read is no news.

// CHECK: error: argument 1 has type tensor<4xcomplex<f32>>: complex numbers are for use inside of a program; pass real and imaginary parts
// CHECK: error: result 1 has type tensor<4xcomplex<f32>>: complex numbers are for use inside of a program; pass real and imaginary parts
// CHECK: error: cannot import 4 ops of the program
// CHECK-NEXT: model.py:7:3: note: 2 times stablehlo.sqrt: not of complex numbers, which have sums, products, quotients, exp, log, abs, FFTs and moves of elements
// CHECK-NEXT: model.py:8:3: note: stablehlo.fft: of a length with a prime factor above 512
// CHECK-NEXT: note: stablehlo.compare: not of complex numbers
// CHECK-NOT: note:
#seven = loc("model.py":7:3)
#eight = loc("model.py":8:3)
func.func @main(%a: tensor<4xf32>, %c: tensor<4xcomplex<f32>>, %l: tensor<523xf32>) -> (tensor<4xf32>, tensor<4xcomplex<f32>>) {
  %z = "stablehlo.complex"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %r = "stablehlo.sqrt"(%z) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> loc(#seven)
  %s = "stablehlo.sqrt"(%c) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> loc(#seven)
  %t = "stablehlo.add"(%r, %s) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %f = "stablehlo.fft"(%l) <{fft_length = array<i64: 523>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<523xf32>) -> tensor<262xcomplex<f32>> loc(#eight)
  %g = "stablehlo.abs"(%f) : (tensor<262xcomplex<f32>>) -> tensor<262xf32>
  %h = "stablehlo.compare"(%z, %z) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
  %x = "stablehlo.real"(%t) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %x, %c : tensor<4xf32>, tensor<4xcomplex<f32>>
}
