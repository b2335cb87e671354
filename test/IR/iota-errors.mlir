// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @below {{'weft.iota' op dim has dim 2 but the tensor has rank 2}}
  %r = weft.iota dim = 2 : tensor<4x256xi32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'weft.iota' op cannot count in elements of type i1}}
  %r = weft.iota dim = 0 : tensor<2xi1>
  return
}
