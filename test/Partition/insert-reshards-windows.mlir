// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-insert-reshards | FileCheck %s

// Where propagation splits what windows are of and the windows alike, nothing is
// gathered, unless the halo is as large as the rest of the dimension.

weft.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @halo
// CHECK-NOT:     weft.reshard
// CHECK:         weft.convolution
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{}, {"x"}, {}]>]
func.func @halo(%x: tensor<2x32x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>}, %w: tensor<3x3x4xf32>) -> tensor<2x32x4xf32> {
  %r = weft.convolution %x, %w strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 1 : (tensor<2x32x3xf32>, tensor<3x3x4xf32>) -> tensor<2x32x4xf32>
  return %r : tensor<2x32x4xf32>
}

// CHECK-LABEL: func.func @whole
// CHECK:         %[[X:.*]] = weft.reshard %arg0 <@mesh, [{}, {}, {}]>
// CHECK:         weft.convolution %[[X]]
func.func @whole(%x: tensor<2x8x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>}, %w: tensor<7x3x4xf32>) -> tensor<2x8x4xf32> {
  %r = weft.convolution %x, %w strides = [1] low = [6] high = [6] lhs_dilation = [1] rhs_dilation = [2] groups = 1 : (tensor<2x8x3xf32>, tensor<7x3x4xf32>) -> tensor<2x8x4xf32>
  return %r : tensor<2x8x4xf32>
}

// The derivative by the kernel leaves partial sums.
// CHECK-LABEL: func.func @of_kernel
// CHECK-NOT:     weft.reshard %arg
// CHECK:         weft.convolution {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {}], unreduced={"x"}>]
func.func @of_kernel(%x: tensor<3x32x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>}, %g: tensor<32x4x5xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<3x3x5xf32> {
  %r = weft.convolution %x, %g strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 1 : (tensor<3x32x4xf32>, tensor<32x4x5xf32>) -> tensor<3x3x5xf32>
  return %r : tensor<3x3x5xf32>
}
