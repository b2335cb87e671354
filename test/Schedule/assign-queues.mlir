// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-assign-queues=cluster=%S/../Partition/Inputs/uniform.toml | FileCheck %s --check-prefix=ONE
// RUN: shard-opt %s --weft-assign-queues=cluster=dgx-h100 | FileCheck %s --check-prefix=LEVELS

// Of one level of links, what another one overtakes is in the second queue; of
// several, what goes over nodes.

weft.mesh @mesh = <["data"=2, "model"=8]>

// ONE-LABEL: func.func @step
// ONE: weft.start all_reduce %arg0 {{.*}}"data"}> {{.*}}weft.queue = 1
// ONE: weft.start all_reduce %arg1
// ONE-NOT: weft.queue
// LEVELS-LABEL: func.func @step
// LEVELS: weft.start all_reduce %arg0 {{.*}}"data"}> {{.*}}weft.queue = 1
// LEVELS: weft.start all_reduce %arg1
// LEVELS-NOT: weft.queue
func.func @step(%g: tensor<4xf32>, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = weft.start all_reduce %g sum over <@mesh, {"data"}> : tensor<4xf32> -> !weft.pending<tensor<4xf32>>
  %1 = weft.start all_reduce %x sum over <@mesh, {"model"}> : tensor<4xf32> -> !weft.pending<tensor<4xf32>>
  %2 = weft.wait %1 : !weft.pending<tensor<4xf32>>
  %3 = weft.wait %0 : !weft.pending<tensor<4xf32>>
  return %3, %2 : tensor<4xf32>, tensor<4xf32>
}

// ONE-LABEL: func.func @waits_in_order
// ONE-NOT: weft.queue
// LEVELS-LABEL: func.func @waits_in_order
// LEVELS: weft.start all_reduce %arg0 {{.*}}"data"}> {{.*}}weft.queue = 1
func.func @waits_in_order(%g: tensor<4xf32>, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = weft.start all_reduce %g sum over <@mesh, {"data"}> : tensor<4xf32> -> !weft.pending<tensor<4xf32>>
  %1 = weft.start all_reduce %x sum over <@mesh, {"model"}> : tensor<4xf32> -> !weft.pending<tensor<4xf32>>
  %2 = weft.wait %0 : !weft.pending<tensor<4xf32>>
  %3 = weft.wait %1 : !weft.pending<tensor<4xf32>>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}
