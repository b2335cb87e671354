// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A state of a pipelined entry and of one without a pipeline is one of all
// ranks, and one buffer of the pipelined entry.
// RUN: split-file %s %t
// RUN: shard-compile %t/read.mlir --target=none -o %t/read.plan
// RUN: shard-run %t/read.plan --dump=states | FileCheck %s --check-prefix=STATES
// RUN: shard-run %t/read.plan --dump=step | FileCheck %s --check-prefix=STEP
// STATES: state "w" f32[8] local [8] sharding [{}] offset 0 bytes 32 state{{$}}
// STEP: input "w" f32[8] local [8] sharding [{}] %[[W:[0-9]+]] state
// STEP: %[[W]] state f32[8] offset 0 bytes 32 {{.*}} "w"
// STEP: run "step.0F" of 0

// One role alone must not update what all ranks hold.
// RUN: not shard-compile %t/updated.mlir --target=none -o %t/updated.plan 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: updated.mlir:[[#]]:1: error: state "w" is updated by role 0 and not by role 1, but entry @scale has it on all ranks; give the state another name there, or run that entry as a pipeline too
// ERROR: note: see the other entry
// RUN: not ls %t/updated.plan

//--- read.mlir
weft.mesh @mesh = <["pipe"=2]>
func.func private @step(tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}, tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0SEND_F0", "1RECV_F0,1F0"], messages = [#weft.message<kind = "F", source = 0, destination = 1, queue = 0, values = ["0F:0"]>]>}
func.func @step.0F(%w: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}, %x: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {weft.name = "0F:0"}) attributes {weft.segment = #weft.segment<entry = "step", action = "0F", role = 0>} {
  %y = arith.mulf %w, %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @step.1F(%h: tensor<8xf32> {weft.name = "0F:0"}, %w: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.segment = #weft.segment<entry = "step", action = "1F", role = 1>} {
  %y = arith.mulf %h, %w : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @scale(%w: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  %y = arith.addf %w, %w : tensor<8xf32>
  return %y : tensor<8xf32>
}

//--- updated.mlir
weft.mesh @mesh = <["pipe"=2]>
func.func private @step(tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}, tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}]>}, tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0SEND_F0", "1RECV_F0,1F0"], messages = [#weft.message<kind = "F", source = 0, destination = 1, queue = 0, values = ["0F:0"]>]>}
func.func @step.0F(%w: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}, %x: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {weft.name = "0F:0"}, tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.segment = #weft.segment<entry = "step", action = "0F", role = 0>} {
  %y = arith.mulf %w, %x : tensor<8xf32>
  return %y, %y : tensor<8xf32>, tensor<8xf32>
}
func.func @step.1F(%h: tensor<8xf32> {weft.name = "0F:0"}) -> (tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.segment = #weft.segment<entry = "step", action = "1F", role = 1>} {
  %y = arith.mulf %h, %h : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @scale(%w: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  %y = arith.addf %w, %w : tensor<8xf32>
  return %y : tensor<8xf32>
}
