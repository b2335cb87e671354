// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @size(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{m must be at least 1, got 0}}
  %r = weft.gemm %a, %b batch = 1 m = 0 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @number_of_strides(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{rhs must have 3 strides, got 2}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @no_unit_stride(%a: tensor<4x2x2xf32>, %b: tensor<2x8xf32>) {
  // expected-error @below {{one matrix stride of lhs must be 1, got 4 and 2}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 2
      strides = [16, 4, 2] x [16, 8, 1] -> [32, 8, 1]
      : (tensor<4x2x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @negative_stride(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{lhs must not have a negative stride, got -16}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, -16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @out_of_bounds(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{strides of rhs reach element 135 of 128}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 17
      strides = [64, 1, 3] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @far_out_of_bounds(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{strides of lhs reach beyond element 9223372036854775807}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 9223372036854775807, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @overlapping_result(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{out strides must write every element of the result once, got [32, 4, 1]}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 4, 1]
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @element_type(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>) {
  // expected-error @below {{operands must be of bf16, f16, f32, f64, i32 or i64, got 'i8'}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xi8>, tensor<16x8xi8>) -> tensor<4x8xi8>
  return
}

// -----

func.func @element_types(%a: tensor<4x16xf32>, %b: tensor<16x8xbf16>) {
  // expected-error @below {{operands must have one element type, got 'f32' and 'bf16'}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xf32>, tensor<16x8xbf16>) -> tensor<4x8xf32>
  return
}

// -----

func.func @result_type(%a: tensor<4x16xbf16>, %b: tensor<16x8xbf16>) {
  // expected-error @below {{result must be of 'bf16' or f32, got 'f64'}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
      : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xf64>
  return
}

// -----

func.func @epilogue_without_operand(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{epilogue bias_gelu needs the bias as its operand, got none}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then bias_gelu
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @epilogue_with_operand(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %x: tensor<8xf32>) {
  // expected-error @below {{epilogue gelu needs nothing as its operand, got one}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then gelu(%x)
      : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @epilogue_without_result(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{epilogue gelu_aux needs aux as its result, got none}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then gelu_aux
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @result_without_epilogue(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{epilogue none needs nothing as its result, got one}}
  %r:2 = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] 
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return
}

// -----

func.func @epilogue_type(%a: tensor<4x16xf64>, %b: tensor<16x8xf64>) {
  // expected-error @below {{with an epilogue, the result must be of f32, bf16 or f16, got 'f64'}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then gelu
      : (tensor<4x16xf64>, tensor<16x8xf64>) -> tensor<4x8xf64>
  return
}

// -----

func.func @rows_apart(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{epilogue gelu needs an n stride of 1 in the result, got 4}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 1, 4] then gelu
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @length_of_bias(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %x: tensor<4xf32>) {
  // expected-error @below {{bias must have 8 elements (n) of 'f32', got 'tensor<4xf32>'}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then bias(%x)
      : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @length_of_gradient(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{bias must have 4 elements (m) of 'f32', got 'tensor<4xbf16>'}}
  %r:2 = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then lhs_bias_grad
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<4xbf16>)
  return
}

// -----

func.func @batches_of_bias(%a: tensor<2x4x16xf32>, %b: tensor<2x16x8xf32>, %x: tensor<8xf32>) {
  // expected-error @below {{with a bias, batch must be 1, got 2}}
  %r = weft.gemm %a, %b batch = 2 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then bias(%x)
      : (tensor<2x4x16xf32>, tensor<2x16x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @type_of_aux(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{aux must have the type of the result, 'tensor<4x8xf32>', got 'tensor<32xf32>'}}
  %r:2 = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then gelu_aux
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<32xf32>)
  return
}

// -----

func.func @width_of_aux(%a: tensor<4x16xf32>, %b: tensor<16x4xf32>) {
  // expected-error @below {{with aux, n must be a multiple of 8, got 4}}
  %r:2 = weft.gemm %a, %b batch = 1 m = 4 n = 4 k = 16
      strides = [64, 16, 1] x [64, 4, 1] -> [16, 4, 1] then gelu_aux
      : (tensor<4x16xf32>, tensor<16x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @precision_of_bf16(%a: tensor<4x16xbf16>, %b: tensor<16x8xbf16>) {
  // expected-error @below {{precision tf32 is for operands of f32, got 'bf16'}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] tf32
      : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %c: tensor<8x4xf32>) {
  // expected-error @below {{the addend must have the type of the result, 'tensor<4x8xf32>', got 'tensor<8x4xf32>'}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then accumulate(%c)
      : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @below {{epilogue accumulate needs the addend as its operand, got none}}
  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
      strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1] then accumulate
      : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}
