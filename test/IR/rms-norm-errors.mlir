// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>, %s: tensor<1xf32>) {
  // expected-error @below {{'weft.rms_norm' op scale must have the operand's sizes along dims [1], [8], got [1]}}
  %r = weft.rms_norm %x scale %s dims = [1] epsilon = 1.0e-6 : tensor<4x8xf32> scale tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.rms_norm' op dims has dim 2 but the tensor has rank 2}}
  %r = weft.rms_norm %x dims = [2] epsilon = 1.0e-6 : tensor<4x8xf32>
  return
}
