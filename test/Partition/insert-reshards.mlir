// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-insert-reshards --split-input-file | FileCheck %s

// The example of the pass: w1 by columns, w2 by rows. The second product has
// terms on the devices of "model"; the result wants their sum.

weft.mesh @mesh = <["data"=2, "model"=2]>

// CHECK-LABEL: func.func @columns_then_rows
// CHECK:         %[[H:.*]] = weft.dot_general
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{"data"}, {"model"}]>]
// CHECK:         %[[TERMS:.*]] = weft.dot_general %[[H]]
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}], unreduced={"model"}>]
// CHECK:         %[[Y:.*]] = weft.reshard %[[TERMS]] <@mesh, [{"data"}, {}]>
// CHECK-SAME:      cause = "partial sums over {\22model\22} of weft.dot_general ({{.*}}), needed as [{\22data\22}, {}] by result \22y\22"
// CHECK:         return %[[Y]]
func.func @columns_then_rows(
    %x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w1: tensor<16x32xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %w2: tensor<32x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x16xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %h = weft.dot_general %x, %w1 contracting = [1] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {"model"}]>]}
      : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %y = weft.dot_general %h, %w2 contracting = [1] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]}
      : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// Nothing to do where all agree; a constraint that says the same goes away.
// CHECK-LABEL: func.func @agreement
// CHECK-NOT:     weft.reshard
// CHECK-NOT:     weft.constraint
// CHECK:         return
func.func @agreement(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %c = weft.constraint %x <@mesh, [{"data"}, {}]> {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<8x4xf32>
  %y = math.exp %c {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

// The weight is gathered once, at its first use, for both of its uses; the
// gradient goes straight from terms to the shards of the weight.
// CHECK-LABEL: func.func @fully_sharded
// CHECK-SAME:      %[[X:.*]]: tensor<64x8xf32> {{.*}}, %[[W:.*]]: tensor<8x8xf32> {{.*}})
// CHECK:         %[[WHOLE:.*]] = weft.reshard %[[W]] <@mesh, [{}, {}]>
// CHECK-SAME:      cause = "\22w\22 held as [{\22data\22}, {}], needed as [{}, {}] by weft.dot_general
// CHECK-NEXT:    %[[H:.*]] = weft.dot_general %[[X]], %[[WHOLE]]
// CHECK-NEXT:    %[[DX:.*]] = weft.dot_general %[[H]], %[[WHOLE]]
// CHECK-NEXT:    %[[DW:.*]] = weft.dot_general %[[X]], %[[DX]]
// CHECK-SAME:      unreduced={"data"}
// CHECK-NEXT:    %[[SHARD:.*]] = weft.reshard %[[DW]] <@mesh, [{"data"}, {}]>
// CHECK-NEXT:    arith.addf %[[W]], %[[SHARD]]
func.func @fully_sharded(
    %x: tensor<64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<8x8xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x8xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %whole = weft.constraint %w <@mesh, [{}, {}]> {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<8x8xf32>
  %h = weft.dot_general %x, %whole contracting = [1] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]}
      : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %dx = weft.dot_general %h, %whole contracting = [1] x [1] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]}
      : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %dw = weft.dot_general %x, %dx contracting = [0] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]}
      : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %new = arith.addf %w, %dw {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<8x8xf32>
  return %new : tensor<8x8xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// Without the constraint the weight is gathered all the same: "data" already
// splits the rows of the result.
// CHECK-LABEL: func.func @axis_taken_by_another_factor
// CHECK-SAME:      %[[X:.*]]: tensor<64x8xf32> {{.*}}, %[[W:.*]]: tensor<8x8xf32>
// CHECK:         %[[WHOLE:.*]] = weft.reshard %[[W]] <@mesh, [{}, {}]>
// CHECK:         weft.dot_general %[[X]], %[[WHOLE]]
func.func @axis_taken_by_another_factor(
    %x: tensor<64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %h = weft.dot_general %x, %w contracting = [1] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]}
      : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  return %h : tensor<64x8xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// Two users want parts of the sum, one all of it: it is made whole, in one
// call, and the parts are taken of it.
// CHECK-LABEL: func.func @users_that_differ
// CHECK:         %[[SUM:.*]] = weft.reduce sum
// CHECK-SAME:      unreduced={"data"}
// CHECK-NEXT:    %[[WHOLE:.*]] = weft.reshard %[[SUM]] <@mesh, [{}]>
// CHECK-SAME:      needed as [{}] for several users, the first math.exp
// CHECK-NEXT:    %[[PART:.*]] = weft.reshard %[[WHOLE]] <@mesh, [{"data"}]>
// CHECK-SAME:      needed as [{\22data\22}] by math.exp
// CHECK-NEXT:    math.exp %[[PART]]
// CHECK-NEXT:    math.sqrt %[[PART]]
// CHECK-NOT:     weft.reshard
func.func @users_that_differ(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>}, tensor<4xf32>,
        tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>}) {
  %sum = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %p = weft.constraint %sum <@mesh, [{"data"}]> {weft.shardings = [#weft.sharding<@mesh, [{"data"}]>]} : tensor<4xf32>
  %a = math.exp %p {weft.shardings = [#weft.sharding<@mesh, [{"data"}]>]} : tensor<4xf32>
  %c = math.sqrt %p {weft.shardings = [#weft.sharding<@mesh, [{"data"}]>]} : tensor<4xf32>
  return %a, %sum, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// What nobody uses goes, and with it its reshards.
// CHECK-LABEL: func.func @dead
// CHECK-NEXT:    return
func.func @dead(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %c = weft.constraint %x <@mesh, [{}, {"data"}]> : tensor<8x4xf32>
  %y = math.exp %c {weft.shardings = [#weft.sharding<@mesh, [{}, {"data"}]>]} : tensor<8x4xf32>
  %s = weft.reduce sum %y dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %t = math.tanh %s : tensor<4xf32>
  return
}

// -----

weft.mesh @mesh = <["data"=2]>

// A slice of a split dimension leaves terms of its own size; a slice of nearly
// all is made of the gathered whole.
// CHECK-LABEL: func.func @slices
// CHECK-SAME:      %[[X:[a-z0-9]*]]: tensor<8x4xf32>
// CHECK:         %[[S:.*]] = weft.slice %[[X]] starts = [0, 0] limits = [2, 4]
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]
// CHECK-NEXT:    %[[WHOLE:.*]] = weft.reshard %{{.*}} <@mesh, [{}, {}]>
// CHECK-NEXT:    weft.slice %[[WHOLE]] starts = [0, 0] limits = [7, 4]
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]
// CHECK-NEXT:    weft.reshard %[[S]] <@mesh, [{"data"}, {}]>
// CHECK-NEXT:    return
func.func @slices(
    %x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %y: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<2x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}, tensor<7x4xf32>) {
  %s = weft.slice %x starts = [0, 0] limits = [2, 4] strides = [1, 1]
      {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<8x4xf32> -> tensor<2x4xf32>
  %t = weft.slice %y starts = [0, 0] limits = [7, 4] strides = [1, 1] : tensor<8x4xf32> -> tensor<7x4xf32>
  return %s, %t : tensor<2x4xf32>, tensor<7x4xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// Pads and concatenations are made of whole dimensions; others stay split.
// CHECK-LABEL: func.func @dimensions_taken_whole
// CHECK:         %[[X:.*]] = weft.reshard %{{.*}} <@mesh, [{}, {}]>
// CHECK-NEXT:    %[[P:.*]] = weft.pad %[[X]]
// CHECK:         weft.concat
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{}, {"data"}]>]
// CHECK-NEXT:    weft.reshard %[[P]] <@mesh, [{"data"}, {}]>
// CHECK-NEXT:    return
func.func @dimensions_taken_whole(
    %x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %y: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"data"}]>})
    -> (tensor<10x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<16x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"data"}]>}) {
  %p = weft.pad %x low = [2, 0] high = [0, 0] interior = [0, 0] value = 0.0 : f32
      {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<8x4xf32> -> tensor<10x4xf32>
  %c = weft.concat %y, %y dim = 0
      {weft.shardings = [#weft.sharding<@mesh, [{}, {"data"}]>]} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %p, %c : tensor<10x4xf32>, tensor<16x4xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4]>

// The result and the first operand agree; the second operand moves.
// CHECK-LABEL: func.func @majority
// CHECK-SAME:      %[[X:.*]]: tensor<8x8xf32> {{.*}}, %[[Y:.*]]: tensor<8x8xf32>
// CHECK:         %[[MOVED:.*]] = weft.reshard %[[Y]] <@mesh, [{"a"}, {}]>
// CHECK-NEXT:    arith.addf %[[X]], %[[MOVED]]
func.func @majority(
    %x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
    %y: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>})
    -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) {
  %s = arith.addf %x, %y {weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]} : tensor<8x8xf32>
  return %s : tensor<8x8xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4]>

// Major to minor: 4x8 is split by the sub-axis of "b" that the 4 has room for.
// CHECK-LABEL: func.func @reshape_by_parts
// CHECK-NOT:     weft.reshard
// CHECK:         weft.reshape
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{"a", "b":(1)2}, {"b":(2)2}]>]
// CHECK-NEXT:    return
func.func @reshape_by_parts(%x: tensor<32xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>})
    -> (tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "b":(1)2}, {"b":(2)2}]>}) {
  %r = weft.reshape %x {weft.shardings = [#weft.sharding<@mesh, [{"a", "b":(1)2}, {"b":(2)2}]>]} : tensor<32xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// [i j] of the result cannot be split by j alone, so j is gathered first.
// CHECK-LABEL: func.func @reshape_of_minor_split
// CHECK:         %[[X:.*]] = weft.reshard
// CHECK-NEXT:    weft.reshape %[[X]]
func.func @reshape_of_minor_split(%x: tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>})
    -> (tensor<32xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %r = weft.reshape %x {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} : tensor<4x8xf32> -> tensor<32xf32>
  return %r : tensor<32xf32>
}

// -----

weft.mesh @mesh = <["data"=1, "model"=1]>

// Axes of size 1 split nothing.
// CHECK-LABEL: func.func @one_device
// CHECK-NOT:     weft.reshard
// CHECK:         return
func.func @one_device(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}]>}) {
  %s = weft.reduce sum %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [{"model"}]>]} : tensor<8x4xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["one"=1, "a"=4]>

// Without the axis between them, the parts of "a" are the whole axis.
// CHECK-LABEL: func.func @parts_around_unit_axis
// CHECK-NOT:     weft.reshard
// CHECK:         weft.reduce {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]
func.func @parts_around_unit_axis(
    %x: tensor<4x8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a":(1)2, "one", "a":(2)2}, {}]>})
    -> (tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a":(1)2, "one", "a":(2)2}, {}]>}) {
  %s = weft.reduce sum %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [{"a":(1)2, "one", "a":(2)2}, {}]>]}
      : tensor<4x8x4xf32> -> tensor<8x4xf32>
  return %s : tensor<8x4xf32>
}

// -----

weft.mesh @mesh = <["model"=2]>

// A line that both ends of a movement have is named once.
// CHECK-LABEL: func.func @one_line
// CHECK:         cause = "partial sums over {\22model\22} of weft.dot_general (step.py:4), needed as [{}, {}] by math.tanh there"
// CHECK:         cause = "math.tanh (step.py:4) held as [{}, {}], needed as [{\22model\22}, {}] by math.exp (step.py:5)"
func.func @one_line(
    %x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %w: tensor<16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x8xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>}) {
  %h = weft.dot_general %x, %w contracting = [1] x [0] {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]}
      : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32> loc("step.py":4:5)
  %t = math.tanh %h {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<8x8xf32> loc("step.py":4:9)
  %y = math.exp %t {weft.shardings = [#weft.sharding<@mesh, [{"model"}, {}]>]} : tensor<8x8xf32> loc("step.py":5:5)
  return %y : tensor<8x8xf32>
}
