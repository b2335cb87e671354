// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-insert-reshards --split-input-file | FileCheck %s

// Ops that commute with a sum run on its terms, where that saves a reduction
// or costs nothing.

weft.mesh @mesh = <["data"=2]>

// CHECK-LABEL: func.func @accumulated_gradients
// CHECK:         %[[A:.*]] = weft.reduce sum
// CHECK-NEXT:    %[[B:.*]] = weft.reduce sum
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]
// CHECK-NEXT:    %[[SCALED:.*]] = arith.mulf %[[SUM]], {{.*}}unreduced={"data"}
// CHECK-NEXT:    %[[G:.*]] = weft.reshard %[[SCALED]] <@mesh, [{}]>
// CHECK-NEXT:    math.sqrt %[[G]]
func.func @accumulated_gradients(
    %x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %y: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %scale: tensor<4xf32>) -> tensor<4xf32> {
  %a = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %b = weft.reduce sum %y dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %sum = arith.addf %a, %b : tensor<4xf32>
  %scaled = arith.mulf %sum, %scale : tensor<4xf32>
  %r = math.sqrt %scaled : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// Also where the sum is wanted split: one reduction, not two.
// CHECK-LABEL: func.func @sum_wanted_split
// CHECK:         %[[SUM:.*]] = arith.addf
// CHECK-SAME:      unreduced={"data"}
// CHECK-NEXT:    weft.reshard %[[SUM]] <@mesh, [{"data"}]>
// CHECK-NEXT:    return
func.func @sum_wanted_split(
    %x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %y: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>}) {
  %a = weft.reduce sum %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [{"data"}]>]} : tensor<8x4xf32> -> tensor<4xf32>
  %b = weft.reduce sum %y dims = [0] {weft.shardings = [#weft.sharding<@mesh, [{"data"}]>]} : tensor<8x4xf32> -> tensor<4xf32>
  %sum = arith.addf %a, %b {weft.shardings = [#weft.sharding<@mesh, [{"data"}]>]} : tensor<4xf32>
  return %sum : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// Data moves as terms. A slice makes less to reduce.
// CHECK-LABEL: func.func @moves
// CHECK:         weft.reduce sum
// CHECK-NOT:     weft.reshard
// CHECK:         weft.transpose
// CHECK-SAME:      unreduced={"data"}
// CHECK-NEXT:    weft.reshape
// CHECK-SAME:      unreduced={"data"}
// CHECK-NEXT:    %[[SLICE:.*]] = weft.slice
// CHECK-SAME:      unreduced={"data"}
// CHECK-NEXT:    weft.reshard %[[SLICE]] <@mesh, [{}]>
func.func @moves(%x: tensor<8x4x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>}) -> tensor<4xf32> {
  %a = weft.reduce sum %x dims = [0] : tensor<8x4x2xf32> -> tensor<4x2xf32>
  %b = weft.transpose %a dims = [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  %c = weft.reshape %b : tensor<2x4xf32> -> tensor<8xf32>
  %d = weft.slice %c starts = [0] limits = [4] strides = [1] : tensor<8xf32> -> tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// A broadcast makes more to reduce: it comes after the reduction.
// CHECK-LABEL: func.func @broadcast_grows
// CHECK:         %[[A:.*]] = weft.reshard
// CHECK-NEXT:    weft.broadcast %[[A]]
func.func @broadcast_grows(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4x64xf32> {
  %a = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %b = weft.broadcast %a dims = [0] : tensor<4xf32> -> tensor<4x64xf32>
  return %b : tensor<4x64xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// exp is not linear, nor is a sum of which one operand is whole.
// CHECK-LABEL: func.func @not_linear
// CHECK:         %[[TERMS:.*]] = weft.reduce sum
// CHECK-NEXT:    %[[A:.*]] = weft.reshard %[[TERMS]] <@mesh, [{}]>
// CHECK-NEXT:    math.exp %[[A]]
// CHECK:         %[[OTHER:.*]] = weft.reduce sum
// CHECK-NEXT:    %[[B:.*]] = weft.reshard %[[OTHER]] <@mesh, [{}]>
// CHECK-NEXT:    arith.addf %[[B]], %{{.*}}
func.func @not_linear(
    %x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %whole: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %e = math.exp %a : tensor<4xf32>
  %b = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %s = arith.addf %b, %whole : tensor<4xf32>
  return %e, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// Terms with two uses are reduced for both, not after each.
// CHECK-LABEL: func.func @two_uses
// CHECK:         %[[TERMS:.*]] = weft.reduce sum
// CHECK-NEXT:    %[[A:.*]] = weft.reshard %[[TERMS]] <@mesh, [{}]>
// CHECK-NEXT:    arith.negf %[[A]]
// CHECK-NEXT:    arith.negf %[[A]]
// CHECK-NOT:     weft.reshard
func.func @two_uses(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %b = arith.negf %a : tensor<4xf32>
  %c = arith.negf %a : tensor<4xf32>
  return %b, %c : tensor<4xf32>, tensor<4xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// Terms of a maximum move, but are not negated.
// CHECK-LABEL: func.func @maximum
// CHECK:         weft.reduce max
// CHECK-SAME:      unreduced=max{"data"}
// CHECK-NEXT:    %[[T:.*]] = weft.transpose
// CHECK-SAME:      unreduced=max{"data"}
// CHECK-NEXT:    %[[M:.*]] = weft.reshard %[[T]] <@mesh, [{}, {}]>
// CHECK-NEXT:    arith.negf %[[M]]
func.func @maximum(%x: tensor<8x4x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>}) -> tensor<2x4xf32> {
  %a = weft.reduce max %x dims = [0] : tensor<8x4x2xf32> -> tensor<4x2xf32>
  %b = weft.transpose %a dims = [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  %c = arith.negf %b : tensor<2x4xf32>
  return %c : tensor<2x4xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// Arguments and results may be unreduced where they are declared so.
// CHECK-LABEL: func.func @unreduced_signature
// CHECK-NEXT:    %[[S:.*]] = arith.addf
// CHECK-SAME:      unreduced={"data"}
// CHECK-NEXT:    return %[[S]]
func.func @unreduced_signature(
    %x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"data"}>},
    %y: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"data"}>})
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"data"}>}) {
  %s = arith.addf %x, %y : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// A product passes on the terms of one operand: the other one, which is used
// again and so holds terms no longer than needed, is reduced first.
// CHECK-LABEL: func.func @product_of_terms
// CHECK:         %[[SUM:.*]] = weft.dot_general %arg0, %arg1
// CHECK:         %[[WHOLE:.*]] = weft.reshard %[[SUM]] <@mesh, [{}, {}]>
// CHECK:         weft.dot_general %[[WHOLE]],
func.func @product_of_terms(
    %x: tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"data"}]>},
    %w: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %terms: tensor<4x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}], unreduced={"data"}>})
    -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %sum = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %r = weft.dot_general %sum, %terms contracting = [1] x [0]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %sum, %r : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// What made the terms was told to split the sequence, and so does their first
// user, although it sums them up again: its own sum is small.

weft.mesh @mesh = <["model"=4]>

// CHECK-LABEL: func.func @scattered_for_all
func.func @scattered_for_all(
    %h: tensor<8x1024x256xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}, {"model"}]>},
    %w: tensor<256x512xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %x: tensor<8x1024x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}, {}]>})
    -> (tensor<512xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>},
        tensor<8x1024x512xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}, {}]>}) {
  // CHECK: %[[TERMS:.*]] = weft.dot_general
  // CHECK: %[[SUM:.*]] = weft.reshard %[[TERMS]] <@mesh, [{}, {"model"}, {}]>
  // CHECK: weft.reduce sum %[[SUM]]
  // CHECK: arith.mulf %[[SUM]]
  %d = weft.dot_general %h, %w contracting = [2] x [0] {weft.shardings = [#weft.sharding<@mesh, [{}, {"model"}, {}]>]}
      : (tensor<8x1024x256xf32>, tensor<256x512xf32>) -> tensor<8x1024x512xf32>
  %b = weft.reduce sum %d dims = [0, 1] {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<8x1024x512xf32> -> tensor<512xf32>
  %m = arith.mulf %d, %x {weft.shardings = [#weft.sharding<@mesh, [{}, {"model"}, {}]>]} : tensor<8x1024x512xf32>
  return %b, %m : tensor<512xf32>, tensor<8x1024x512xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// A mean is that of the sum, where its division costs nothing.
// CHECK-LABEL: func.func @mean
// CHECK:         %[[TERMS:.*]] = weft.reduce sum
// CHECK-NEXT:    %[[SUM:.*]] = weft.reshard %[[TERMS]] <@mesh, [{}]>
// CHECK-NEXT:    arith.divf %[[SUM]], %arg1
func.func @mean(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}, %n: tensor<4xf32>) -> tensor<4xf32> {
  %sum = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %mean = arith.divf %sum, %n : tensor<4xf32>
  return %mean : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// The means of micro-batches are reduced together, after the last one. What is
// read within a micro-batch as well is reduced there.
// CHECK-LABEL: func.func @mean_of_microbatches
// CHECK:         %[[TERMS:.*]] = weft.reduce sum
// CHECK-NEXT:    %[[MEAN:.*]] = arith.divf %[[TERMS]], %{{.*}}unreduced={"data"}
// CHECK-NEXT:    %[[SCALED:.*]] = arith.mulf %[[MEAN]], %{{.*}}unreduced={"data"}
// CHECK-NEXT:    %[[OTHER:.*]] = weft.reduce sum
// CHECK-NEXT:    %[[WHOLE:.*]] = weft.reshard %[[OTHER]] <@mesh, [{}]>
// CHECK-NEXT:    arith.divf %[[WHOLE]], %{{.*}}
// CHECK-NEXT:    math.exp
// CHECK-NEXT:    %[[TOTAL:.*]] = weft.microbatch_sum %[[SCALED]] {{.*}}unreduced={"data"}
// CHECK:         weft.reshard %[[TOTAL]] <@mesh, [{}]>
func.func @mean_of_microbatches(
    %x: tensor<8x4x3xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>}, %n: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<3xf32>) {
  %ni = weft.microbatch_use %n of <"step", 4> : tensor<3xf32>
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4> : tensor<8x4x3xf32> -> tensor<8x3xf32>
  %sum = weft.reduce sum %xi dims = [0] : tensor<8x3xf32> -> tensor<3xf32>
  %mean = arith.divf %sum, %ni : tensor<3xf32>
  %scaled = arith.mulf %mean, %ni : tensor<3xf32>
  %sum2 = weft.reduce sum %xi dims = [0] : tensor<8x3xf32> -> tensor<3xf32>
  %mean2 = arith.divf %sum2, %ni : tensor<3xf32>
  %e = math.exp %mean2 : tensor<3xf32>
  %total = weft.microbatch_sum %scaled of <"step", 4> : tensor<3xf32>
  %total2 = weft.microbatch_sum %e of <"step", 4> : tensor<3xf32>
  return %total, %total2 : tensor<3xf32>, tensor<3xf32>
}

// -----

weft.mesh @mesh = <["data"=2]>

// Twice the bytes once are fewer than the bytes of each micro-batch.
// CHECK-LABEL: func.func @widened_sums
// CHECK:         %[[TERMS:.*]] = weft.reduce sum
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extf %[[TERMS]] {{.*}}unreduced={"data"}
// CHECK-NEXT:    %[[TOTAL:.*]] = weft.microbatch_sum %[[WIDE]] {{.*}}unreduced={"data"}
// CHECK-NEXT:    weft.reshard %[[TOTAL]] <@mesh, [{}]>
func.func @widened_sums(
    %x: tensor<8x4x1024xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>}) -> tensor<1024xf32> {
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4> : tensor<8x4x1024xbf16> -> tensor<8x1024xbf16>
  %sum = weft.reduce sum %xi dims = [0] : tensor<8x1024xbf16> -> tensor<1024xbf16>
  %wide = arith.extf %sum : tensor<1024xbf16> to tensor<1024xf32>
  %total = weft.microbatch_sum %wide of <"step", 4> : tensor<1024xf32>
  return %total : tensor<1024xf32>
}
