// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-verify-form=form=sharded --split-input-file | FileCheck %s

// A dense layer: rows come from the data, columns from the weights.

weft.mesh @mesh = <["data"=2, "model"=4]>
// CHECK-LABEL: func.func @dense
// CHECK-SAME: -> (tensor<8x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {"model"}]>})
func.func @dense(
    %x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>})
    -> tensor<8x32xf32> {
  // CHECK: weft.dot_general
  // CHECK-SAME: weft.shardings = [#weft.sharding<@mesh, [{"data"}, {"model"}]>]
  %y = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  // CHECK: math.tanh
  // CHECK-SAME: weft.shardings = [#weft.sharding<@mesh, [{"data"}, {"model"}]>]
  %z = math.tanh %y : tensor<8x32xf32>
  return %z : tensor<8x32xf32>
}

// -----

// Nothing annotated: everything is replicated.

weft.mesh @mesh = <["data"=2]>
// CHECK-LABEL: func.func @nothing
// CHECK-SAME: %{{.*}}: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}
// CHECK: arith.negf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}]>]
func.func @nothing(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = arith.negf %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A program without a mesh runs on one device.

// CHECK: weft.mesh @mesh = <[]>
// CHECK-LABEL: func.func @one_device
// CHECK-SAME: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}
func.func @one_device(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = arith.negf %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A contraction spreads between the operands and leaves the result alone.

weft.mesh @mesh = <["model"=4]>
// CHECK-LABEL: func.func @contracting
// CHECK-SAME: %{{.*}}: tensor<16x32xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>}
func.func @contracting(
    %x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  // CHECK: weft.dot_general
  // CHECK-SAME: weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]
  %y = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// A batch dimension is split alike in all three tensors.

weft.mesh @mesh = <["heads"=4]>
// CHECK-LABEL: func.func @batched
func.func @batched(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>)
    -> (tensor<4x8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"heads"}, {}, {}]>}) {
  // CHECK: weft.dot_general
  // CHECK-SAME: weft.shardings = [#weft.sharding<@mesh, [{"heads"}, {}, {}]>]
  // CHECK-NOT: [{}, {}, {}]
  %s = weft.dot_general %q, %k batching = [0] x [0] contracting = [2] x [2]
      : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  return %s : tensor<4x8x8xf32>
}

// -----

// Shardings move backward from results, through transpose and reshape.

weft.mesh @mesh = <["a"=2, "b"=2]>
// CHECK-LABEL: func.func @backward
// CHECK-SAME: %{{.*}}: tensor<4x6x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"b"}, {}, {"a"}]>}
func.func @backward(%x: tensor<4x6x8xf32>)
    -> (tensor<8x24xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>}) {
  // CHECK: weft.transpose {{.*}}[{"a"}, {"b"}, {}]
  %t = weft.transpose %x dims = [2, 0, 1] : tensor<4x6x8xf32> -> tensor<8x4x6xf32>
  // CHECK: weft.reshape {{.*}}[{"a"}, {"b"}]
  %r = weft.reshape %t : tensor<8x4x6xf32> -> tensor<8x24xf32>
  return %r : tensor<8x24xf32>
}

// -----

// Splitting a dimension cuts its axis where a factor ends.

weft.mesh @mesh = <["a"=4]>
// CHECK-LABEL: func.func @sub_axes
func.func @sub_axes(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>})
    -> tensor<2x4xf32> {
  // CHECK: weft.reshape {{.*}}[{"a":(1)2}, {"a":(2)2}]
  %r = weft.reshape %x : tensor<8xf32> -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// -----

// Axes never leave a closed dimension for a strided one: of the merged
// dimension only the major part may be split.

weft.mesh @mesh = <["a"=2]>
// CHECK-LABEL: func.func @no_strides
func.func @no_strides(%x: tensor<2x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>})
    -> tensor<8xf32> {
  // CHECK: weft.reshape {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}]>]
  %r = weft.reshape %x : tensor<2x4xf32> -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// A reduction keeps the split of the dimensions that remain.

weft.mesh @mesh = <["a"=2, "b"=2]>
// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<8x6xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>})
    -> tensor<8xf32> {
  // CHECK: weft.reduce {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]
  %r = weft.reduce sum %x dims = [1] : tensor<8x6xf32> -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// A slice passes on only the dimensions that it takes whole.

weft.mesh @mesh = <["a"=2, "b"=2]>
// CHECK-LABEL: func.func @slice
func.func @slice(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>})
    -> tensor<8x4xf32> {
  // CHECK: weft.slice {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]
  %r = weft.slice %x starts = [0, 2] limits = [8, 6] strides = [1, 1]
      : tensor<8x8xf32> -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
