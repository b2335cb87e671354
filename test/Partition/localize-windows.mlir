// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-localize --weft-verify-form=form=spmd | FileCheck %s
// RUN: shard-opt %s --weft-localize=keep-cpu-instructions --weft-verify-form=form=spmd | FileCheck %s --check-prefix=KEPT
// KEPT-LABEL: func.func @same
// KEPT: weft.exchange
// KEPT: weft.convolution %{{.*}} low = [0, 1] high = [0, 1]

// What windows cover of the shards of others is exchanged: of each map one
// segment before the shard, and one behind, for each element of a halo.

weft.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @same
// CHECK-SAME:    %[[X:.*]]: tensor<2x8x6x3xf32>
// CHECK:         %[[H:.*]] = weft.exchange %[[X]] dim = 1 over <@mesh, {"x"}>
// CHECK-SAME:        map <[8] to [1, 8, 1], 7 to 1 for 3 by 8, 0 to 4 for 32, 8 to 36 for 3 by 8>
// CHECK-SAME:        {cause = "what windows cover of \22arg0\22 along dimension 1, split over {\22x\22}"} : tensor<2x8x6x3xf32> -> tensor<2x10x6x3xf32>
// CHECK:         arith.select
// CHECK-NOT:     weft.convolution
// CHECK-NOT:     weft.exchange
// CHECK:         weft.dot_general
func.func @same(%x: tensor<2x32x6x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}, {}]>}, %w: tensor<3x3x3x4xf32>)
    -> (tensor<2x32x6x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  %r = weft.convolution %x, %w strides = [1, 1] low = [1, 1] high = [1, 1] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 {weft.shardings = [#weft.sharding<@mesh, [{}, {"x"}, {}, {}]>]} : (tensor<2x32x6x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x32x6x4xf32>
  return %r : tensor<2x32x6x4xf32>
}

// Two dimensions: the second exchange has the corners.
// CHECK-LABEL: func.func @two_dimensions
// CHECK:         weft.exchange %{{.*}} dim = 1 over <@mesh, {"x"}> {{.*}} : tensor<2x4x3x3xf32> -> tensor<2x6x3x3xf32>
// CHECK:         weft.exchange %{{.*}} dim = 2 over <@mesh, {"y"}> {{.*}} : tensor<2x6x3x3xf32> -> tensor<2x6x5x3xf32>
func.func @two_dimensions(%x: tensor<2x16x6x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}, %w: tensor<3x3x3x4xf32>)
    -> (tensor<2x16x6x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) {
  %r = weft.convolution %x, %w strides = [1, 1] low = [1, 1] high = [1, 1] lhs_dilation = [1, 1] rhs_dilation = [1, 1] groups = 1 {weft.shardings = [#weft.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>]} : (tensor<2x16x6x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x16x6x4xf32>
  return %r : tensor<2x16x6x4xf32>
}

// Windows of two at a distance of two lie in a shard each.
// CHECK-LABEL: func.func @nothing_moves
// CHECK-NOT:     weft.exchange
// CHECK:         return
func.func @nothing_moves(%x: tensor<2x32x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<2x16x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %r = weft.reduce_window max %x dim = 1 size = 2 stride = 2 dilation = 1 {weft.shardings = [#weft.sharding<@mesh, [{}, {"x"}, {}]>]} : tensor<2x32x3xf32> -> tensor<2x16x3xf32>
  return %r : tensor<2x16x3xf32>
}

// The derivative by the kernel: partial sums over the devices.
// CHECK-LABEL: func.func @of_kernel
// CHECK:         weft.exchange %{{.*}} dim = 1 over <@mesh, {"x"}> map <[8] to [1, 8, 1]
// CHECK:         weft.all_reduce sum
func.func @of_kernel(%x: tensor<3x32x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>}, %g: tensor<32x4x5xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}, {}]>})
    -> tensor<3x3x5xf32> {
  %r = weft.convolution %x, %g strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] groups = 1 {weft.shardings = [#weft.sharding<@mesh, [{}, {}, {}], unreduced={"x"}>]} : (tensor<3x32x4xf32>, tensor<32x4x5xf32>) -> tensor<3x3x5xf32>
  %s = weft.reshard %r <@mesh, [{}, {}, {}]> : tensor<3x3x5xf32>
  return %s : tensor<3x3x5xf32>
}

// What windows add to elements of others is sent to them.
// CHECK-LABEL: func.func @transpose
// CHECK:         weft.exchange %{{.*}} dim = 1 over <@mesh, {"x"}> map <[1] to [1], 0 to 1 for 3> {cause = "what windows add to elements of others along dimension 1
func.func @transpose(%g: tensor<2x16x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<2x32x3xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %r = weft.spread_windows %g dim = 1 size = 3 stride = 2 dilation = 1 {high = 1 : i64, weft.shardings = [#weft.sharding<@mesh, [{}, {"x"}, {}]>]} : (tensor<2x16x3xf32>) -> tensor<2x32x3xf32>
  return %r : tensor<2x32x3xf32>
}
