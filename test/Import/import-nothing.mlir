// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-import-stablehlo | FileCheck %s

// A graph has nothing to import.

// CHECK: weft.mesh @rows = <["data"=2]>
// CHECK: func.func @graph(%[[X:.*]]: tensor<4xf32> {weft.name = "x"})
// CHECK: call @double(%[[X]])
// CHECK: func.func private @double
weft.mesh @rows = <["data"=2]>

func.func @graph(%x: tensor<4xf32> {weft.name = "x"}) -> tensor<4xf32> {
  %y = func.call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
