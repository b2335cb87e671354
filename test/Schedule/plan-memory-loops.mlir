// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a loop carries has one buffer; what is there before a loop and used in it
// lasts until the loop ends.
// RUN: shard-opt %s --split-input-file --weft-plan-memory | FileCheck %s
// RUN: shard-opt %s --split-input-file --weft-plan-memory --weft-plan-memory | FileCheck %s

func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}

// The sum is written in place, and lies where its first value and its result do;
// the input and the product in the loop do not lie there.
// CHECK-LABEL: @in_place
// CHECK-SAME:    weft.name = "x", weft.offset = [[X:[0-9]+]]
// CHECK-SAME:    weft.arena_bytes = 192 : i64
func.func @in_place(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "s"}) {
  // CHECK: weft.launch @fill() {weft.offsets = array<i64: [[S:[0-9]+]]>}
  %zero = weft.launch @fill() : () -> tensor<16xf32>
  // CHECK: weft.repeat 4 carry (%[[A:.*]] = %{{.*}}) : (tensor<16xf32>) attributes {weft.offsets = array<i64: [[S]]>} {
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) {
    // CHECK-NEXT: weft.launch @scale(%{{.*}}) {weft.offsets = array<i64: [[Y:[0-9]+]]>}
    %y = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
    // CHECK-NEXT: weft.launch @add(%[[A]], %{{.*}}) in_place = [0] {weft.offsets = array<i64: [[S]]>}
    %n = weft.launch @add(%a, %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    // CHECK-NOT: weft.copy
    weft.yield %n : tensor<16xf32>
  }
  return %s : tensor<16xf32>
}

// -----

func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}

// Two values that change places, and an input that the loop begins with: copies.
// CHECK-LABEL: @exchanged
func.func @exchanged(%x: tensor<16xf32> {weft.name = "x"}) -> (tensor<16xf32> {weft.name = "s"}, tensor<16xf32> {weft.name = "t"}) {
  %zero = weft.launch @fill() : () -> tensor<16xf32>
  // CHECK: %[[INIT:.*]] = weft.copy %arg0
  // CHECK: weft.repeat 4 carry (%[[A:.*]] = %[[INIT]], %[[B:.*]] = %{{.*}})
  %s:2 = weft.repeat 4 carry (%a = %x, %b = %zero) : (tensor<16xf32>, tensor<16xf32>) {
    // CHECK-NEXT: %[[SAVED:.*]] = weft.copy %[[A]]
    // CHECK-NEXT: %[[FROM_B:.*]] = weft.copy %[[B]]
    // CHECK-NEXT: %[[FROM_A:.*]] = weft.copy %[[SAVED]]
    // CHECK-NEXT: weft.yield %[[FROM_B]], %[[FROM_A]]
    weft.yield %b, %a : tensor<16xf32>, tensor<16xf32>
  }
  return %s#0, %s#1 : tensor<16xf32>, tensor<16xf32>
}

// -----

func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0, 1, 0>}

// A value from before the loop is read again in each iteration: nothing is written
// over it, though only one op reads it.
// CHECK-LABEL: @read_again
func.func @read_again() -> (tensor<16xf32> {weft.name = "s"}) {
  // CHECK: weft.launch @fill() {weft.offsets = array<i64: [[W:[0-9]+]]>}
  %w = weft.launch @fill() : () -> tensor<16xf32>
  %zero = weft.launch @fill() : () -> tensor<16xf32>
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) {
    // CHECK: weft.launch @scale(%{{.*}}) {weft.offsets
    // CHECK-NOT: array<i64: [[W]]>
    %y = weft.launch @scale(%w) : (tensor<16xf32>) -> tensor<16xf32>
    // CHECK: weft.launch @add({{.*}}) in_place = [0]
    %n = weft.launch @add(%a, %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    weft.yield %n : tensor<16xf32>
  }
  return %s : tensor<16xf32>
}

// -----

func.func private @fill() -> tensor<16xf32> attributes {weft.kernel}
func.func private @scale(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {weft.kernel}
func.func private @add(%x: tensor<16xf32>, %y: tensor<4x4xf32>) -> tensor<16xf32>
    attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}

// So is one that is read in another shape.
// CHECK-LABEL: @read_again_in_another_shape
func.func @read_again_in_another_shape() -> (tensor<16xf32> {weft.name = "s"}) {
  // CHECK: weft.launch @fill() {weft.offsets = array<i64: [[W:[0-9]+]]>}
  %w = weft.launch @fill() : () -> tensor<16xf32>
  %zero = weft.launch @fill() : () -> tensor<16xf32>
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) {
    // CHECK: weft.reshape %{{.*}} {weft.offsets = array<i64: [[W]]>}
    %v = weft.reshape %w : tensor<16xf32> -> tensor<4x4xf32>
    // CHECK-NOT: array<i64: [[W]]>
    %y = weft.launch @scale(%v) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %z = weft.launch @scale(%y) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: weft.launch @add({{.*}}) in_place = [0]
    %n = weft.launch @add(%a, %z) : (tensor<16xf32>, tensor<4x4xf32>) -> tensor<16xf32>
    weft.yield %n : tensor<16xf32>
  }
  return %s : tensor<16xf32>
}
