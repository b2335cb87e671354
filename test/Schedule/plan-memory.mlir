// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-plan-memory | FileCheck %s

// The documented example: w is a state, updated in place by the kernel that
// reads it last; the two temporaries share bytes with the input.
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}

// CHECK-LABEL: @init
// CHECK-SAME: weft.arena_bytes = 64 : i64, weft.liveness_bytes = 64 : i64
func.func @init() -> (tensor<16xf32> {weft.name = "w"}) {
  // CHECK-NOT: weft.copy
  // CHECK: weft.launch @fill() {weft.offsets = array<i64: 0>}
  %w = weft.launch @fill() : () -> tensor<16xf32>
  return %w : tensor<16xf32>
}
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}

// CHECK-LABEL: @step
// CHECK-SAME: weft.name = "w", weft.offset = 0 : i64
// CHECK-SAME: weft.name = "x", weft.offset = [[X:[0-9]+]] : i64
// CHECK-SAME: weft.arena_bytes = 192 : i64, weft.liveness_bytes = 192 : i64
func.func @step(%w: tensor<16xf32> {weft.name = "w"}, %x: tensor<16xf32> {weft.name = "x"})
    -> (tensor<16xf32> {weft.name = "w"}) {
  // CHECK: weft.launch @scale({{.*}}) {weft.offsets = array<i64: [[A:[0-9]+]]>}
  %a = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: weft.launch @scale({{.*}}) {weft.offsets = array<i64: [[X]]>}
  %b = weft.launch @scale(%a) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: weft.launch @add({{.*}}) in_place = [0] {weft.offsets = array<i64: 0>}
  %r = weft.launch @add(%w, %b) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NOT: weft.copy
  return %r : tensor<16xf32>
}

// CHECK-LABEL: @many
func.func @many(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "s"}) {
  // A temporary that dies is overwritten where the kernel allows.
  // CHECK: weft.launch @scale({{.*}}) {weft.offsets = array<i64: [[A:[0-9]+]]>}
  %a = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: weft.launch @add({{.*}}) in_place = [0] {weft.offsets = array<i64: [[A]]>}
  %b = weft.launch @add(%a, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // An input is not, nor is a value that is used again.
  // CHECK: weft.launch @add({{.*}}) {weft.offsets
  %c = weft.launch @add(%x, %b) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK: weft.launch @add({{.*}}) in_place = [0] {weft.offsets
  %d = weft.launch @add(%b, %c) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %d : tensor<16xf32>
}

// -----

// A kernel that may not write over the state writes elsewhere, if something
// else reads the state later as well; the copy comes last.
func.func private @shift(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}

// CHECK-LABEL: @read_later
func.func @read_later(%w: tensor<16xf32> {weft.name = "w"})
    -> (tensor<16xf32> {weft.name = "w"}, tensor<16xf32> {weft.name = "y"}) {
  // CHECK: %[[NEW:.*]] = weft.launch @shift(%[[OLD:.*]]) {weft.offsets
  %new = weft.launch @shift(%w) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: %[[Y:.*]] = weft.launch @shift(%[[OLD]])
  %y = weft.launch @shift(%w) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: %[[COPY:.*]] = weft.copy %[[NEW]] {weft.offsets = array<i64: 0>}
  // CHECK: return %[[COPY]], %[[Y]]
  return %new, %y : tensor<16xf32>, tensor<16xf32>
}

// A producer that runs after all readers writes to the state at once.
// CHECK-LABEL: @read_before
func.func @read_before(%w: tensor<16xf32> {weft.name = "w"}) -> (tensor<16xf32> {weft.name = "w"}) {
  // CHECK: weft.launch @shift
  %a = weft.launch @shift(%w) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: weft.launch @shift({{.*}}) {weft.offsets = array<i64: 0>}
  %r = weft.launch @shift(%a) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NOT: weft.copy
  return %r : tensor<16xf32>
}

// A state that stays as it is.
// CHECK-LABEL: @unchanged
func.func @unchanged(%w: tensor<16xf32> {weft.name = "w"}) -> (tensor<16xf32> {weft.name = "w"}) {
  // CHECK-NOT: weft.copy
  return %w : tensor<16xf32>
}

// -----

// Two states that swap: one is saved first.
// CHECK-LABEL: @swap
// CHECK-SAME: %[[A:.*]]: tensor<16xf32> {weft.name = "a", weft.offset = 0 : i64}, %[[B:.*]]: tensor<16xf32> {weft.name = "b", weft.offset = 64 : i64}
func.func @swap(%a: tensor<16xf32> {weft.name = "a"}, %b: tensor<16xf32> {weft.name = "b"})
    -> (tensor<16xf32> {weft.name = "a"}, tensor<16xf32> {weft.name = "b"}) {
  // CHECK-NEXT: %[[SAVED:.*]] = weft.copy %[[A]] {weft.offsets = array<i64: 128>}
  // CHECK-NEXT: %[[NEWA:.*]] = weft.copy %[[B]] {weft.offsets = array<i64: 0>}
  // CHECK-NEXT: %[[NEWB:.*]] = weft.copy %[[SAVED]] {weft.offsets = array<i64: 64>}
  // CHECK-NEXT: return %[[NEWA]], %[[NEWB]]
  return %b, %a : tensor<16xf32>, tensor<16xf32>
}

// Moves along a chain: the end of the chain first.
// CHECK-LABEL: @shift_states
// CHECK-SAME: %[[A:.*]]: tensor<16xf32> {weft.name = "a", {{.*}}}, %[[B:.*]]: tensor<16xf32> {weft.name = "b"
func.func @shift_states(%a: tensor<16xf32> {weft.name = "a"}, %b: tensor<16xf32> {weft.name = "b"},
                        %x: tensor<16xf32> {weft.name = "x"})
    -> (tensor<16xf32> {weft.name = "a"}, tensor<16xf32> {weft.name = "b"}) {
  // CHECK-NEXT: weft.copy %[[A]] {weft.offsets = array<i64: 64>}
  // CHECK-NEXT: weft.copy %{{.*}} {weft.offsets = array<i64: 0>}
  // CHECK-NEXT: return
  return %x, %a : tensor<16xf32>, tensor<16xf32>
}

// -----

// An output that is a state, old or new, an input or a constant is a copy.
// CHECK-LABEL: @outputs
// CHECK-SAME: %[[A:.*]]: tensor<16xf32> {weft.name = "a"
// CHECK-SAME: %[[X:.*]]: tensor<16xf32> {weft.name = "x"
func.func @outputs(%a: tensor<16xf32> {weft.name = "a"}, %x: tensor<16xf32> {weft.name = "x"})
    -> (tensor<16xf32> {weft.name = "a"}, tensor<16xf32> {weft.name = "old"},
        tensor<16xf32> {weft.name = "y"}, tensor<16xf32> {weft.name = "c"}) {
  // CHECK: %[[C:.*]] = arith.constant {weft.offsets = array<i64: 64>}
  %c = arith.constant dense<1.0> : tensor<16xf32>
  // CHECK-DAG: weft.copy %[[A]]
  // CHECK-DAG: weft.copy %[[C]]
  // CHECK-DAG: %[[Y:.*]] = weft.copy %[[X]] {weft.offsets = array<i64: {{[1-9][0-9]*}}>}
  // CHECK: %[[NEW:.*]] = weft.copy %[[X]] {weft.offsets = array<i64: 0>}
  // CHECK-NEXT: return %[[NEW]]
  return %x, %a, %x, %c : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>
func.func private @make() -> tensor<16xf32> attributes {weft.kernel}
func.func private @use(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}

// Until its wait a collective keeps its buffers: what is made meanwhile has
// others.
// CHECK-LABEL: @in_flight
// CHECK-SAME: weft.arena_bytes = 192 : i64
func.func @in_flight() -> tensor<8xf32> {
  // CHECK: weft.launch @make() {weft.offsets = array<i64: [[A:[0-9]+]]>}
  %a = weft.launch @make() : () -> tensor<16xf32>
  %p = weft.start reduce_scatter %a sum dim = 0 over <@mesh, {"data"}>
      : tensor<16xf32> -> !weft.pending<tensor<8xf32>>
  // CHECK: weft.launch @make()
  // CHECK-NOT: weft.offsets = array<i64: [[A]]>
  // CHECK: weft.wait
  %b = weft.launch @make() : () -> tensor<16xf32>
  %r = weft.wait %p : !weft.pending<tensor<8xf32>>
  return %r : tensor<8xf32>
}

// An all-reduce works in place if nothing else reads its operand.
// CHECK-LABEL: @all_reduce
func.func @all_reduce() -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  // CHECK: weft.launch @make() {weft.offsets = array<i64: [[A:[0-9]+]]>}
  // CHECK: weft.start all_reduce {{.*}} {in_place, weft.offsets = array<i64: [[A]]>}
  // CHECK: weft.wait {{.*}} {weft.offsets = array<i64: [[A]]>}
  %a = weft.launch @make() : () -> tensor<16xf32>
  %p = weft.start all_reduce %a sum over <@mesh, {"data"}> : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %r = weft.wait %p : !weft.pending<tensor<16xf32>>
  // CHECK: weft.launch @make
  // CHECK: weft.start all_reduce
  // CHECK-NOT: in_place
  // CHECK: weft.launch @use
  %b = weft.launch @make() : () -> tensor<16xf32>
  %q = weft.start all_reduce %b sum over <@mesh, {"data"}> : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %c = weft.launch @use(%b) : (tensor<16xf32>) -> tensor<16xf32>
  %s = weft.wait %q : !weft.pending<tensor<16xf32>>
  return %r, %s, %c : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// Constants come after the states; equal ones share a place in all entries. A
// view has the place of its operand.
func.func private @use(%x: tensor<4x4xf32>) -> tensor<16xf32> attributes {weft.kernel}

// CHECK-LABEL: @first
func.func @first() -> (tensor<16xf32> {weft.name = "s"}) {
  // CHECK: arith.constant {weft.offsets = array<i64: 64>}
  %c = arith.constant dense<2.0> : tensor<16xf32>
  // CHECK: weft.reshape {{.*}} {weft.offsets = array<i64: 64>}
  %v = weft.reshape %c : tensor<16xf32> -> tensor<4x4xf32>
  // CHECK: weft.launch @use({{.*}}) {weft.offsets = array<i64: 0>}
  %r = weft.launch @use(%v) : (tensor<4x4xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
// CHECK-LABEL: @second
func.func @second(%s: tensor<16xf32> {weft.name = "s"}) -> (tensor<16xf32> {weft.name = "y"}) {
  // CHECK: arith.constant {weft.offsets = array<i64: 64>}
  // CHECK: arith.constant {weft.offsets = array<i64: 128>}
  %c = arith.constant dense<2.0> : tensor<16xf32>
  %d = arith.constant dense<3.0> : tensor<4x4xf32>
  %r = weft.launch @use(%d) : (tensor<4x4xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// The operands of a kernel are different buffers.
func.func private @add(%x: tensor<16xf32>, %y: tensor<4x4xf32>) -> tensor<16xf32> attributes {weft.kernel}

// CHECK-LABEL: @two_views
// CHECK-SAME: %[[X:.*]]: tensor<16xf32>
func.func @two_views(%x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: %[[VIEW:.*]] = weft.reshape %[[X]]
  // CHECK: %[[COPY:.*]] = weft.copy %[[VIEW]]
  // CHECK: weft.launch @add(%[[X]], %[[COPY]])
  %v = weft.reshape %x : tensor<16xf32> -> tensor<4x4xf32>
  %r = weft.launch @add(%x, %v) : (tensor<16xf32>, tensor<4x4xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
