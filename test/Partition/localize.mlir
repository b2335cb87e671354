// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-insert-reshards --weft-localize --weft-verify-form=form=spmd --split-input-file | FileCheck %s

// The example of the pass: the terms of a product, wanted whole and wanted
// split.

weft.mesh @mesh = <["data"=2, "model"=4]>

// CHECK-LABEL: func.func @contracting_dim_split
// CHECK-SAME:      %[[X:.*]]: tensor<8x4xf32> {weft.global_type = tensor<8x16xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>}
// CHECK-SAME:      %[[W:.*]]: tensor<4x8xf32>
// CHECK-SAME:      -> (tensor<8x8xf32> {weft.global_type = tensor<8x8xf32>
// CHECK:         %[[A:.*]] = weft.dot_general %[[X]], %[[W]] contracting = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
// CHECK:         %[[B:.*]] = weft.dot_general
// CHECK-NEXT:    %[[SUM:.*]] = weft.all_reduce sum %[[A]] over <@mesh, {"model"}> {cause = "partial sums over {\22model\22} of weft.dot_general ({{.*}}), needed as [{}, {}] by result \22whole\22"} : tensor<8x8xf32>
// CHECK-NEXT:    %[[PART:.*]] = weft.reduce_scatter sum %[[B]] dim = 0 over <@mesh, {"model"}> {{.*}} : tensor<8x8xf32> -> tensor<2x8xf32>
// CHECK-NEXT:    return %[[SUM]], %[[PART]]
func.func @contracting_dim_split(
    %x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %w: tensor<16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x8xf32> {weft.name = "whole"},
        tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>}) {
  %a = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %b = weft.dot_general %x, %w contracting = [1] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"model"}, {}]>]}
      : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=2]>

// CHECK-LABEL: func.func @moves
// CHECK-SAME:      %[[X:[a-z0-9]*]]: tensor<4x8xf32> {{.*}}, %[[Y:[a-z0-9]*]]: tensor<4x8xf32> {{.*}}, %[[Z:[a-z0-9]*]]: tensor<4x8xf32>
// CHECK:         weft.all_gather %[[X]] dim = 0 over <@mesh, {"a"}> {{.*}} : tensor<4x8xf32> -> tensor<8x8xf32>
// CHECK:         weft.all_slice %[[X]] dim = 1 over <@mesh, {"b"}> {{.*}} : tensor<4x8xf32> -> tensor<4x4xf32>
// CHECK:         weft.all_to_all %[[Y]] split = 1 concat = 0 over <@mesh, {"a"}> {{.*}} : tensor<4x8xf32> -> tensor<8x4xf32>
// CHECK:         weft.permute %[[Z]] from <@mesh, {"a"}> to <@mesh, {"b"}> {{.*}} : tensor<4x8xf32>
func.func @moves(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
                 %y: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
                 %z: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<8x8xf32>,
        tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}]>},
        tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>},
        tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"b"}, {}]>}) {
  return %x, %x, %y, %z : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// Half of a gather: "a" is seen as two digits.
// CHECK-LABEL: func.func @sub_axis
// CHECK:         weft.all_gather %{{.*}} dim = 0 over <@mesh, {"a":(2)2}> {{.*}} : tensor<2xf32> -> tensor<4xf32>
func.func @sub_axis(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a":(1)2}]>}) {
  return %x : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["data"=2, "model"=2]>

// Data parallel: one reduction a gradient, whatever its users.
// CHECK-LABEL: func.func @data_parallel
// CHECK:         weft.dot_general
// CHECK-NEXT:    %[[G:.*]] = weft.all_reduce sum %{{.*}} over <@mesh, {"data"}>
// CHECK-NEXT:    arith.subf %{{.*}}, %[[G]]
// CHECK-NOT:     weft.all_reduce
// CHECK:         return
func.func @data_parallel(
    %x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %dy: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %g = weft.dot_general %x, %dy contracting = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %new = arith.subf %w, %g : tensor<4x4xf32>
  return %new : tensor<4x4xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// A device counts from its place in the whole.
// CHECK-LABEL: func.func @iota
// CHECK:         %[[COUNT:.*]] = weft.iota dim = 0 : tensor<4x3xi32>
// CHECK-NEXT:    %[[POSITION:.*]] = weft.position over <@mesh, {"a"}> : tensor<i32>
// CHECK-NEXT:    %[[SIZE:.*]] = arith.constant dense<4> : tensor<i32>
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.muli %[[POSITION]], %[[SIZE]] : tensor<i32>
// CHECK-NEXT:    %[[OFFSETS:.*]] = weft.broadcast %[[OFFSET]] dims = [] : tensor<i32> -> tensor<4x3xi32>
// CHECK-NEXT:    arith.addi %[[COUNT]], %[[OFFSETS]] : tensor<4x3xi32>
// CHECK-NEXT:    weft.iota dim = 1 : tensor<4x3xi32>
// CHECK:         arith.extsi %{{.*}} : tensor<i32> to tensor<i64>
// CHECK:         arith.trunci %{{.*}} : tensor<i32> to tensor<i8>
// CHECK:         weft.iota dim = 0 : tensor<4xi32>
// CHECK:         arith.sitofp %{{.*}} : tensor<4xi32> to tensor<4xbf16>
func.func @iota() -> (tensor<8x3xi32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
                      tensor<8x3xi32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
                      tensor<8xi64> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>},
                      tensor<8xi8> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>},
                      tensor<8xbf16> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %i = weft.iota dim = 0 {weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]} : tensor<8x3xi32>
  %j = weft.iota dim = 1 {weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]} : tensor<8x3xi32>
  %k = weft.iota dim = 0 {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} : tensor<8xi64>
  %l = weft.iota dim = 0 {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} : tensor<8xi8>
  %m = weft.iota dim = 0 {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} : tensor<8xbf16>
  return %i, %j, %k, %l, %m : tensor<8x3xi32>, tensor<8x3xi32>, tensor<8xi64>, tensor<8xi8>, tensor<8xbf16>
}

// -----

weft.mesh @mesh = <["a"=2]>

// Counts that i32 does not reach are formed in i64.
// CHECK-LABEL: func.func @large_float_iota
// CHECK:         weft.iota dim = 0 : tensor<1073741825xi64>
// CHECK-NEXT:    %[[POSITION:.*]] = weft.position over <@mesh, {"a"}> : tensor<i32>
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extsi %[[POSITION]] : tensor<i32> to tensor<i64>
// CHECK-NEXT:    %[[SIZE:.*]] = arith.constant dense<1073741825> : tensor<i64>
// CHECK-NEXT:    arith.muli %[[WIDE]], %[[SIZE]] : tensor<i64>
// CHECK:         arith.sitofp %{{.*}} : tensor<1073741825xi64> to tensor<1073741825xf32>
func.func @large_float_iota() -> (tensor<2147483650xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %i = weft.iota dim = 0 {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} : tensor<2147483650xf32>
  return %i : tensor<2147483650xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// CHECK-LABEL: func.func @constants
// CHECK:         %[[UNIFORM:.*]] = arith.constant dense<1.000000e+00> : tensor<2xf32>
// CHECK-NEXT:    %[[WHOLE:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT:    %[[PART:.*]] = weft.all_slice %[[WHOLE]] dim = 0 over <@mesh, {"a"}>
// CHECK-NEXT:    arith.addf %[[UNIFORM]], %[[PART]] : tensor<2xf32>
func.func @constants() -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %u = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} dense<1.0> : tensor<4xf32>
  %d = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = arith.addf %u, %d {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// Local forms of the ops that speak of sizes.
// CHECK-LABEL: func.func @shapes
// CHECK:         weft.slice %{{.*}} starts = [0, 1] limits = [4, 3] strides = [1, 1] : tensor<4x4xf32> -> tensor<4x2xf32>
// CHECK-NEXT:    weft.concat %{{.*}} dim = 1 : (tensor<4x2xf32>, tensor<4x4xf32>) -> tensor<4x6xf32>
// CHECK-NEXT:    weft.reshape %{{.*}} : tensor<4x6xf32> -> tensor<24xf32>
// CHECK-NEXT:    weft.broadcast %{{.*}} dims = [0] : tensor<24xf32> -> tensor<24x2xf32>
// CHECK-NEXT:    weft.reduce max %{{.*}} dims = [1] : tensor<24x2xf32> -> tensor<24xf32>
func.func @shapes(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<48xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %s = weft.slice %x starts = [0, 1] limits = [8, 3] strides = [1, 1] {weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]} : tensor<8x4xf32> -> tensor<8x2xf32>
  %c = weft.concat %s, %x dim = 1 {weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]} : (tensor<8x2xf32>, tensor<8x4xf32>) -> tensor<8x6xf32>
  %r = weft.reshape %c {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} : tensor<8x6xf32> -> tensor<48xf32>
  %b = weft.broadcast %r dims = [0] {weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]>]} : tensor<48xf32> -> tensor<48x2xf32>
  %m = weft.reduce max %b dims = [1] {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} : tensor<48x2xf32> -> tensor<48xf32>
  return %m : tensor<48xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// A whole value becomes terms: position 0 keeps it.
// CHECK-LABEL: func.func @becomes_unreduced
// CHECK-SAME:      %[[X:[a-z0-9]*]]: tensor<4xf32>
// CHECK:         %[[POSITION:.*]] = weft.position over <@mesh, {"a"}> : tensor<i32>
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %[[POSITION]], %{{.*}} : tensor<i32>
// CHECK:         %[[ALL:.*]] = weft.broadcast %[[FIRST]] dims = [] : tensor<i1> -> tensor<4xi1>
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK:         arith.select %[[ALL]], %[[X]], %[[ZERO]]
// CHECK:         arith.constant dense<0xFF800000> : tensor<4xf32>
// CHECK:         arith.constant dense<2147483647> : tensor<4xi32>
func.func @becomes_unreduced(%x: tensor<4xf32>, %y: tensor<4xi32>)
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"a"}>},
        tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced=max{"a"}>},
        tensor<4xi32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced=min{"a"}>}) {
  return %x, %x, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// No predicate is above true or below false.
// CHECK-LABEL: func.func @predicate_becomes_unreduced
// CHECK:         %[[FALSE:.*]] = arith.constant dense<false> : tensor<4xi1>
// CHECK:         %[[ANY:.*]] = arith.select %{{.*}}, %{{.*}}, %[[FALSE]]
// CHECK:         %[[TRUE:.*]] = arith.constant dense<true> : tensor<4xi1>
// CHECK:         %[[ALL:.*]] = arith.select %{{.*}}, %{{.*}}, %[[TRUE]]
// CHECK:         return %[[ANY]], %[[ALL]]
func.func @predicate_becomes_unreduced(%x: tensor<4xi1>)
    -> (tensor<4xi1> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced=max{"data"}>},
        tensor<4xi1> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced=min{"data"}>}) {
  return %x, %x : tensor<4xi1>, tensor<4xi1>
}

// -----

weft.mesh @mesh = <["data"=1]>

// On one device nothing changes.
// CHECK-LABEL: func.func @one_device
// CHECK-SAME:      tensor<8x4xf32> {weft.global_type = tensor<8x4xf32>, weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}
// CHECK-NEXT:    weft.reduce sum
// CHECK-NEXT:    return
func.func @one_device(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4xf32> {
  %s = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// CHECK-LABEL: func.func @two_results
// CHECK:         %{{.*}}, %{{.*}} = arith.mului_extended %{{.*}}, %{{.*}} : tensor<2xi32>
func.func @two_results(%x: tensor<4xi32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>})
    -> (tensor<4xi32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>},
        tensor<4xi32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %low, %high = arith.mului_extended %x, %x {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>, #weft.sharding<@mesh, [{"a"}]>]} : tensor<4xi32>
  return %low, %high : tensor<4xi32>, tensor<4xi32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// NCCL has no reductions of i16.
// CHECK-LABEL: func.func @shorts
// CHECK:         %[[OWN:.*]] = weft.reduce sum %{{.*}} dims = [0] : tensor<4x6xi16> -> tensor<6xi16>
// CHECK:         %[[WIDE:.*]] = arith.extsi %[[OWN]] : tensor<6xi16> to tensor<6xi32>
// CHECK-NEXT:    %[[SUM:.*]] = weft.all_reduce sum %[[WIDE]] over <@mesh, {"a"}> {{.*}} : tensor<6xi32>
// CHECK-NEXT:    arith.trunci %[[SUM]] : tensor<6xi32> to tensor<6xi16>
// CHECK:         %[[PART:.*]] = weft.reduce_scatter max %{{.*}} dim = 0 {{.*}} : tensor<6xi32> -> tensor<3xi32>
// CHECK-NEXT:    arith.trunci %[[PART]] : tensor<3xi32> to tensor<3xi16>
func.func @shorts(%x: tensor<8x6xi16> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<6xi16>, tensor<6xi16> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %sum = weft.reduce sum %x dims = [0] : tensor<8x6xi16> -> tensor<6xi16>
  %max = weft.reduce max %x dims = [0] : tensor<8x6xi16> -> tensor<6xi16>
  return %sum, %max : tensor<6xi16>, tensor<6xi16>
}
