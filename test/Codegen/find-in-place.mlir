// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-find-in-place | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#transposed = affine_map<(d0, d1) -> (d1, d0)>

// The documented example: each element of both operands is read when its
// result is written.
// CHECK: @add({{.*}}) -> tensor<4x4xf32> attributes {weft.in_place = array<i64: 0, 0, 1, 0>, weft.kernel}
func.func private @add(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// A transpose reads elements after their places are written.
// CHECK: @transpose({{.*}}) -> tensor<4x4xf32> attributes {weft.kernel}
func.func private @transpose(%a: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [#transposed, #map], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%x: f32, %out: f32):
    linalg.yield %x : f32
  } -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Views, maps and reshapes in which each element keeps its number.
// CHECK: @views({{.*}}attributes {weft.in_place = array<i64: 0, 0>, weft.kernel}
func.func private @views(%a: tensor<6x8xf32>) -> tensor<2x24xf32> attributes {weft.kernel} {
  %v = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
  %e = tensor.empty() : tensor<2x3x8xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x3x8xf32>) outs(%e : tensor<2x3x8xf32>) {
  ^bb0(%x: f32, %out: f32):
    %s = arith.negf %x : f32
    linalg.yield %s : f32
  } -> tensor<2x3x8xf32>
  %w = tensor.collapse_shape %n [[0], [1, 2]] : tensor<2x3x8xf32> into tensor<2x24xf32>
  %f = tensor.empty() : tensor<2x24xf32>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<2x24xf32>) outs(%f : tensor<2x24xf32>) {
  ^bb0(%x: f32, %out: f32):
    %s = math.absf %x : f32
    linalg.yield %s : f32
  } -> tensor<2x24xf32>
  return %r : tensor<2x24xf32>
}

// Rows in another order, and a row that others are shifted by.
// CHECK: @rotated({{.*}}attributes {weft.kernel}
func.func private @rotated(%a: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {weft.kernel} {
  %s = tensor.extract_slice %a[1, 0] [3, 4] [1, 1] : tensor<4x4xf32> to tensor<3x4xf32>
  %h = tensor.extract_slice %a[0, 0] [1, 4] [1, 1] : tensor<4x4xf32> to tensor<1x4xf32>
  %r = tensor.concat dim(0) %s, %h : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// A table is read where an index says.
// CHECK: @gathered({{.*}}attributes {weft.in_place = array<i64: 1, 0>, weft.kernel}
func.func private @gathered(%table: tensor<4xi32>, %at: tensor<4xi32>) -> tensor<4xi32> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%at : tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%i: i32, %out: i32):
    %index = arith.index_cast %i : i32 to index
    %x = tensor.extract %table[%index] : tensor<4xi32>
    linalg.yield %x : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}
