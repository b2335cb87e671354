// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-ptx=max-batch=2 --verify-diagnostics

// Several blocks add up a bias gradient, and count themselves.
#map = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
// expected-error @below {{is launched for 2 sets of arguments at once, which would share its workspace}}
func.func private @bias(%d: tensor<8192x64xf32>) -> tensor<64xf32> attributes {weft.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#map, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%d : tensor<8192x64xf32>) outs(%i : tensor<64xf32>) {
  ^bb0(%x: f32, %out: f32):
    %y = arith.addf %x, %out : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
