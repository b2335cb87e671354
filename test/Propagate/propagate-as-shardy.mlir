// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --split-input-file | FileCheck %s

// Programs drawn at random, with the shardings that Shardy (jaxlib 0.10.2,
// sdy-user-priority-propagate) gives their ops. In the first sixteen conflicts
// are resolved differently by the basic strategy; the rest has user priorities.

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_0(
func.func @case_0(
    %a0: tensor<8x8xf32>,
    %a1: tensor<8x4xf32>,
    %a2: tensor<4x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"c", "a", ?}, {"b"}]>},
    %a3: tensor<8x8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"c", ?}, {?}]>})
    -> (tensor<8x8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"b"}, {?}]>},
        tensor<4x4xf32>,
        tensor<8x8x8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {?}, {?}, {}]>},
        tensor<4x4x4xf32>) {
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"b"}, {}]
  %v1 = weft.dot_general %a3, %a1 contracting = [2] x [0] : (tensor<8x8x8xf32>, tensor<8x4xf32>) -> tensor<8x8x4xf32>
  // CHECK: weft.constraint {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"a"}]
  %v2 = weft.constraint %a2 <@mesh, [{}, {"a"}]> : tensor<4x4xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"c"}, {}, {}]
  %v3 = weft.dot_general %a3, %a3 contracting = [2] x [1] : (tensor<8x8x8xf32>, tensor<8x8x8xf32>) -> tensor<8x8x8x8xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"a"}]
  %v4 = arith.addf %v2, %v2 : tensor<4x4xf32>
  // CHECK: weft.broadcast {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {"a"}]
  %v5 = weft.broadcast %v4 dims = [1, 2] : tensor<4x4xf32> -> tensor<4x4x4xf32>
  return %v1, %v2, %v3, %v5 : tensor<8x8x4xf32>, tensor<4x4xf32>, tensor<8x8x8x8xf32>, tensor<4x4x4xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_1(
func.func @case_1(
    %a0: tensor<4x8xf32>,
    %a1: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"b", ?}, {"a", "c"}]>},
    %a2: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "c", ?}, {}]>},
    %a3: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}, {"c", ?}]>})
    -> (tensor<4x8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {}, {?}]>},
        tensor<8x8xf32>,
        tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"b":(1)2}, {"c", ?}]>},
        tensor<4x4xf32>) {
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}, {"b"}]
  %v1 = weft.dot_general %a3, %a1 contracting = [0] x [1] : (tensor<8x4xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK: weft.broadcast {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"b"}, {}]
  %v2 = weft.broadcast %a0 dims = [0, 1] : tensor<4x8xf32> -> tensor<4x8x8xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a", "c"}, {}]
  %v3 = arith.addf %a2, %a2 : tensor<8x8xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b":(1)2}, {"c"}]
  %v4 = weft.dot_general %a1, %a3 contracting = [0] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}, {}]
  %v5 = weft.dot_general %v1, %a0 contracting = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return %v2, %v3, %v4, %v5 : tensor<4x8x8xf32>, tensor<8x8xf32>, tensor<8x4xf32>, tensor<4x4xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_2(
func.func @case_2(
    %a0: tensor<2x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}, {"c"}]>},
    %a1: tensor<2x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {"c", ?}]>},
    %a2: tensor<8x8x8xf32>,
    %a3: tensor<2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}]>})
    -> (tensor<2xf32>,
        tensor<2xf32>,
        tensor<2x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {"c"}]>}) {
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}]
  %v1 = weft.dot_general %a0, %a0 batching = [1] x [1] contracting = [0] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}]
  %v2 = weft.dot_general %a1, %a3 contracting = [1] x [0] : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {"c"}]
  %v3 = arith.addf %a1, %a0 : tensor<2x2xf32>
  // CHECK: arith.negf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {"c"}]
  %v4 = arith.negf %v3 : tensor<2x2xf32>
  return %v1, %v2, %v4 : tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_3(
func.func @case_3(
    %a0: tensor<16xf32> {weft.sharding = #weft.sharding<@mesh, [{?}]>},
    %a1: tensor<8x2xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {?}]>},
    %a2: tensor<4x16xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"b", ?}]>})
    -> (tensor<16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"c", ?}, {}]>},
        tensor<2x4x2x16xf32>) {
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"b"}]
  %v1 = arith.addf %a2, %a2 : tensor<4x16xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}, {"b"}]
  %v2 = weft.dot_general %v1, %a2 contracting = [0] x [0] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<16x16xf32>
  // CHECK: weft.reshape {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {"b":(2)2}, {}]
  %v3 = weft.reshape %a2 : tensor<4x16xf32> -> tensor<2x4x4x2xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {}, {"b"}]
  %v4 = weft.dot_general %v3, %a2 contracting = [2] x [0] : (tensor<2x4x4x2xf32>, tensor<4x16xf32>) -> tensor<2x4x2x16xf32>
  return %v2, %v4 : tensor<16x16xf32>, tensor<2x4x2x16xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_4(
func.func @case_4(
    %a0: tensor<2x16x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"c"}, {"a", ?}, {?}]>},
    %a1: tensor<2x2xf32>,
    %a2: tensor<2xf32> {weft.sharding = #weft.sharding<@mesh, [{?}], replicated={"a"}>})
    -> (tensor<2x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"c"}, {"a"}], replicated={"b"}>},
        tensor<2x2xf32>) {
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}, {"a"}]
  %v1 = weft.dot_general %a1, %a1 contracting = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK: arith.negf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}, {"a"}]
  %v2 = arith.negf %a1 : tensor<2x2xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}, {"a"}]
  %v3 = weft.dot_general %v1, %v1 contracting = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %v2, %v3 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_5(
func.func @case_5(
    %a0: tensor<2x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"c"}, {"a", ?}]>},
    %a1: tensor<8x2x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a", ?}, {?}]>})
    -> (tensor<8x2x8xf32>,
        tensor<8x2x8xf32>,
        tensor<2x2x8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {?}, {?}, {"a"}], replicated={"b":(1)2}>}) {
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"a"}, {}]
  %v1 = arith.addf %a1, %a1 : tensor<8x2x8xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"a"}, {}]
  %v2 = arith.addf %v1, %v1 : tensor<8x2x8xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}, {}, {}]
  %v3 = weft.dot_general %v2, %a1 contracting = [0] x [0] : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<2x8x2x8xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {}, {"a"}]
  %v4 = weft.dot_general %v3, %v1 batching = [2] x [1] contracting = [3] x [2] : (tensor<2x8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<2x2x8x8xf32>
  return %v1, %v2, %v4 : tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<2x2x8x8xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_6(
func.func @case_6(
    %a0: tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
    %a1: tensor<4x16x2xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}, {?}]>},
    %a2: tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a", ?}]>},
    %a3: tensor<4xf32>)
    -> (tensor<8x4x8xf32>,
        tensor<4x8xf32>,
        tensor<8xf32>,
        tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"b"}]>}) {
  // CHECK: weft.broadcast {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {"a"}]
  %v1 = weft.broadcast %a2 dims = [1, 2] : tensor<4x8xf32> -> tensor<8x4x8xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {"a"}]
  %v2 = arith.addf %v1, %v1 : tensor<8x4x8xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"a"}]
  %v3 = arith.addf %a2, %a0 : tensor<4x8xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}]
  %v4 = weft.dot_general %a3, %a2 contracting = [0] x [0] : (tensor<4xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}]
  %v5 = arith.addf %a3, %a3 : tensor<4xf32>
  return %v2, %v3, %v4, %v5 : tensor<8x4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_7(
func.func @case_7(
    %a0: tensor<8x2xf32>,
    %a1: tensor<8x2xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {?}]>},
    %a2: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"c"}]>})
    -> (tensor<8x8x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {?}, {}]>},
        tensor<2x8xf32>,
        tensor<2x8xf32>) {
  // CHECK: weft.broadcast {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}, {}]
  %v1 = weft.broadcast %a1 dims = [1, 2] : tensor<8x2xf32> -> tensor<8x8x2xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]
  %v2 = arith.addf %a1, %a0 : tensor<8x2xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}]
  %v3 = weft.dot_general %a0, %v1 batching = [1] x [2] contracting = [0] x [0] : (tensor<8x2xf32>, tensor<8x8x2xf32>) -> tensor<2x8xf32>
  // CHECK: weft.reshape {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]
  %v4 = weft.reshape %v2 : tensor<8x2xf32> -> tensor<2x8xf32>
  return %v1, %v3, %v4 : tensor<8x8x2xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_8(
func.func @case_8(
    %a0: tensor<2x2xf32>,
    %a1: tensor<16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"c", ?}, {?}]>},
    %a2: tensor<16x2xf32>,
    %a3: tensor<4x16xf32>)
    -> (tensor<16x4xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"c", ?}]>},
        tensor<4x16x2xf32>) {
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}, {}]
  %v1 = arith.addf %a3, %a3 : tensor<4x16xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"c"}]
  %v2 = weft.dot_general %a1, %v1 contracting = [1] x [1] : (tensor<16x16xf32>, tensor<4x16xf32>) -> tensor<16x4xf32>
  // CHECK: weft.broadcast {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {}]
  %v3 = weft.broadcast %a2 dims = [1, 2] : tensor<16x2xf32> -> tensor<4x16x2xf32>
  return %v2, %v3 : tensor<16x4xf32>, tensor<4x16x2xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_9(
func.func @case_9(
    %a0: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"b"}, {}]>},
    %a1: tensor<16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"c"}, {?}]>})
    -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {?}]>},
        tensor<16xf32>,
        tensor<16xf32>) {
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}, {}]
  %v1 = weft.dot_general %a0, %a0 contracting = [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}]
  %v2 = weft.dot_general %a1, %a1 batching = [0] x [0] contracting = [1] x [1] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]
  %v3 = arith.addf %a0, %v1 : tensor<8x8xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}]
  %v4 = arith.addf %v2, %v2 : tensor<16xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}]
  %v5 = arith.addf %v4, %v4 : tensor<16xf32>
  return %v3, %v4, %v5 : tensor<8x8xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_10(
func.func @case_10(
    %a0: tensor<16x2xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %a1: tensor<16x2x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}, {}, {?}]>},
    %a2: tensor<16x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "c", ?}, {"b":(1)2}]>},
    %a3: tensor<2x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}, {"b":(1)2, ?}], replicated={"c"}>})
    -> (tensor<16x2xf32>,
        tensor<2x16x16xf32>,
        tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"b", ?}]>}) {
  // CHECK: weft.reshape {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {"c"}]
  %v1 = weft.reshape %a2 : tensor<16x2xf32> -> tensor<2x16xf32>
  // CHECK: weft.transpose {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {"b":(1)2}]
  %v2 = weft.transpose %a3 dims = [0, 1] : tensor<2x2xf32> -> tensor<2x2xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a", "c"}, {"b":(1)2}]
  %v3 = arith.addf %a2, %a0 : tensor<16x2xf32>
  // CHECK: weft.broadcast {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}, {"c"}]
  %v4 = weft.broadcast %v1 dims = [0, 2] : tensor<2x16xf32> -> tensor<2x16x16xf32>
  // CHECK: weft.reshape {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}]
  %v5 = weft.reshape %v2 : tensor<2x2xf32> -> tensor<4xf32>
  return %v3, %v4, %v5 : tensor<16x2xf32>, tensor<2x16x16xf32>, tensor<4xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_11(
func.func @case_11(
    %a0: tensor<2x8xf32>,
    %a1: tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}, {?}]>},
    %a2: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"b", ?}]>})
    -> (tensor<8x8xf32>,
        tensor<8x4xf32>,
        tensor<2x8xf32>) {
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}, {}]
  %v1 = weft.dot_general %a2, %a2 contracting = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: weft.transpose {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"a"}]
  %v2 = weft.transpose %a1 dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}]
  %v3 = arith.addf %a0, %a0 : tensor<2x8xf32>
  return %v1, %v2, %v3 : tensor<8x8xf32>, tensor<8x4xf32>, tensor<2x8xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_12(
func.func @case_12(
    %a0: tensor<8x4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"c", ?}, {?}, {?}], replicated={"b":(1)2}>},
    %a1: tensor<16xf32> {weft.sharding = #weft.sharding<@mesh, [{"c", "a", ?}]>},
    %a2: tensor<16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a", ?}]>})
    -> (tensor<8x4x8x4xf32>,
        tensor<8x4x8xf32>,
        tensor<16x8xf32>) {
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}, {}, {}, {}]
  %v1 = weft.dot_general %a0, %a0 contracting = [2] x [2] : (tensor<8x4x8xf32>, tensor<8x4x8xf32>) -> tensor<8x4x8x4xf32>
  // CHECK: arith.negf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}, {}, {}]
  %v2 = arith.negf %a0 : tensor<8x4x8xf32>
  // CHECK: weft.constraint {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}]
  %v3 = weft.constraint %a2 <@mesh, [{}, {}]> : tensor<16x8xf32>
  return %v1, %v2, %v3 : tensor<8x4x8x4xf32>, tensor<8x4x8xf32>, tensor<16x8xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_13(
func.func @case_13(
    %a0: tensor<2x2xf32>,
    %a1: tensor<2x2xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"b":(1)2}]>},
    %a2: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"b", ?}, {"c"}]>},
    %a3: tensor<4x8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"c"}, {"b", ?}, {?}]>})
    -> (tensor<2xf32>,
        tensor<4xf32>,
        tensor<2x2xf32>,
        tensor<2x2xf32>) {
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b":(1)2}, {}]
  %v1 = weft.dot_general %a0, %a0 contracting = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK: weft.reduce {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}]
  %v2 = weft.reduce sum %v1 dims = [0] : tensor<2x2xf32> -> tensor<2xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}]
  %v3 = weft.dot_general %a2, %a2 batching = [1] x [1] contracting = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4xf32>
  // CHECK: weft.transpose {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b":(1)2}, {}]
  %v4 = weft.transpose %a1 dims = [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b":(1)2}, {}]
  %v5 = arith.addf %v4, %a0 : tensor<2x2xf32>
  return %v2, %v3, %v4, %v5 : tensor<2xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_14(
func.func @case_14(
    %a0: tensor<4x4xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"c"}], replicated={"b"}>},
    %a1: tensor<16x16x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"c", ?}, {}]>})
    -> (tensor<2x2x16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {}, {}, {?}]>},
        tensor<2x16x16x4xf32>) {
  // CHECK: weft.reshape {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {"c"}]
  %v1 = weft.reshape %a0 : tensor<4x4xf32> -> tensor<2x2x4xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {}, {"c"}]
  %v2 = weft.dot_general %v1, %a1 contracting = [2] x [2] : (tensor<2x2x4xf32>, tensor<16x16x4xf32>) -> tensor<2x2x16x16xf32>
  // CHECK: arith.negf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {}, {"c"}]
  %v3 = arith.negf %v2 : tensor<2x2x16x16xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {"c"}, {}]
  %v4 = weft.dot_general %v2, %v1 batching = [0] x [1] contracting = [1] x [0] : (tensor<2x2x16x16xf32>, tensor<2x2x4xf32>) -> tensor<2x16x16x4xf32>
  return %v3, %v4 : tensor<2x2x16x16xf32>, tensor<2x16x16x4xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_15(
func.func @case_15(
    %a0: tensor<2x2xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"c"}]>},
    %a1: tensor<2xf32>,
    %a2: tensor<2x2xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {?}], replicated={"c"}>})
    -> (tensor<2x2xf32>,
        tensor<f32> {weft.sharding = #weft.sharding<@mesh, []>},
        tensor<2x2xf32>) {
  // CHECK: weft.transpose {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"c"}]
  %v1 = weft.transpose %a0 dims = [0, 1] : tensor<2x2xf32> -> tensor<2x2xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, []
  %v2 = weft.dot_general %a1, %a1 contracting = [0] x [0] : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"c"}]
  %v3 = arith.addf %v1, %a2 : tensor<2x2xf32>
  return %v1, %v2, %v3 : tensor<2x2xf32>, tensor<f32>, tensor<2x2xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_16(
func.func @case_16(
    %a0: tensor<2x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}p1, {"c", ?}]>},
    %a1: tensor<2x4xf32> {weft.sharding = #weft.sharding<@mesh, [{?}p1, {?}p2]>})
    -> (tensor<2x4xf32>,
        tensor<2x4xf32>) {
  // CHECK: arith.negf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {"c"}]
  %v1 = arith.negf %a0 : tensor<2x4xf32>
  // CHECK: weft.transpose {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {"c"}]
  %v2 = weft.transpose %a1 dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}]
  %v3 = weft.dot_general %a1, %v1 batching = [0] x [0] contracting = [1] x [1] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2xf32>
  // CHECK: weft.broadcast {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}]
  %v4 = weft.broadcast %v3 dims = [0] : tensor<2xf32> -> tensor<2x4xf32>
  return %v2, %v4 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_17(
func.func @case_17(
    %a0: tensor<4xf32>,
    %a1: tensor<4x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {?}]>},
    %a2: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"c", "b"}, {?}]>},
    %a3: tensor<8x8xf32>)
    -> (tensor<4xf32>,
        tensor<4x8xf32>,
        tensor<16x2xf32>,
        tensor<4x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}p0, {?}], replicated={"b"}>},
        tensor<4xf32>) {
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a", "b":(1)2}]
  %v1 = arith.addf %a0, %a0 : tensor<4xf32>
  // CHECK: weft.constraint {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}, {"a"}]
  %v2 = weft.constraint %a1 <@mesh, [{"b", ?}, {"a"}p1]> : tensor<4x8xf32>
  // CHECK: weft.reshape {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b", "a"}, {}]
  %v3 = weft.reshape %v2 : tensor<4x8xf32> -> tensor<16x2xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {"b"}]
  %v4 = weft.dot_general %v2, %a1 contracting = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  // CHECK: weft.constraint {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a", "b":(1)2}]
  %v5 = weft.constraint %v1 <@mesh, [{"a", "b":(1)2, ?}]> : tensor<4xf32>
  return %v1, %v2, %v3, %v4, %v5 : tensor<4xf32>, tensor<4x8xf32>, tensor<16x2xf32>, tensor<4x4xf32>, tensor<4xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_18(
func.func @case_18(
    %a0: tensor<16x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "c"}p2, {?}]>},
    %a1: tensor<16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"b", ?}p0], replicated={"a"}>},
    %a2: tensor<2x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}p0, {?}]>})
    -> (tensor<16xf32>,
        tensor<16x2xf32>,
        tensor<16x16xf32>) {
  // CHECK: weft.reduce {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}]
  %v1 = weft.reduce sum %a1 dims = [0] : tensor<16x16xf32> -> tensor<16xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a", "c"}, {"b"}]
  %v2 = arith.addf %a1, %a1 : tensor<16x16xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}, {}]
  %v3 = weft.dot_general %v2, %a0 contracting = [0] x [0] : (tensor<16x16xf32>, tensor<16x2xf32>) -> tensor<16x2xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}, {}]
  %v4 = arith.addf %v3, %v3 : tensor<16x2xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}, {}]
  %v5 = weft.dot_general %v2, %v2 contracting = [0] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %v1, %v4, %v5 : tensor<16xf32>, tensor<16x2xf32>, tensor<16x16xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_19(
func.func @case_19(
    %a0: tensor<16xf32>,
    %a1: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}p1, {"c", ?}]>},
    %a2: tensor<16xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}]>})
    -> (tensor<16xf32>,
        tensor<8x8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {?}, {"a"}], replicated={"c"}>},
        tensor<8x8x8xf32>,
        tensor<16xf32>) {
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}]
  %v1 = arith.addf %a0, %a0 : tensor<16xf32>
  // CHECK: weft.broadcast {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {"a"}]
  %v2 = weft.broadcast %a1 dims = [0, 2] : tensor<8x8xf32> -> tensor<8x8x8xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}, {"a"}]
  %v3 = arith.addf %v2, %v2 : tensor<8x8x8xf32>
  // CHECK: weft.transpose {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {}, {}]
  %v4 = weft.transpose %v2 dims = [2, 0, 1] : tensor<8x8x8xf32> -> tensor<8x8x8xf32>
  // CHECK: arith.negf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}]
  %v5 = arith.negf %a2 : tensor<16xf32>
  return %v1, %v3, %v4, %v5 : tensor<16xf32>, tensor<8x8x8xf32>, tensor<8x8x8xf32>, tensor<16xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_20(
func.func @case_20(
    %a0: tensor<4x16xf32> {weft.sharding = #weft.sharding<@mesh, [{?}p2, {}]>},
    %a1: tensor<16x4xf32> {weft.sharding = #weft.sharding<@mesh, [{?}p1, {"c"}p0]>},
    %a2: tensor<2x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}, {}]>},
    %a3: tensor<4x16x2xf32> {weft.sharding = #weft.sharding<@mesh, [{?}p1, {?}p1, {"a"}]>})
    -> (tensor<16x2x16xf32>,
        tensor<16x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", ?}, {}]>},
        tensor<4x16x2xf32>) {
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"a"}, {}]
  %v1 = weft.dot_general %a3, %a1 contracting = [0] x [1] : (tensor<4x16x2xf32>, tensor<16x4xf32>) -> tensor<16x2x16xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a"}, {"c"}]
  %v2 = arith.addf %a1, %a1 : tensor<16x4xf32>
  // CHECK: weft.transpose {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c"}, {}, {"a"}]
  %v3 = weft.transpose %a3 dims = [0, 1, 2] : tensor<4x16x2xf32> -> tensor<4x16x2xf32>
  return %v1, %v2, %v3 : tensor<16x2x16xf32>, tensor<16x4xf32>, tensor<4x16x2xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_21(
func.func @case_21(
    %a0: tensor<16x4xf32>,
    %a1: tensor<16x4xf32>,
    %a2: tensor<4x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>},
    %a3: tensor<8x16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"b", ?}, {}], replicated={"c"}>})
    -> (tensor<8x16x8xf32>,
        tensor<4x16xf32> {weft.sharding = #weft.sharding<@mesh, [{?}p2, {}], replicated={"a", "b"}>},
        tensor<8x16x8xf32>) {
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"b"}, {}]
  %v1 = arith.addf %a3, %a3 : tensor<8x16x8xf32>
  // CHECK: weft.transpose {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {}]
  %v2 = weft.transpose %a1 dims = [1, 0] : tensor<16x4xf32> -> tensor<4x16xf32>
  // CHECK: weft.constraint {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c", "b"}, {}, {}]
  %v3 = weft.constraint %a3 <@mesh, [{"c", "b", ?}p1, {?}p2, {?}p0], replicated={"a"}> : tensor<8x16x8xf32>
  return %v1, %v2, %v3 : tensor<8x16x8xf32>, tensor<4x16xf32>, tensor<8x16x8xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_22(
func.func @case_22(
    %a0: tensor<4x8xf32>,
    %a1: tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"b", ?}p1, {"a", "c", ?}p2]>},
    %a2: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}], replicated={"b"}>},
    %a3: tensor<8xf32>)
    -> (tensor<4x8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{?}p2, {}, {}]>},
        tensor<8xf32>,
        tensor<8xf32>,
        tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}]
  %v1 = weft.dot_general %a3, %a1 contracting = [0] x [1] : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  // CHECK: weft.broadcast {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"b"}, {}]
  %v2 = weft.broadcast %a0 dims = [0, 1] : tensor<4x8xf32> -> tensor<4x8x8xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"b"}]
  %v3 = arith.addf %a2, %a3 : tensor<8xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"a", "c"}]
  %v4 = weft.dot_general %a1, %a3 contracting = [0] x [0] : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}]
  %v5 = weft.dot_general %v1, %a0 contracting = [0] x [1] : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
  return %v2, %v3, %v4, %v5 : tensor<4x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
// CHECK-LABEL: func.func @case_23(
func.func @case_23(
    %a0: tensor<16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"c"}p1]>},
    %a1: tensor<16x16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"c", "b"}, {?}p2, {"a", ?}]>},
    %a2: tensor<16xf32>)
    -> (tensor<16x16x16xf32>,
        tensor<16x16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}, {?}]>},
        tensor<16x16x16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{?}, {"c", ?}, {}, {}]>},
        tensor<16x16x16x16xf32>,
        tensor<16x16x16x16xf32>) {
  // CHECK: arith.negf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c", "b"}, {}, {"a"}]
  %v1 = arith.negf %a1 : tensor<16x16x16xf32>
  // CHECK: arith.addf {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c", "b"}, {}, {"a"}]
  %v2 = arith.addf %a1, %a1 : tensor<16x16x16xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{}, {"c"}, {}, {"a"}]
  %v3 = weft.dot_general %a1, %v2 contracting = [0] x [0] : (tensor<16x16x16xf32>, tensor<16x16x16xf32>) -> tensor<16x16x16x16xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c", "b"}, {"a"}, {}, {}]
  %v4 = weft.dot_general %v1, %a1 contracting = [1] x [0] : (tensor<16x16x16xf32>, tensor<16x16x16xf32>) -> tensor<16x16x16x16xf32>
  // CHECK: weft.dot_general {{.*}}weft.shardings = [#weft.sharding<@mesh, [{"c", "b"}, {"a"}, {}, {}]
  %v5 = weft.dot_general %v4, %a0 contracting = [2] x [1] : (tensor<16x16x16x16xf32>, tensor<16x16xf32>) -> tensor<16x16x16x16xf32>
  return %v1, %v2, %v3, %v4, %v5 : tensor<16x16x16xf32>, tensor<16x16x16xf32>, tensor<16x16x16x16xf32>, tensor<16x16x16x16xf32>, tensor<16x16x16x16xf32>
}
