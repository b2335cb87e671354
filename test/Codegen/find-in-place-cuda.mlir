// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-find-in-place=cuda | FileCheck %s
// RUN: shard-opt %s --weft-find-in-place | FileCheck %s --check-prefix=CPU

#map = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#vector = affine_map<(d0) -> (d0)>

// The second result is made after the first has read all of %b: on a CPU it may
// write over it, on a GPU both are made at once.
// CHECK: @nests({{.*}}attributes {weft.in_place = array<i64: 0, 0>, weft.kernel}
// CPU: @nests({{.*}}attributes {weft.in_place = array<i64: 0, 0, 1, 1>, weft.kernel}
func.func private @nests(%a: tensor<8x8xf32>, %b: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) attributes {weft.kernel} {
  %e = tensor.empty() : tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [#map, #column, #map], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %f = tensor.empty() : tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]}
      ins(%b : tensor<8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%x: f32, %out: f32):
    %s = arith.negf %x : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %r, %n : tensor<8x8xf32>, tensor<8xf32>
}

// A sum over rows that is rounded is finished where it is complete, on a GPU;
// so %a is read once, and may be written over there.
// CHECK: @rounded_sum({{.*}}attributes {weft.in_place = array<i64: 0, 0>, weft.kernel}
func.func private @rounded_sum(%a: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4xbf16>) attributes {weft.kernel} {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %n = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%x: f32, %out: f32):
    %s = arith.negf %x : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %s = linalg.generic {indexing_maps = [#map, #column], iterator_types = ["reduction", "parallel"]}
      ins(%n : tensor<8x4xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%x: f32, %out: f32):
    %t = arith.addf %x, %out : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %f = tensor.empty() : tensor<4xbf16>
  %r = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]}
      ins(%s : tensor<4xf32>) outs(%f : tensor<4xbf16>) {
  ^bb0(%x: f32, %out: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<4xbf16>
  return %n, %r : tensor<8x4xf32>, tensor<4xbf16>
}

// The second result needs the exponentials again. A CPU has kept those of the
// row; a GPU may compute them again from %a, which must still be there.
// CHECK: @exponentials({{.*}}attributes {weft.in_place = array<i64: 0, 1>, weft.kernel}
// CPU: @exponentials({{.*}}attributes {weft.in_place = array<i64: 0, 0, 0, 1>, weft.kernel}
func.func private @exponentials(%a: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) attributes {weft.kernel} {
  %e = tensor.empty() : tensor<8x64xf32>
  %x = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%x: f32, %out: f32):
    %s = math.exp %x : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %sums = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %t = arith.addf %x0, %out : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  %f = tensor.empty() : tensor<8x64xf32>
  %q = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1) -> (d0)>, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sums : tensor<8x64xf32>, tensor<8xf32>) outs(%f : tensor<8x64xf32>) {
  ^bb0(%x0: f32, %y: f32, %out: f32):
    %s = arith.divf %x0, %y : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32>
  return %x, %q : tensor<8x64xf32>, tensor<8x64xf32>
}
