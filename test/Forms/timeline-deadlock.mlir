// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Who waits for whom: the rank, the queue, the action and the line of the model.
// RUN: not shard-opt %s --weft-verify-form=form=spmd 2>&1 | FileCheck %s

// CHECK: the timeline of @held_up: timeline:1:3: C2: 0SEND_F0 waits for itself, in a cycle of 5 calls
// CHECK-NEXT: rank 0, queue stages 0->1: 0SEND_F0 (1:3, timeline-deadlock.mlir:[[#SENT:]])
// CHECK-SAME: waits for 1RECV_F0 (2:4, timeline-deadlock.mlir:[[#SENT]]) on rank 1
// CHECK-NEXT: rank 1, queue stages 0->1: 1RECV_F0 (2:4, timeline-deadlock.mlir:[[#SENT]]) waits for 1P1 (2:3, timeline-deadlock.mlir:[[#READ:]])

weft.mesh @mesh = <["pipe"=2]>

func.func private @held_up() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 2, rows = ["0P0,0F0,0SEND_F0,0F1,0SEND_F1,0SEND_P0>1,0B0,0B1", "1P0,1RECV_P0<0,1P1,1RECV_F0,1F0,1B0,1RECV_F1,1F1,1B1"], messages = [#weft.message<kind = "F", source = 0, destination = 1, queue = 0, values = ["0F:0"]>, #weft.message<kind = "P", source = 0, destination = 1, queue = 1, values = ["0P:0"]>]>}
func.func @held_up.0P0() -> (tensor<f32> {weft.name = "0P:0"}) attributes {weft.segment = #weft.segment<entry = "held_up", action = "0P0", role = 0>} {
  %0 = arith.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
func.func @held_up.0F() -> (tensor<f32> {weft.name = "0F:0", weft.slots = 2 : i64}) attributes {weft.segment = #weft.segment<entry = "held_up", action = "0F", role = 0>} {
  %0 = arith.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
func.func @held_up.0B() attributes {weft.segment = #weft.segment<entry = "held_up", action = "0B", role = 0>} {
  return
}
func.func @held_up.1P0() attributes {weft.segment = #weft.segment<entry = "held_up", action = "1P0", role = 1>} {
  return
}
func.func @held_up.1P1(%p: tensor<f32> {weft.name = "0P:0"}) attributes {weft.segment = #weft.segment<entry = "held_up", action = "1P1", role = 1>} {
  %0 = arith.addf %p, %p : tensor<f32>
  return
}
func.func @held_up.1F(%x: tensor<f32> {weft.name = "0F:0"}) attributes {weft.segment = #weft.segment<entry = "held_up", action = "1F", role = 1>} {
  return
}
func.func @held_up.1B() attributes {weft.segment = #weft.segment<entry = "held_up", action = "1B", role = 1>} {
  return
}
