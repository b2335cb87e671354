// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parameters in shards that passes gather in the loop. Of stage 0 only the
// forward pass needs it, of stage 2, whose loss nobody wants, only the backward
// pass: each is gathered for each micro-batch, one action ahead. That of stage 1
// is needed by both, and gathered once.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe pipeline-schedule=1f1b' | FileCheck %s
// What is printed is read back, and verified again.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe pipeline-schedule=1f1b' | shard-opt --weft-schedule-pipeline -o /dev/null
// RUN: shard-compile %s --pipeline="axis=pipe schedule=1f1b" -o %t.plan
// RUN: shard-run %t.plan --dump=step.0UNSHARD_F | FileCheck %s --check-prefix=PLAN
// RUN: shard-sim check %t.plan | FileCheck %s --check-prefix=SAFE

// Behind the pass before, where nothing else comes in between.
// CHECK: rows = ["0P0,0UNSHARD_F0,0F0,0SEND_F0,0UNSHARD_F1,0F1,0SEND_F1,0UNSHARD_F2,0RECV_B0,0F2,0SEND_F2,0UNSHARD_F3,0B0,
// CHECK-SAME: "2P0,2RECV_F0,2UNSHARD_B0,2F0,

// CHECK-LABEL: func.func @step.0F(
// CHECK-SAME: tensor<8x8xf32> {weft.name = "0UNSHARD_F:0"}
// CHECK-NOT: weft.all_gather
// CHECK-LABEL: func.func @step.0UNSHARD_F(
// CHECK-SAME: %[[SHARD:.*]]: tensor<4x8xf32> {{.*}}weft.name = "w0"
// CHECK-SAME: -> (tensor<8x8xf32> {weft.name = "0UNSHARD_F:0"})
// CHECK-SAME: action = "0UNSHARD_F", role = 0
// CHECK-NEXT: %[[WHOLE:.*]] = weft.all_gather %[[SHARD]]
// CHECK-NEXT: return %[[WHOLE]]
// CHECK-LABEL: func.func @step.1F(
// CHECK-SAME: "1P0:0"
// CHECK-NOT: weft.all_gather
// CHECK-LABEL: func.func @step.1B(
// CHECK-SAME: "1P0:0"
// CHECK-NOT: weft.all_gather
// CHECK-LABEL: func.func @step.1P0(
// CHECK: weft.all_gather
// CHECK-LABEL: func.func @step.2B(
// CHECK-SAME: tensor<8x8xf32> {weft.name = "2UNSHARD_B:0"}
// CHECK-NOT: weft.all_gather
// CHECK-LABEL: func.func @step.2UNSHARD_B(
// CHECK: weft.all_gather

// PLAN: entry "step.0UNSHARD_F" role 0
// PLAN: instructions 2, deferred from 1

// SAFE: safe: {{.*}} 3 stages, 4 micro-batches

weft.mesh @mesh = <["pipe"=3, "data"=2]>

func.func @step(
    %w0: tensor<8x8xf32> {weft.name = "w0", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w1: tensor<8x8xf32> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w2: tensor<8x8xf32> {weft.name = "w2", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %x: tensor<4x4x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {"data"}, {}]>})
    -> (tensor<8x8xf32> {weft.name = "w0", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x8xf32> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x8xf32> {weft.name = "w2", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %u0 = weft.microbatch_use %w0 of <"batch", 4> : tensor<8x8xf32>
  %u1 = weft.microbatch_use %w1 of <"batch", 4> : tensor<8x8xf32>
  %u2 = weft.microbatch_use %w2 of <"batch", 4> : tensor<8x8xf32>
  %xi = weft.microbatch_slice %x dim = 0 of <"batch", 4> : tensor<4x4x8xf32> -> tensor<4x8xf32>
  %l, %g0, %g1, %g2 = weft.value_and_grad @model(%u0, %u1, %u2, %xi) wrt = [0, 1, 2]
      : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>)
      -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
  %s0 = weft.microbatch_sum %g0 of <"batch", 4> : tensor<8x8xf32>
  %s1 = weft.microbatch_sum %g1 of <"batch", 4> : tensor<8x8xf32>
  %s2 = weft.microbatch_sum %g2 of <"batch", 4> : tensor<8x8xf32>
  %n0 = arith.subf %w0, %s0 : tensor<8x8xf32>
  %n1 = arith.subf %w1, %s1 : tensor<8x8xf32>
  %n2 = arith.subf %w2, %s2 : tensor<8x8xf32>
  return %n0, %n1, %n2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

func.func private @model(%w0: tensor<8x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>, %x: tensor<4x8xf32>) -> tensor<f32> {
  %whole0 = weft.constraint %w0 <@mesh, [{}, {}]> : tensor<8x8xf32>
  %0 = weft.dot_general %x, %whole0 contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = weft.stage_boundary %0 : tensor<4x8xf32>
  %whole1 = weft.constraint %w1 <@mesh, [{}, {}]> : tensor<8x8xf32>
  %2 = weft.dot_general %1, %whole1 contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = weft.stage_boundary %2 : tensor<4x8xf32>
  %whole2 = weft.constraint %w2 <@mesh, [{}, {}]> : tensor<8x8xf32>
  %4 = weft.dot_general %3, %whole2 contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %5 = math.tanh %4 : tensor<4x8xf32>
  %6 = weft.reduce sum %5 dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %6 : tensor<f32>
}
