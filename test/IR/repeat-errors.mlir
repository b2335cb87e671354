// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{count must be at least 1, got 0}}
  weft.repeat 0 {
    weft.yield
  }
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{count must be at most 2147483647, got 9000000000}}
  weft.repeat 9000000000 {
    weft.yield
  }
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{values of weft.yield must have the types of the inits, ('tensor<8xf32>'), got ('tensor<4xf32>')}}
  %r = weft.repeat 2 carry (%a = %x) : (tensor<8xf32>) {
    %c = arith.constant dense<0.0> : tensor<4xf32>
    weft.yield %c : tensor<4xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{results must have the types of the inits, ('tensor<8xf32>'), got ()}}
  "weft.repeat"(%x) <{count = 2 : i64}> ({
  ^bb0(%a: tensor<8xf32>):
    weft.yield %a : tensor<8xf32>
  }) : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{arguments of the block must have the types of the inits, ('tensor<8xf32>'), got ()}}
  %r = "weft.repeat"(%x) <{count = 2 : i64}> ({
    weft.yield %x : tensor<8xf32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{needs a block that ends with weft.yield}}
  "weft.repeat"() <{count = 2 : i64}> ({
    func.return
  }) : () -> ()
  return
}
