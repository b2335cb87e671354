// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Two stages a rank: the parameter of the later one is gathered while the rank
// begins with the other; it is done first on the way back, and its gradient is
// reduced while the rank goes on.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe pipeline-schedule=interleaved-1f1b' | FileCheck %s
// A table that takes the stages one after the other leaves no more to hide.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe pipeline-schedule=looped-bfs' | FileCheck %s
// What is printed is read back, and verified again.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe pipeline-schedule=interleaved-1f1b' | shard-opt --weft-schedule-pipeline -o /dev/null
// The plan runs both beside others, with what comes behind their starts put off.
// RUN: shard-compile %s --pipeline="axis=pipe schedule=interleaved-1f1b" -o %t.plan
// RUN: shard-run %t.plan --dump=step.2REDUCE_GRAD | FileCheck %s --check-prefix=PLAN
// RUN: shard-run %t.plan --dump=step.3UNSHARD | FileCheck %s --check-prefix=GATHER

// CHECK: rows = ["0P0,0F0,{{.*}}2B3,2SEND_B3,2REDUCE_GRAD,{{.*}}0B3,0U0", "{{.*}}1P0,{{.*}}3UNSHARD,{{.*}}1F0,{{.*}}3B3,3SEND_B3,3REDUCE_GRAD,{{.*}}1U0"]
// CHECK-NOT: 0REDUCE_GRAD
// CHECK-NOT: 1REDUCE_GRAD

// The gradient of the stage that ends last is reduced by the update.
// CHECK-LABEL: func.func @step.0U0(
// CHECK: weft.all_reduce {{.*}}gradient_of = "w0"
// CHECK-NOT: weft.all_reduce
// CHECK-LABEL: func.func @step.1F(
// CHECK-LABEL: func.func @step.2REDUCE_GRAD(
// CHECK-SAME: %[[SUM:.*]]: tensor<8x8xf32> {weft.name = "gradient of w2"})
// CHECK-SAME: action = "2REDUCE_GRAD", role = 0
// CHECK-NEXT: %[[REDUCED:.*]] = weft.all_reduce sum %[[SUM]] over <@mesh, {"data"}>
// CHECK-NEXT: return %[[REDUCED]]
// CHECK-LABEL: func.func @step.3UNSHARD(
// CHECK-SAME: %[[SHARD:.*]]: tensor<4x8xf32> {{.*}}weft.name = "w3"
// CHECK-SAME: action = "3UNSHARD", role = 1
// CHECK-NEXT: %[[WHOLE:.*]] = weft.all_gather %[[SHARD]]
// CHECK-NEXT: return %[[WHOLE]]

// GATHER: entry "step.3UNSHARD" role 1
// GATHER: instructions 2, deferred from 1

// PLAN: entry "step.2REDUCE_GRAD" role 0
// PLAN: instructions 2, deferred from 1

weft.mesh @mesh = <["pipe"=2, "data"=2]>

func.func @step(
    %w0: tensor<8x8xf32> {weft.name = "w0", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w1: tensor<8x8xf32> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w2: tensor<8x8xf32> {weft.name = "w2", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w3: tensor<8x8xf32> {weft.name = "w3", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %x: tensor<4x64x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {"data"}, {}]>})
    -> (tensor<8x8xf32> {weft.name = "w0"}, tensor<8x8xf32> {weft.name = "w1"},
        tensor<8x8xf32> {weft.name = "w2"}, tensor<8x8xf32> {weft.name = "w3", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %u0 = weft.microbatch_use %w0 of <"batch", 4> : tensor<8x8xf32>
  %u1 = weft.microbatch_use %w1 of <"batch", 4> : tensor<8x8xf32>
  %u2 = weft.microbatch_use %w2 of <"batch", 4> : tensor<8x8xf32>
  %u3 = weft.microbatch_use %w3 of <"batch", 4> : tensor<8x8xf32>
  %xi = weft.microbatch_slice %x dim = 0 of <"batch", 4> : tensor<4x64x8xf32> -> tensor<64x8xf32>
  %l, %g0, %g1, %g2, %g3 = weft.value_and_grad @model(%u0, %u1, %u2, %u3, %xi) wrt = [0, 1, 2, 3]
      : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<64x8xf32>)
      -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
  %s0 = weft.microbatch_sum %g0 of <"batch", 4> : tensor<8x8xf32>
  %s1 = weft.microbatch_sum %g1 of <"batch", 4> : tensor<8x8xf32>
  %s2 = weft.microbatch_sum %g2 of <"batch", 4> : tensor<8x8xf32>
  %s3 = weft.microbatch_sum %g3 of <"batch", 4> : tensor<8x8xf32>
  %n0 = arith.subf %w0, %s0 : tensor<8x8xf32>
  %n1 = arith.subf %w1, %s1 : tensor<8x8xf32>
  %n2 = arith.subf %w2, %s2 : tensor<8x8xf32>
  %n3 = arith.subf %w3, %s3 : tensor<8x8xf32>
  return %n0, %n1, %n2, %n3 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

func.func private @model(%w0: tensor<8x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>, %w3: tensor<8x8xf32>, %x: tensor<64x8xf32>) -> tensor<f32> {
  %0 = weft.dot_general %x, %w0 contracting = [1] x [0] : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %1 = weft.stage_boundary %0 : tensor<64x8xf32>
  %2 = weft.dot_general %1, %w1 contracting = [1] x [0] : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %3 = weft.stage_boundary %2 : tensor<64x8xf32>
  %4 = weft.dot_general %3, %w2 contracting = [1] x [0] : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %5 = weft.stage_boundary %4 : tensor<64x8xf32>
  %6 = weft.dot_general %5, %w3 contracting = [1] x [0] : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %7 = arith.mulf %6, %6 : tensor<64x8xf32>
  %8 = weft.reduce sum %7 dims = [0, 1] : tensor<64x8xf32> -> tensor<f32>
  return %8 : tensor<f32>
}
