// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Graphs say all of the pipeline that they are cut for, and need no option.
// RUN: shard-compile %s --pipeline="axis=pipe schedule=zb-h1" --emit=schedule -o %t.schedule
// RUN: shard-compile %s --pipeline="axis=pipe schedule=zb-h1" --emit=graph --mlir-print-debuginfo -o %t.graph
// RUN: FileCheck %s --input-file=%t.graph
// RUN: shard-compile %t.graph --emit=schedule | diff %t.schedule -
// RUN: shard-compile %s --pipeline="axis=pipe schedule=zb-h1" --emit=sharded --mlir-print-debuginfo | shard-compile - --emit=schedule | diff %t.schedule -
// CHECK: module attributes {weft.pipeline = {axis = "pipe", schedule = "zb-h1"}, weft.stages = 2 : i64}

// They take the same one again.
// RUN: shard-compile %t.graph --pipeline="axis=pipe schedule=zb-h1 chunks=1" --emit=schedule | diff %t.schedule -

// The table that is chosen is a part of the text, and so is that of a file.
// RUN: shard-compile %s --pipeline="axis=pipe schedule=auto" --emit=schedule -o %t.schedule
// RUN: shard-compile %s --pipeline="axis=pipe schedule=auto" --emit=graph --mlir-print-debuginfo -o %t.auto
// RUN: FileCheck %s --check-prefix=AUTO --input-file=%t.auto
// RUN: shard-compile %t.auto --emit=schedule | diff %t.schedule -
// RUN: shard-compile %t.auto --pipeline="axis=pipe schedule=auto" --emit=schedule | diff %t.schedule -
// AUTO: weft.pipeline = {axis = "pipe", schedule = "auto", table = "0F0,
// RUN: shard-sim schedule --name gpipe --ranks 2 --microbatches 4 --format csv > %t.csv
// RUN: shard-compile %s --pipeline="axis=pipe schedule=%t.csv" --emit=schedule -o %t.schedule
// RUN: shard-compile %s --pipeline="axis=pipe schedule=%t.csv" --emit=sharded --mlir-print-debuginfo -o %t.table
// RUN: shard-compile %t.table --emit=schedule | diff %t.schedule -
// RUN: shard-compile %t.table --pipeline="axis=pipe schedule=%t.csv" --emit=schedule | diff %t.schedule -

// Another one is an error, as it is where stages were only assigned.
// RUN: not shard-compile %t.graph --pipeline="axis=pipe chunks=2" --emit=sharded 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not shard-compile %t.graph --pipeline="axis=pipe schedule=%t.csv" --emit=sharded 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: not shard-compile %t.graph --pipeline="axis=pipe schedule=zb-h1 chunks=2" --emit=sharded 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: shard-compile %s --emit=graph | not shard-compile - --pipeline=axis=pipe --emit=sharded 2>&1 | FileCheck %s --check-prefix=NONE
// OTHER: error: the input is cut into stages for the pipeline "axis=pipe schedule=zb-h1 chunks=1", but --pipeline is "axis=pipe schedule=1f1b chunks=2"; give the model instead
// TABLE: but --pipeline is "axis=pipe schedule=<a table>"; give the model instead
// CHUNKS: but --pipeline is "axis=pipe schedule=zb-h1 chunks=2"; give the model instead
// NONE: error: the input is cut into stages for no pipeline, but --pipeline is "axis=pipe schedule=1f1b"; give the model instead

weft.mesh @mesh = <["pipe"=2, "data"=2]>

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
