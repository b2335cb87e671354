// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-insert-reshards --weft-localize --weft-verify-form=form=spmd --split-input-file | FileCheck %s

weft.mesh @mesh = <["data"=2, "model"=4]>

// Rows of a table split by rows: a device looks up what it holds, and offers
// zeros for the rest; what moves are the rows taken, not the table.
// CHECK-LABEL: func.func @embedding
// CHECK-SAME:      %[[T:.*]]: tensor<2500x64xf32> {{.*}}, %[[I:.*]]: tensor<2x3xi32>
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0> : tensor<2x3xi32>
// CHECK-NEXT:    %[[LOW:.*]] = arith.maxsi %[[I]], %[[ZERO]]
// CHECK-NEXT:    %[[LAST:.*]] = arith.constant dense<9999> : tensor<2x3xi32>
// CHECK-NEXT:    %[[IN:.*]] = arith.minsi %[[LOW]], %[[LAST]]
// CHECK:         weft.position over <@mesh, {"model"}>
// CHECK:         %[[FIRST:.*]] = weft.broadcast %{{.*}} dims = [] : tensor<i32> -> tensor<2x3xi32>
// CHECK-NEXT:    %[[AT:.*]] = arith.subi %[[IN]], %[[FIRST]] : tensor<2x3xi32>
// CHECK:         %[[SIZE:.*]] = arith.constant dense<2500> : tensor<2x3xi32>
// CHECK-NEXT:    %[[HERE:.*]] = arith.cmpi ult, %[[AT]], %[[SIZE]]
// CHECK-NEXT:    %[[ROWS:.*]] = weft.gather %[[T]], %[[AT]] dim = 0 : (tensor<2500x64xf32>, tensor<2x3xi32>) -> tensor<2x3x64xf32>
// CHECK-NEXT:    %[[HERES:.*]] = weft.broadcast %[[HERE]] dims = [0, 1] : tensor<2x3xi1> -> tensor<2x3x64xi1>
// CHECK:         %[[TERM:.*]] = arith.select %[[HERES]], %[[ROWS]], %{{.*}}
// CHECK-NEXT:    weft.all_reduce sum %[[TERM]] over <@mesh, {"model"}>
func.func @embedding(
    %t: tensor<10000x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %i: tensor<4x3xi32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4x3x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>}) {
  %r = weft.gather %t, %i dim = 0 {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}, {}]>]}
      : (tensor<10000x64xf32>, tensor<4x3xi32>) -> tensor<4x3x64xf32>
  return %r : tensor<4x3x64xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// What is known of each index is brought into the order of what is taken.
// CHECK-LABEL: func.func @batching_in_another_order
// CHECK:         weft.gather %{{.*}}, %{{.*}} dim = 1 batching = [2, 0] x [2, 1] : (tensor<4x500x8xf32>, tensor<3x4x8xi64>) -> tensor<4x3x8xf32>
// CHECK-NEXT:    %[[ORDERED:.*]] = weft.transpose %{{.*}} dims = [1, 0, 2] : tensor<3x4x8xi1> -> tensor<4x3x8xi1>
// CHECK-NEXT:    %[[HERE:.*]] = weft.broadcast %[[ORDERED]] dims = [0, 1, 2] : tensor<4x3x8xi1> -> tensor<4x3x8xi1>
// CHECK:         arith.select %[[HERE]]
// CHECK:         weft.all_reduce
func.func @batching_in_another_order(
    %t: tensor<4x1000x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}, {}]>},
    %i: tensor<3x4x8xi64>) -> tensor<4x3x8xf32> {
  %r = weft.gather %t, %i dim = 1 batching = [2, 0] x [2, 1]
      : (tensor<4x1000x8xf32>, tensor<3x4x8xi64>) -> tensor<4x3x8xf32>
  return %r : tensor<4x3x8xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// A table that is smaller than what is taken is gathered instead.
// CHECK-LABEL: func.func @small_table
// CHECK:         %[[T:.*]] = weft.all_gather %{{.*}} dim = 0
// CHECK-NEXT:    weft.gather %[[T]], %{{.*}} dim = 0
// CHECK-NEXT:    return
func.func @small_table(
    %t: tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
    %i: tensor<1000xi32>) -> tensor<1000x8xf32> {
  %r = weft.gather %t, %i dim = 0 : (tensor<4x8xf32>, tensor<1000xi32>) -> tensor<1000x8xf32>
  return %r : tensor<1000x8xf32>
}

// -----

weft.mesh @mesh = <["data"=2, "model"=4]>

// The gradient of the table: devices have terms for their part of the batch,
// and drop what belongs to the rows of others.
// CHECK-LABEL: func.func @embedding_gradient
// CHECK-SAME:      %[[U:.*]]: tensor<2x3x64xf32> {{.*}}, %[[I:.*]]: tensor<2x3xi32>
// CHECK:         weft.position over <@mesh, {"model"}>
// CHECK:         %[[AT:.*]] = arith.subi %[[I]], %{{.*}}
// CHECK-NEXT:    %[[TERM:.*]] = weft.scatter_add %[[U]], %[[AT]] dim = 0 : (tensor<2x3x64xf32>, tensor<2x3xi32>) -> tensor<2500x64xf32>
// CHECK-NEXT:    weft.all_reduce sum %[[TERM]] over <@mesh, {"data"}>
func.func @embedding_gradient(
    %u: tensor<4x3x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>},
    %i: tensor<4x3xi32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<10000x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>}) {
  %r = weft.scatter_add %u, %i dim = 0 {weft.shardings = [#weft.sharding<@mesh, [{"model"}, {}]>]}
      : (tensor<4x3x64xf32>, tensor<4x3xi32>) -> tensor<10000x64xf32>
  return %r : tensor<10000x64xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// A split batching dimension needs nothing of other devices.
// CHECK-LABEL: func.func @take_along_axis
// CHECK:         weft.gather %{{.*}}, %{{.*}} dim = 1 batching = [0] x [0] : (tensor<4x50xf32>, tensor<4xi32>) -> tensor<4xf32>
// CHECK-NEXT:    weft.scatter_add %{{.*}}, %{{.*}} dim = 1 batching = [0] x [0] : (tensor<4xf32>, tensor<4xi32>) -> tensor<4x50xf32>
// CHECK-NEXT:    return
func.func @take_along_axis(
    %x: tensor<8x50xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
    %i: tensor<8xi32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>})
    -> (tensor<8x50xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) {
  %r = weft.gather %x, %i dim = 1 batching = [0] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]}
      : (tensor<8x50xf32>, tensor<8xi32>) -> tensor<8xf32>
  %s = weft.scatter_add %r, %i dim = 1 batching = [0] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]}
      : (tensor<8xf32>, tensor<8xi32>) -> tensor<8x50xf32>
  return %s : tensor<8x50xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// Terms of a table pass through, those of indices are reduced first.
// CHECK-LABEL: func.func @terms
// CHECK:         %[[I:.*]] = weft.all_reduce sum %{{.*}} over <@mesh, {"a"}> {{.*}} : tensor<4xi32>
// CHECK-NEXT:    %[[R:.*]] = weft.gather %{{.*}}, %[[I]] dim = 0
// CHECK-NEXT:    weft.all_reduce sum %[[R]] over <@mesh, {"a"}> {{.*}} : tensor<4xf32>
func.func @terms(
    %t: tensor<1000xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"a"}>},
    %i: tensor<4xi32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"a"}>})
    -> tensor<4xf32> {
  %r = weft.gather %t, %i dim = 0 : (tensor<1000xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// A slice of a split dimension is a lookup at known places: what moves is the
// slice. The other dimension is cut first.
// CHECK-LABEL: func.func @slice
// CHECK-SAME:      %[[X:.*]]: tensor<25x8xf32>
// CHECK:         %[[CUT:.*]] = weft.slice %[[X]] starts = [0, 2] limits = [25, 6] strides = [1, 1] : tensor<25x8xf32> -> tensor<25x4xf32>
// CHECK-NEXT:    %[[COUNT:.*]] = weft.iota dim = 0 : tensor<8xi32>
// CHECK:         %[[STEPS:.*]] = arith.muli %[[COUNT]], %{{.*}} : tensor<8xi32>
// CHECK:         %[[PLACES:.*]] = arith.addi %[[STEPS]], %{{.*}} : tensor<8xi32>
// CHECK:         %[[AT:.*]] = arith.subi %[[PLACES]], %{{.*}}
// CHECK:         %[[HERE:.*]] = arith.cmpi ult, %[[AT]]
// CHECK-NEXT:    %[[ROWS:.*]] = weft.gather %[[CUT]], %[[AT]] dim = 0 : (tensor<25x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
// CHECK:         %[[TERM:.*]] = arith.select %{{.*}}, %[[ROWS]]
// CHECK-NEXT:    weft.reduce_scatter sum %[[TERM]] dim = 0 over <@mesh, {"a"}> {{.*}} : tensor<8x4xf32> -> tensor<2x4xf32>
func.func @slice(%x: tensor<100x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) {
  %s = weft.slice %x starts = [10, 2] limits = [26, 6] strides = [2, 1]
      {weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]} : tensor<100x8xf32> -> tensor<8x4xf32>
  return %s : tensor<8x4xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// Places that i32 reaches, of parts that begin where it does not.
// CHECK-LABEL: func.func @slice_of_large
// CHECK:         weft.iota dim = 0 : tensor<8xi64>
// CHECK:         arith.extsi %{{.*}} : tensor<i32> to tensor<i64>
// CHECK:         weft.gather {{.*}} : (tensor<2147483648xi8>, tensor<8xi64>) -> tensor<8xi8>
func.func @slice_of_large(%x: tensor<8589934592xi8> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>})
    -> (tensor<8xi8> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %s = weft.slice %x starts = [0] limits = [8] strides = [1]
      {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} : tensor<8589934592xi8> -> tensor<8xi8>
  return %s : tensor<8xi8>
}

// -----

weft.mesh @mesh = <["a"=4]>

// The three parts of a fused projection need all of it, and gather it once.
// CHECK-LABEL: func.func @fused_projection
// CHECK:         %[[X:.*]] = weft.all_gather %{{.*}} dim = 1
// CHECK-NOT:     weft.all_gather
// CHECK:         weft.slice %[[X]] starts = [0, 0]
// CHECK:         weft.slice %[[X]] starts = [0, 64]
// CHECK:         weft.slice %[[X]] starts = [0, 128]
// CHECK-NOT:     weft.reduce_scatter
// CHECK:         return
func.func @fused_projection(%x: tensor<8x192xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>})
    -> (tensor<8x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>},
        tensor<8x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>},
        tensor<8x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>}) {
  %q = weft.slice %x starts = [0, 0] limits = [8, 64] strides = [1, 1]
      {weft.shardings = [#weft.sharding<@mesh, [{}, {"a"}]>]} : tensor<8x192xf32> -> tensor<8x64xf32>
  %k = weft.slice %x starts = [0, 64] limits = [8, 128] strides = [1, 1]
      {weft.shardings = [#weft.sharding<@mesh, [{}, {"a"}]>]} : tensor<8x192xf32> -> tensor<8x64xf32>
  %v = weft.slice %x starts = [0, 128] limits = [8, 192] strides = [1, 1]
      {weft.shardings = [#weft.sharding<@mesh, [{}, {"a"}]>]} : tensor<8x192xf32> -> tensor<8x64xf32>
  return %q, %k, %v : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}
