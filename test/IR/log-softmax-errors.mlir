// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'weft.log_softmax' op dims has dim -1 but the tensor has rank 2}}
  %r = weft.log_softmax %x dims = [-1] : tensor<4x8xf32>
  return
}
