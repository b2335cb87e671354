// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-number-values --weft-propagate --weft-insert-reshards --weft-observe-values | FileCheck %s
// RUN: shard-opt %s --weft-number-values --weft-propagate --weft-insert-reshards --weft-observe-values --weft-localize --weft-form-microbatch-loops --weft-verify-form=form=spmd | FileCheck %s --check-prefix=SPMD

// The example of the pass: the partial sums, their sum, and what is returned
// anyway.

weft.mesh @mesh = <["data"=4]>

// CHECK-LABEL: func.func @step
// CHECK:           -> (tensor<8x2xf32> {weft.name = "y", weft.observed = {kind = "element", name = "math.exp ({{.*}})", number = 1 : i64, order = 2 : i64, sources = array<i64: 1>, terms = 0 : i64}, weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
// CHECK-SAME:          tensor<8x2xf32> {weft.name = "weft.observed 0", weft.observed = {kind = "sum", name = "weft.dot_general ({{.*}})", number = 0 : i64, order = 0 : i64, sources = array<i64>, terms = 8 : i64}, weft.sharding = #weft.sharding<@mesh, [{}, {}], unreduced={"data"}>},
// CHECK-SAME:          tensor<8x2xf32> {weft.name = "weft.observed 1", weft.observed = {kind = "moved", name = "partial sums over {\22data\22} of weft.dot_general {{.*}}", number = 0 : i64, order = 1 : i64, sources = array<i64: 0>
// CHECK:         %[[A:.*]] = weft.dot_general
// CHECK-NOT:     weft.numbered
// CHECK:         %[[SUM:.*]] = weft.reshard %[[A]]
// CHECK:         %[[Y:.*]] = math.exp %[[SUM]]
// CHECK:         return %[[Y]], %[[A]], %[[SUM]]

// SPMD:         %[[A:.*]] = weft.dot_general
// SPMD-NEXT:    %[[SUM:.*]] = weft.all_reduce sum %[[A]]
// SPMD-NEXT:    %[[Y:.*]] = math.exp %[[SUM]]
// SPMD-NEXT:    return %[[Y]], %[[A]], %[[SUM]]
func.func @step(%x: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"data"}]>},
                %w: tensor<8x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x2xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %a = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %y = math.exp %a : tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}

// Of values of micro-batches all are returned; no axis splits their dimension.

// CHECK-LABEL: func.func @loop
// CHECK:           tensor<2x8x2xf32> {weft.name = "weft.observed 1", weft.observed = {kind = "sum", {{.*}}}, weft.sharding = #weft.sharding<@mesh, [{}, {}, {}], unreduced={"data"}>}
// CHECK:           tensor<2x8x2xf32> {weft.name = "weft.observed 2", weft.observed = {kind = "moved", {{.*}}}, weft.sharding = #weft.sharding<@mesh, [{}, {}, {}]>}
// CHECK:         %[[A:.*]] = weft.dot_general
// CHECK:         %[[SUM:.*]] = weft.reshard %[[A]]
// CHECK:         weft.microbatch_stack %[[A]] dim = 0
// CHECK:         weft.microbatch_stack %[[SUM]] dim = 0
// SPMD-LABEL: func.func @loop
func.func @loop(%x: tensor<2x8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}, {"data"}]>},
                %w: tensor<8x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x2xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %xi = weft.microbatch_slice %x dim = 0 of <"loop", 2> : tensor<2x8x8xf32> -> tensor<8x8xf32>
  %wi = weft.microbatch_use %w of <"loop", 2> : tensor<8x2xf32>
  %a = weft.dot_general %xi, %wi contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %y = math.exp %a : tensor<8x2xf32>
  %s = weft.microbatch_sum %y of <"loop", 2> : tensor<8x2xf32>
  return %s : tensor<8x2xf32>
}
