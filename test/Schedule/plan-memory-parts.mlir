// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-plan-memory | FileCheck %s
// RUN: shard-opt %s --split-input-file --weft-plan-memory=copy-large | FileCheck %s --check-prefix=LARGE

// The operands of a concat lie side by side in its buffer, and what is sliced
// of the sum is a range of the same one. An update may write over a part.
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}
weft.mesh @mesh = <["data"=2]>

// CHECK-LABEL: @step
// CHECK-SAME: weft.arena_bytes = 192 : i64, weft.liveness_bytes = 192 : i64
func.func @step(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "y"}) {
  // CHECK: weft.launch @scale(%{{.*}}) {weft.offsets = array<i64: [[A:[0-9]+]]>}
  %a = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: weft.launch @scale(%{{.*}}) {weft.offsets = array<i64: [[B:[0-9]+]]>}
  %b = weft.launch @scale(%a) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK-NOT: weft.copy
  // CHECK: weft.concat {{.*}} {weft.offsets = array<i64: [[A]]>}
  %c = weft.concat %a, %b dim = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  // CHECK: weft.start {{.*}} {in_place, weft.offsets = array<i64: [[A]]>}
  %p = weft.start all_reduce %c sum over <@mesh, {"data"}> : tensor<32xf32> -> !weft.pending<tensor<32xf32>>
  %r = weft.wait %p : !weft.pending<tensor<32xf32>>
  // CHECK: weft.slice {{.*}} {weft.offsets = array<i64: [[A]]>}
  %0 = weft.slice %r starts = [0] limits = [16] strides = [1] : tensor<32xf32> -> tensor<16xf32>
  // CHECK: weft.slice {{.*}} {weft.offsets = array<i64: [[B]]>}
  %1 = weft.slice %r starts = [16] limits = [32] strides = [1] : tensor<32xf32> -> tensor<16xf32>
  // CHECK: weft.launch @add({{.*}}) in_place = [0] {weft.offsets = array<i64: [[A]]>}
  %s = weft.launch @add(%0, %1) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %y = weft.launch @scale(%s) : (tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// What has a buffer already is copied to its place: an input, what is a part of
// another collective, a result that the caller gets.
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
weft.mesh @mesh = <["data"=2]>

// CHECK-LABEL: @copied
func.func @copied(%x: tensor<16xf32> {weft.name = "x"})
    -> (tensor<32xf32> {weft.name = "sum"}, tensor<16xf32> {weft.name = "first"}, tensor<32xf32> {weft.name = "other"}) {
  %a = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: %[[X:.*]] = weft.copy %arg0
  // CHECK: weft.concat %{{.*}}, %[[X]]
  %c = weft.concat %a, %x dim = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %p = weft.start all_reduce %c sum over <@mesh, {"data"}> : tensor<32xf32> -> !weft.pending<tensor<32xf32>>
  // CHECK: %[[SUM:.*]] = weft.wait
  %r = weft.wait %p : !weft.pending<tensor<32xf32>>
  %0 = weft.slice %r starts = [0] limits = [16] strides = [1] : tensor<32xf32> -> tensor<16xf32>
  // CHECK: %[[FIRST:.*]] = weft.slice
  // CHECK: %[[A:.*]] = weft.copy
  // CHECK: %[[B:.*]] = weft.copy
  // CHECK: weft.concat %[[A]], %[[B]]
  %d = weft.concat %0, %a dim = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %q = weft.start all_reduce %d max over <@mesh, {"data"}> : tensor<32xf32> -> !weft.pending<tensor<32xf32>>
  %s = weft.wait %q : !weft.pending<tensor<32xf32>>
  // CHECK-DAG: weft.copy %[[SUM]]
  // CHECK-DAG: weft.copy %[[FIRST]]
  return %r, %0, %s : tensor<32xf32>, tensor<16xf32>, tensor<32xf32>
}

// -----

// A kernel that reads the whole does not write over a part.
func.func private @take(%x: tensor<32xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 1, 0>}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
weft.mesh @mesh = <["data"=2]>

// CHECK-LABEL: @reads_the_whole
// CHECK:         weft.launch @take(%{{.*}}) {weft.offsets
func.func @reads_the_whole(%x: tensor<32xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "y"}) {
  %p = weft.start all_reduce %x sum over <@mesh, {"data"}> : tensor<32xf32> -> !weft.pending<tensor<32xf32>>
  %r = weft.wait %p : !weft.pending<tensor<32xf32>>
  %0 = weft.slice %r starts = [16] limits = [32] strides = [1] : tensor<32xf32> -> tensor<16xf32>
  %t = weft.launch @take(%r, %0) : (tensor<32xf32>, tensor<16xf32>) -> tensor<16xf32>
  %y = weft.launch @scale(%t) : (tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// A part that is there long before the others is copied when they are, if its
// buffer makes the peak higher; one that does not is none, nor is one that is
// large, for the sake of small ones.
func.func private @wide(%x: tensor<16xf32>) -> tensor<256xf32> attributes {weft.kernel}
func.func private @sum(%x: tensor<256xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @spread(%x: tensor<16xf32>) -> tensor<128xf32> attributes {weft.kernel}
func.func private @first(%x: tensor<128xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
weft.mesh @mesh = <["data"=2]>

// CHECK-LABEL: @early
// CHECK-SAME: weft.arena_bytes = 1152 : i64
func.func @early(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "y"}) {
  // CHECK: %[[EARLY:.*]] = weft.launch @scale
  %a = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %t = weft.launch @wide(%x) : (tensor<16xf32>) -> tensor<256xf32>
  %s = weft.launch @sum(%t) : (tensor<256xf32>) -> tensor<16xf32>
  // CHECK: %[[LATE:.*]] = weft.launch @spread
  %b = weft.launch @spread(%s) : (tensor<16xf32>) -> tensor<128xf32>
  // CHECK: %[[COPY:.*]] = weft.copy %[[EARLY]]
  // CHECK-NEXT: weft.concat %[[COPY]], %[[LATE]]
  %c = weft.concat %a, %b dim = 0 : (tensor<16xf32>, tensor<128xf32>) -> tensor<144xf32>
  %p = weft.start all_reduce %c sum over <@mesh, {"data"}> : tensor<144xf32> -> !weft.pending<tensor<144xf32>>
  %r = weft.wait %p : !weft.pending<tensor<144xf32>>
  %0 = weft.slice %r starts = [16] limits = [144] strides = [1] : tensor<144xf32> -> tensor<128xf32>
  %y = weft.launch @first(%0) : (tensor<128xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// CHECK-LABEL: @early_but_large
// CHECK-NOT: weft.copy
// LARGE-LABEL: @early_but_large
// LARGE: weft.copy
func.func @early_but_large(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "y"}) {
  %a = weft.launch @spread(%x) : (tensor<16xf32>) -> tensor<128xf32>
  %t = weft.launch @wide(%x) : (tensor<16xf32>) -> tensor<256xf32>
  %b = weft.launch @sum(%t) : (tensor<256xf32>) -> tensor<16xf32>
  %c = weft.concat %a, %b dim = 0 : (tensor<128xf32>, tensor<16xf32>) -> tensor<144xf32>
  %p = weft.start all_reduce %c sum over <@mesh, {"data"}> : tensor<144xf32> -> !weft.pending<tensor<144xf32>>
  %r = weft.wait %p : !weft.pending<tensor<144xf32>>
  %0 = weft.slice %r starts = [0] limits = [128] strides = [1] : tensor<144xf32> -> tensor<128xf32>
  %y = weft.launch @first(%0) : (tensor<128xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// CHECK-LABEL: @early_enough
// CHECK-NOT: weft.copy
func.func @early_enough(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "y"}) {
  %t = weft.launch @wide(%x) : (tensor<16xf32>) -> tensor<256xf32>
  %u = weft.launch @sum(%t) : (tensor<256xf32>) -> tensor<16xf32>
  %a = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %b = weft.launch @scale(%u) : (tensor<16xf32>) -> tensor<16xf32>
  %c = weft.concat %a, %b dim = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %p = weft.start all_reduce %c sum over <@mesh, {"data"}> : tensor<32xf32> -> !weft.pending<tensor<32xf32>>
  %r = weft.wait %p : !weft.pending<tensor<32xf32>>
  %0 = weft.slice %r starts = [16] limits = [32] strides = [1] : tensor<32xf32> -> tensor<16xf32>
  %y = weft.launch @scale(%0) : (tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// Where a collective begins in a loop, the copies before that count.
func.func private @wide(%x: tensor<16xf32>) -> tensor<256xf32> attributes {weft.kernel}
func.func private @sum(%x: tensor<256xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @spread(%x: tensor<16xf32>) -> tensor<128xf32> attributes {weft.kernel}
func.func private @first(%x: tensor<128xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}
weft.mesh @mesh = <["data"=2]>

// CHECK-LABEL: @early_in_a_loop
// CHECK:         weft.copy
// CHECK-NEXT:    weft.concat
// The first of the two sums is there before the copy.
// CHECK:         weft.start all_reduce %{{.*}}#1 {{.*}}weft.behind = 3 : i64
// CHECK:         weft.start all_reduce %{{.*}}#0 {{.*}}weft.behind = 9 : i64
func.func @early_in_a_loop(%x: tensor<16xf32> {weft.name = "x"})
    -> (tensor<16xf32> {weft.name = "s"}, tensor<16xf32> {weft.name = "t"}) {
  %zero = weft.launch @fill() : () -> tensor<16xf32>
  %other = weft.launch @fill() : () -> tensor<16xf32>
  %z:2 = weft.repeat 4 carry (%sum = %zero, %n = %other) : (tensor<16xf32>, tensor<16xf32>) {
    %a = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
    %t = weft.launch @wide(%x) : (tensor<16xf32>) -> tensor<256xf32>
    %s = weft.launch @sum(%t) : (tensor<256xf32>) -> tensor<16xf32>
    %m = weft.launch @add(%n, %s) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %b = weft.launch @spread(%s) : (tensor<16xf32>) -> tensor<128xf32>
    %c = weft.concat %a, %b dim = 0 : (tensor<16xf32>, tensor<128xf32>) -> tensor<144xf32>
    %p = weft.start all_reduce %c sum over <@mesh, {"data"}> : tensor<144xf32> -> !weft.pending<tensor<144xf32>>
    %r = weft.wait %p : !weft.pending<tensor<144xf32>>
    %0 = weft.slice %r starts = [16] limits = [144] strides = [1] : tensor<144xf32> -> tensor<128xf32>
    %y = weft.launch @first(%0) : (tensor<128xf32>) -> tensor<16xf32>
    %new = weft.launch @add(%sum, %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    weft.yield %new, %m : tensor<16xf32>, tensor<16xf32>
  }
  %q = weft.start all_reduce %z#1 sum over <@mesh, {"data"}> {weft.behind = 3 : i64} : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %p = weft.start all_reduce %z#0 sum over <@mesh, {"data"}> {weft.behind = 8 : i64} : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %qw = weft.wait %q : !weft.pending<tensor<16xf32>>
  %pw = weft.wait %p : !weft.pending<tensor<16xf32>>
  return %pw, %qw : tensor<16xf32>, tensor<16xf32>
}

// -----

// Equal parts of a buffer, seen as tensors of other shapes, are one operand.
func.func private @add(%x: tensor<16x16xf32>, %y: tensor<16x16x1xf32>) -> tensor<16x16xf32> attributes {weft.kernel} {
  %z = weft.reshape %y : tensor<16x16x1xf32> -> tensor<16x16xf32>
  %0 = arith.addf %x, %z : tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
// CHECK-LABEL: @equal_parts
// CHECK: %[[A:.*]] = weft.slice
// CHECK: %[[B:.*]] = weft.slice
// CHECK: %[[COPY:.*]] = weft.copy %[[B]]
// CHECK: weft.launch @add(%[[A]], %[[COPY]])
func.func @equal_parts(%a: tensor<32x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %x = weft.gemm %a, %w batch = 1 m = 32 n = 16 k = 16 strides = [512, 16, 1] x [256, 16, 1] -> [512, 16, 1] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %x0 = weft.slice %x starts = [0, 0] limits = [16, 16] strides = [1, 1] : tensor<32x16xf32> -> tensor<16x16xf32>
  %r = weft.reshape %x : tensor<32x16xf32> -> tensor<32x16x1xf32>
  %r0 = weft.slice %r starts = [0, 0, 0] limits = [16, 16, 1] strides = [1, 1, 1] : tensor<32x16x1xf32> -> tensor<16x16x1xf32>
  %0 = weft.launch @add(%x0, %r0) : (tensor<16x16xf32>, tensor<16x16x1xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
