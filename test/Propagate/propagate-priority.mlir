// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --split-input-file | FileCheck %s

// Elementwise ops come before dots: the result takes "a" along its columns from
// the op behind it, although the dot would offer it along the rows.

weft.mesh @mesh = <["a"=2]>
// CHECK-LABEL: func.func @elementwise_first
func.func @elementwise_first(
    %x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
    %w: tensor<8x8xf32>)
    -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>}) {
  // CHECK: weft.dot_general {{.*}}[{}, {"a"}]
  %y = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = math.tanh %y : tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// -----

// A bias does not decide how the rows it is added to are split.

weft.mesh @mesh = <["a"=2]>
// CHECK-LABEL: func.func @broadcast_forward_last
func.func @broadcast_forward_last(
    %x: tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {?}]>},
    %b: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>})
    -> tensor<4x8xf32> {
  // CHECK: weft.broadcast {{.*}}[{"a"}, {}]
  %r = weft.broadcast %b dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  // CHECK: arith.addf {{.*}}[{"a"}, {}]
  %y = arith.addf %x, %r : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Elementwise ops of single uses come before those of several. %x has two uses,
// so its rows wait; the columns reach %y first, through its one use.

weft.mesh @mesh = <["a"=2]>
// CHECK-LABEL: func.func @single_use_first
func.func @single_use_first(
    %x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {?}]>},
    %v: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"a"}]>})
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: math.tanh {{.*}}[{}, {"a"}]
  %y = math.tanh %x : tensor<8x8xf32>
  // CHECK: arith.addf {{.*}}[{}, {"a"}]
  %z = arith.addf %y, %v : tensor<8x8xf32>
  return %z, %x : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// The user's priorities come before everything: p0 rows win ...

weft.mesh @mesh = <["a"=2]>
// CHECK-LABEL: func.func @rows_first
func.func @rows_first(
    %x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}p0, {?}]>},
    %w: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"a"}p1]>})
    -> tensor<8x8xf32> {
  // CHECK: weft.dot_general {{.*}}[{"a"}, {}]
  %y = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// ... or p0 columns do.

weft.mesh @mesh = <["a"=2]>
// CHECK-LABEL: func.func @columns_first
func.func @columns_first(
    %x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}p1, {?}]>},
    %w: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"a"}p0]>})
    -> tensor<8x8xf32> {
  // CHECK: weft.dot_general {{.*}}[{}, {"a"}]
  %y = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
