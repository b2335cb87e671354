// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Two stages share a parameter. To send it takes longer than to update it once
// more where links are slow beside memory: then each stage does.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe' | FileCheck %s --check-prefix=EACH
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe cluster=cpu-2core' | FileCheck %s --check-prefix=ONE
// RUN: shard-compile %s --pipeline="axis=pipe" --target=none -o %t.plan | FileCheck %s --check-prefix=EACH-REPORT
// RUN: shard-sim check %t.plan
// RUN: shard-compile %s --pipeline="axis=pipe" --target=none --cluster=cpu-2core -o %t.plan | FileCheck %s --check-prefix=ONE-REPORT
// A copy each has the optimizer's state twice.
// RUN: shard-compile %s --pipeline="axis=pipe" --target=none --memory-limit=1GiB -o %t.plan | FileCheck %s --check-prefix=ONE-REPORT
// RUN: shard-opt %s --weft-autodiff --weft-assign-stages='axis=pipe own-copies=false' | FileCheck %s --check-prefix=OWN
// The text of a graph says so, or its reader does.
// RUN: shard-compile %s --pipeline="axis=pipe" --memory-limit=1GiB --emit=graph | FileCheck %s --check-prefix=OWN
// RUN: shard-compile %s --pipeline="axis=pipe" --memory-limit=1GiB --emit=graph | shard-compile - --target=none -o %t.plan | FileCheck %s --check-prefix=ONE-REPORT
// RUN: shard-compile %s --pipeline="axis=pipe" --emit=graph | shard-compile - --target=none --memory-limit=1GiB -o %t.plan | FileCheck %s --check-prefix=ONE-REPORT
// RUN: shard-compile %s --pipeline="axis=pipe" --emit=graph | shard-compile - --target=none -o %t.plan | FileCheck %s --check-prefix=EACH-REPORT

// OWN: weft.pipeline = {axis = "pipe", own_copies = false, schedule = "1f1b"}

// EACH-REPORT: w (16.0 MiB) is updated by ranks 0 and 1, a copy each
// ONE-REPORT: w (16.0 MiB) is updated by rank 0 and sent to rank 1

// Both have all that the update needs, and the next states of it.
// EACH: func.func private @step(
// EACH-SAME: source = 0, destination = 1, queue = {{.}}, values = ["gradient of w, stage 0"]>
// EACH-SAME: source = 1, destination = 0, queue = {{.}}, values = ["gradient of w, stage 1"]>
// EACH-NOT: values = ["w"]
// EACH: func.func @step.0U1(
// EACH: %[[SUM:.*]] = arith.addf %arg0, %arg1
// EACH: %[[OLD:.*]] = arith.mulf %arg2
// EACH: %[[M:.*]] = arith.addf %[[OLD]], %[[SUM]]
// EACH: %[[W:.*]] = arith.subf %arg3, %[[M]]
// EACH: return %[[M]], %[[W]]
// EACH: func.func @step.1U1(
// EACH-SAME: weft.name = "gradient of w, stage 1"}{{.*}}weft.name = "gradient of w, stage 0"}{{.*}}weft.name = "m"{{.*}}weft.name = "w"{{.*}} -> ({{.*}}weft.name = "m"{{.*}}weft.name = "w"
// EACH: %[[SUM:.*]] = arith.addf %arg0, %arg1
// EACH: %[[OLD:.*]] = arith.mulf %arg2
// EACH: %[[M:.*]] = arith.addf %[[OLD]], %[[SUM]]
// EACH: %[[W:.*]] = arith.subf %arg3, %[[M]]
// EACH: return %[[M]], %[[W]]

// ONE: func.func private @step(
// ONE-SAME: level = 1, source = 0, destination = 1, queue = {{.}}, values = ["w"]>
// ONE-SAME: source = 1, destination = 0, queue = {{.}}, values = ["gradient of w, stage 1"]>
// ONE: func.func @step.0U1(
// ONE-NOT: @step.1U1(

weft.mesh @mesh = <["pipe"=2]>

func.func @step(%w: tensor<2048x2048xf32> {weft.name = "w", weft.parameter},
                %m: tensor<2048x2048xf32> {weft.name = "m"},
                %x: tensor<2x4x2048xf32> {weft.name = "x"})
    -> (tensor<f32> {weft.name = "loss"}, tensor<2048x2048xf32> {weft.name = "m"}, tensor<2048x2048xf32> {weft.name = "w"}) {
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4> : tensor<2x4x2048xf32> -> tensor<2x2048xf32>
  %u = weft.microbatch_use %w of <"step", 4> : tensor<2048x2048xf32>
  %l, %g = weft.value_and_grad @model(%u, %xi) wrt = [0] : (tensor<2048x2048xf32>, tensor<2x2048xf32>) -> (tensor<f32>, tensor<2048x2048xf32>)
  %loss = weft.microbatch_sum %l of <"step", 4> : tensor<f32>
  %sum = weft.microbatch_sum %g of <"step", 4> : tensor<2048x2048xf32>
  %decay = arith.constant dense<0.9> : tensor<2048x2048xf32>
  %old = arith.mulf %m, %decay : tensor<2048x2048xf32>
  %m1 = arith.addf %old, %sum : tensor<2048x2048xf32>
  %w1 = arith.subf %w, %m1 : tensor<2048x2048xf32>
  return %loss, %m1, %w1 : tensor<f32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>
}
func.func private @model(%w: tensor<2048x2048xf32>, %x: tensor<2x2048xf32>) -> tensor<f32> {
  %0 = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<2x2048xf32>, tensor<2048x2048xf32>) -> tensor<2x2048xf32>
  %1 = weft.stage_boundary %0 : tensor<2x2048xf32>
  %2 = weft.dot_general %1, %w contracting = [1] x [1] : (tensor<2x2048xf32>, tensor<2048x2048xf32>) -> tensor<2x2048xf32>
  %3 = weft.reduce sum %2 dims = [0, 1] : tensor<2x2048xf32> -> tensor<f32>
  return %3 : tensor<f32>
}
