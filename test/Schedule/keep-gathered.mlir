// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-keep-gathered --split-input-file | FileCheck %s

// Two matmuls that are short beside the gathers of their weights: both are
// gathered in front of the loop, in the type in which the loop computes, and
// what is gathered again behind another value is the same.
// CHECK-LABEL: @short
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4x64x4096xbf16>, %[[W:[a-z0-9]*]]: tensor<256x4096xf32>
// CHECK:      %[[NARROW:.*]] = arith.truncf %[[W]]
// CHECK-NEXT: %[[WHOLE:.*]] = weft.all_gather %[[NARROW]] dim = 0
// CHECK-NOT:  weft.all_gather
// CHECK:      weft.repeat 4
// CHECK-NOT:  weft.all_gather
// CHECK:        weft.dot_general %{{.*}}, %[[WHOLE]] contracting = [1] x [0]
// CHECK-NOT:  weft.all_gather
// CHECK:        weft.dot_general %{{.*}}, %[[WHOLE]] contracting = [1] x [1]
// CHECK-NOT:  weft.all_gather
// CHECK:      return
weft.mesh @mesh = <["data"=16]>
func.func @short(%x: tensor<4x64x4096xbf16>, %w: tensor<256x4096xf32>) -> tensor<64x4096xbf16> {
  %zero = arith.constant dense<0.0> : tensor<64x4096xbf16>
  %first = arith.constant dense<0> : tensor<i32>
  %all:2 = weft.repeat 4 carry (%sum = %zero, %i = %first) : (tensor<64x4096xbf16>, tensor<i32>) {
    %rows = weft.gather %x, %i dim = 0 : (tensor<4x64x4096xbf16>, tensor<i32>) -> tensor<64x4096xbf16>
    %narrow = arith.truncf %w : tensor<256x4096xf32> to tensor<256x4096xbf16>
    %whole = weft.all_gather %narrow dim = 0 over <@mesh, {"data"}> : tensor<256x4096xbf16> -> tensor<4096x4096xbf16>
    %y = weft.dot_general %rows, %whole contracting = [1] x [0] : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xbf16>
    %late = weft.barrier %narrow after %y : tensor<256x4096xbf16> after tensor<64x4096xbf16>
    %again = weft.all_gather %late dim = 0 over <@mesh, {"data"}> : tensor<256x4096xbf16> -> tensor<4096x4096xbf16>
    %dy = weft.dot_general %y, %again contracting = [1] x [1] : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xbf16>
    %next = arith.addf %sum, %dy : tensor<64x4096xbf16>
    %one = arith.constant dense<1> : tensor<i32>
    %j = arith.addi %i, %one : tensor<i32>
    weft.yield %next, %j : tensor<64x4096xbf16>, tensor<i32>
  }
  return %all#0 : tensor<64x4096xbf16>
}

// -----

// What depends on the micro-batch is gathered for each.
// CHECK-LABEL: @changes
// CHECK: weft.repeat
// CHECK: weft.all_gather
weft.mesh @mesh = <["data"=16]>
func.func @changes(%x: tensor<4x64x256xbf16>) -> tensor<64x4096xbf16> {
  %zero = arith.constant dense<0.0> : tensor<64x4096xbf16>
  %first = arith.constant dense<0> : tensor<i32>
  %all:2 = weft.repeat 4 carry (%sum = %zero, %i = %first) : (tensor<64x4096xbf16>, tensor<i32>) {
    %rows = weft.gather %x, %i dim = 0 : (tensor<4x64x256xbf16>, tensor<i32>) -> tensor<64x256xbf16>
    %whole = weft.all_gather %rows dim = 1 over <@mesh, {"data"}> : tensor<64x256xbf16> -> tensor<64x4096xbf16>
    %next = arith.addf %sum, %whole : tensor<64x4096xbf16>
    %one = arith.constant dense<1> : tensor<i32>
    %j = arith.addi %i, %one : tensor<i32>
    weft.yield %next, %j : tensor<64x4096xbf16>, tensor<i32>
  }
  return %all#0 : tensor<64x4096xbf16>
}

// -----

// Matmuls of many rows hide the gather, in front of the loop nothing does.
// CHECK-LABEL: @hidden
// CHECK-NOT: weft.all_gather
// CHECK: weft.repeat 2
// CHECK: weft.all_gather
weft.mesh @mesh = <["data"=16]>
func.func @hidden(%x: tensor<2x65536x4096xbf16>, %v: tensor<4096x4096xbf16>, %w: tensor<256x4096xbf16>) -> tensor<65536x4096xbf16> {
  %zero = arith.constant dense<0.0> : tensor<65536x4096xbf16>
  %first = arith.constant dense<0> : tensor<i32>
  %all:2 = weft.repeat 2 carry (%sum = %zero, %i = %first) : (tensor<65536x4096xbf16>, tensor<i32>) {
    %rows = weft.gather %x, %i dim = 0 : (tensor<2x65536x4096xbf16>, tensor<i32>) -> tensor<65536x4096xbf16>
    %h = weft.dot_general %rows, %v contracting = [1] x [0] : (tensor<65536x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<65536x4096xbf16>
    %whole = weft.all_gather %w dim = 0 over <@mesh, {"data"}> : tensor<256x4096xbf16> -> tensor<4096x4096xbf16>
    %y = weft.dot_general %h, %whole contracting = [1] x [0] : (tensor<65536x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<65536x4096xbf16>
    %next = arith.addf %sum, %y : tensor<65536x4096xbf16>
    %one = arith.constant dense<1> : tensor<i32>
    %j = arith.addi %i, %one : tensor<i32>
    weft.yield %next, %j : tensor<65536x4096xbf16>, tensor<i32>
  }
  return %all#0 : tensor<65536x4096xbf16>
}
