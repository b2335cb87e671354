// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Two stages that share a parameter, a loss of the last one and a norm of all.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe' | FileCheck %s
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe pipeline-schedule=zb-h1' | FileCheck %s --check-prefix=HALVES
// What is printed is read back, and verified again.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe' | shard-opt --weft-schedule-pipeline -o /dev/null
// Both ends use an axis of the mesh, and the pipeline no other.
// RUN: shard-compile %s --pipeline="axis=pipe schedule=gpipe" --emit=spmd -o - | FileCheck %s --check-prefix=GPIPE

weft.mesh @mesh = <["pipe"=2, "data"=2]>

// The entry is a declaration. The second stage sends its part of the gradient
// behind its last micro-batch, and gets the new parameter back.
// CHECK: func.func private @step(
// CHECK-SAME: weft.timeline = #weft.timeline<axis = "pipe", microbatches = 4
// A message travels while the action ahead of the one that needs it runs.
// CHECK-SAME: rows = ["0P0,0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,{{.*}}0B3,0U0,{{.*}}", "1P0,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,
// CHECK-SAME: messages = [#weft.message<kind = "F", source = 0, destination = 1, queue = 0, values = ["0F:[[H:.]]"]>
// CHECK-SAME: #weft.message<kind = "B", source = 1, destination = 0, queue = {{.}}, values = ["1B:{{.}}"]>
// CHECK-SAME: #weft.message<kind = "U", source = 1, destination = 0, {{.*}}values = ["gradient of w, stage 1"]

// Two micro-batches of the first stage are in flight.
// CHECK: func.func @step.0F(
// CHECK-SAME: weft.counts, weft.name = "micro-batch", weft.slots = 4
// CHECK-SAME: -> (tensor<2x8xf32> {weft.name = "0F:[[H]]", weft.slots = 2 : i64}
// CHECK-SAME: weft.segment = #weft.segment<entry = "step", action = "0F", role = 0>

// Sums go on in a state, in the order of micro-batches.
// CHECK: func.func @step.0B(
// CHECK: %[[SUM:.*]] = arith.addf %arg{{[0-9]+}}, %{{.*}} {weft.origin = #weft.origin<{{.*}}gradient_of = "w">}
// CHECK: return {{.*}}%[[SUM]]

// CHECK: func.func @step.0P0() -> (tensor<8x8xf32> {weft.name = "gradient of w, stage 0"}
// CHECK: func.func @step.0U0
// CHECK: func.func @step.1F

// With input and weight gradients apart, each is a segment.
// HALVES: rows = ["0P0,0F0,{{.*}}0I0,{{.*}}0W0
// HALVES: func.func @step.0I(
// HALVES: func.func @step.0W(
// HALVES: func.func @step.1I(
// HALVES: func.func @step.1W(

// GPIPE: 0F2,0SEND_F2,0RECV_B0,0F3,0SEND_F3,0RECV_B1,0B0

func.func @step(
    %w: tensor<8x8xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %x: tensor<16x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<f32> {weft.name = "loss"}) {
  %wi = weft.microbatch_use %w of <"batch", 4> : tensor<8x8xf32>
  %rows = weft.reshape %x : tensor<16x8xf32> -> tensor<4x4x8xf32>
  %xi = weft.microbatch_slice %rows dim = 1 of <"batch", 4> : tensor<4x4x8xf32> -> tensor<4x8xf32>
  %l, %g = weft.value_and_grad @model(%wi, %xi) wrt = [0] : (tensor<8x8xf32>, tensor<4x8xf32>) -> (tensor<f32>, tensor<8x8xf32>)
  %loss = weft.microbatch_sum %l of <"batch", 4> : tensor<f32>
  %sum = weft.microbatch_sum %g of <"batch", 4> : tensor<8x8xf32>
  %new = arith.subf %w, %sum : tensor<8x8xf32>
  return %new, %loss : tensor<8x8xf32>, tensor<f32>
}

func.func private @model(%w: tensor<8x8xf32>, %x: tensor<4x8xf32>) -> tensor<f32> {
  %0 = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = math.tanh %0 : tensor<4x8xf32>
  %2 = weft.stage_boundary %1 : tensor<4x8xf32>
  %3 = weft.dot_general %2, %w contracting = [1] x [1] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = arith.mulf %3, %3 : tensor<4x8xf32>
  %5 = weft.reduce sum %4 dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %5 : tensor<f32>
}
