// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Times are counted in picoseconds, of which an integer holds enough for months.

// RUN: sed 's/^bf16 = .*/bf16 = 1e6/; s/^memory_bytes_per_second.*/memory_bytes_per_second = 1e6/' %S/../Partition/Inputs/uniform.toml > %t.toml
// RUN: not shard-opt %s --weft-start-collectives=cluster=%t.toml 2>&1 | FileCheck %s
// CHECK: start-collectives-errors.mlir:[[#@LINE+2]]:1: error: takes 1e6 seconds or more on the cluster "{{.*}}.toml"; look at its rates and latencies
weft.mesh @mesh = <["data"=2]>
func.func @step(%x: tensor<1024x1024x1024xbf16>) -> tensor<1024x1024x1024xbf16> {
  %y = weft.gemm %x, %x batch = 1 m = 1048576 n = 1024 k = 1024 strides = [1073741824, 1024, 1] x [1073741824, 1, 1024] -> [1073741824, 1024, 1]
      : (tensor<1024x1024x1024xbf16>, tensor<1024x1024x1024xbf16>) -> tensor<1024x1024x1024xbf16>
  return %y : tensor<1024x1024x1024xbf16>
}
