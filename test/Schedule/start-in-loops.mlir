// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reductions of what a loop adds up begin beside its last iteration.
// RUN: shard-opt %s --split-input-file --weft-start-in-loops | FileCheck %s
// Threads without a core to spare would take turns with it.
// RUN: shard-opt %s --split-input-file --weft-start-in-loops=cluster=cpu-2core | FileCheck %s --check-prefix=TURNS
// TURNS-NOT: weft.behind
// RUN: shard-opt %s --split-input-file --weft-start-in-loops --weft-plan-memory | FileCheck %s --check-prefix=PLANNED

weft.mesh @mesh = <["data"=2]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}

// Behind the instruction that makes the sum, in the order of those.
// CHECK-LABEL: @sums
// CHECK:         %[[SUMS:.*]]:2 = weft.repeat
// CHECK:         %[[Q:.*]] = weft.start all_reduce %[[SUMS]]#1 sum {{.*}}weft.behind = 1 : i64
// CHECK-NEXT:    %[[P:.*]] = weft.start all_reduce %[[SUMS]]#0 sum {{.*}}weft.behind = 3 : i64
// CHECK-NEXT:    weft.wait %[[P]]
// CHECK-NEXT:    weft.wait %[[Q]]
// PLANNED-LABEL: @sums
// PLANNED-SAME:  weft.arena_bytes = 320
func.func @sums(%x: tensor<16xf32> {weft.name = "x"})
    -> (tensor<16xf32> {weft.name = "s"}, tensor<16xf32> {weft.name = "t"}) {
  %zero = weft.launch @fill() : () -> tensor<16xf32>
  %other = weft.launch @fill() : () -> tensor<16xf32>
  %s:2 = weft.repeat 4 carry (%a = %zero, %b = %other) : (tensor<16xf32>, tensor<16xf32>) {
    %y = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
    %m = weft.launch @add(%b, %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %z = weft.launch @scale(%y) : (tensor<16xf32>) -> tensor<16xf32>
    %n = weft.launch @add(%a, %z) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    weft.yield %n, %m : tensor<16xf32>, tensor<16xf32>
  }
  %p = weft.start all_reduce %s#0 sum over <@mesh, {"data"}> : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %pw = weft.wait %p : !weft.pending<tensor<16xf32>>
  %q = weft.start all_reduce %s#1 sum over <@mesh, {"data"}> : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %qw = weft.wait %q : !weft.pending<tensor<16xf32>>
  return %pw, %qw : tensor<16xf32>, tensor<16xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}

// What another op reads behind the loop is not written over before.
// CHECK-LABEL: @read_behind
// CHECK-NOT:     weft.behind
func.func @read_behind(%x: tensor<16xf32> {weft.name = "x"})
    -> (tensor<16xf32> {weft.name = "s"}, tensor<16xf32> {weft.name = "t"}) {
  %zero = weft.launch @fill() : () -> tensor<16xf32>
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) {
    %n = weft.launch @add(%a, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    weft.yield %n : tensor<16xf32>
  }
  %t = weft.launch @scale(%s) : (tensor<16xf32>) -> tensor<16xf32>
  %p = weft.start all_reduce %s sum over <@mesh, {"data"}> : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %pw = weft.wait %p : !weft.pending<tensor<16xf32>>
  return %pw, %t : tensor<16xf32>, tensor<16xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}

// A shard of the sum is memory more: it begins in the loop only if there is
// room, as where the loop itself needs more before.
// CHECK-LABEL: @shards
// CHECK:         weft.start reduce_scatter %{{.*}} {weft.behind = 2 : i64}
// PLANNED-LABEL: @shards
// PLANNED-SAME:  weft.arena_bytes = 256
func.func @shards(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "s"}) {
  %zero = weft.launch @fill() : () -> tensor<16xf32>
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) {
    %y = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
    %z = weft.launch @scale(%y) : (tensor<16xf32>) -> tensor<16xf32>
    %n = weft.launch @add(%a, %z) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    weft.yield %n : tensor<16xf32>
  }
  %p = weft.start reduce_scatter %s sum dim = 0 over <@mesh, {"data"}> : tensor<16xf32> -> !weft.pending<tensor<8xf32>>
  %pw = weft.wait %p : !weft.pending<tensor<8xf32>>
  return %pw : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}

// CHECK-LABEL: @no_room
// CHECK-NOT:     weft.behind
func.func @no_room(%x: tensor<16xf32> {weft.name = "x"})
    -> (tensor<8xf32> {weft.name = "s"}, tensor<16xf32> {weft.name = "t"}) {
  %zero = weft.launch @fill() : () -> tensor<16xf32>
  %other = weft.launch @fill() : () -> tensor<16xf32>
  %s:2 = weft.repeat 4 carry (%a = %zero, %b = %other) : (tensor<16xf32>, tensor<16xf32>) {
    %n = weft.launch @add(%a, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %y = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
    %m = weft.launch @add(%b, %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    weft.yield %n, %m : tensor<16xf32>, tensor<16xf32>
  }
  %p = weft.start reduce_scatter %s#0 sum dim = 0 over <@mesh, {"data"}> : tensor<16xf32> -> !weft.pending<tensor<8xf32>>
  %pw = weft.wait %p : !weft.pending<tensor<8xf32>>
  return %pw, %s#1 : tensor<8xf32>, tensor<16xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}

// One collective of several sums begins behind the last of them, whose buffers
// are side by side from the beginning.
// CHECK-LABEL: @sums_in_one
// CHECK:         %[[SUMS:.*]]:2 = weft.repeat
// CHECK:         %[[FLAT:.*]] = weft.reshape %[[SUMS]]#0
// CHECK-NEXT:    %[[BOTH:.*]] = weft.concat %[[FLAT]], %[[SUMS]]#1
// CHECK-NEXT:    weft.start all_reduce %[[BOTH]] sum {{.*}}weft.behind = 3 : i64
// PLANNED-LABEL: @sums_in_one
// PLANNED-SAME:  weft.arena_bytes = 320
// PLANNED:       weft.repeat {{.*}}attributes {weft.offsets = array<i64: [[A:[0-9]+]], [[B:[0-9]+]]>}
// PLANNED:       weft.concat {{.*}}weft.offsets = array<i64: [[A]]>
// PLANNED:       weft.start {{.*}}in_place, weft.behind = 3 : i64, weft.offsets = array<i64: [[A]]>
// PLANNED:       weft.slice {{.*}}weft.offsets = array<i64: [[B]]>
func.func @sums_in_one(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "s"}) {
  %zero = weft.launch @fill() : () -> tensor<16xf32>
  %other = weft.launch @fill() : () -> tensor<16xf32>
  %s:2 = weft.repeat 4 carry (%a = %zero, %b = %other) : (tensor<16xf32>, tensor<16xf32>) {
    %y = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
    %m = weft.launch @add(%b, %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %z = weft.launch @scale(%y) : (tensor<16xf32>) -> tensor<16xf32>
    %n = weft.launch @add(%a, %z) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    weft.yield %n, %m : tensor<16xf32>, tensor<16xf32>
  }
  %t = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %flat = weft.reshape %s#0 : tensor<16xf32> -> tensor<16xf32>
  %c = weft.concat %flat, %s#1 dim = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %p = weft.start all_reduce %c sum over <@mesh, {"data"}> : tensor<32xf32> -> !weft.pending<tensor<32xf32>>
  %r = weft.wait %p : !weft.pending<tensor<32xf32>>
  %first = weft.slice %r starts = [0] limits = [16] strides = [1] : tensor<32xf32> -> tensor<16xf32>
  %second = weft.slice %r starts = [16] limits = [32] strides = [1] : tensor<32xf32> -> tensor<16xf32>
  %u = weft.launch @add(%first, %t) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %v = weft.launch @add(%u, %second) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %v : tensor<16xf32>
}
