// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// lax.scan: a layer an iteration, keeping its input for another loop that runs
// backwards. The stack of what was kept does not exist.

// CHECK-LABEL: func.func @scan
// CHECK-SAME: %[[W:.*]]: tensor<2x8xf32> {{.*}}, %[[X:.*]]: tensor<8xf32>
func.func @scan(%w: tensor<2x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[ROW0:.*]] = weft.slice %[[W]] starts = [0, 0] limits = [1, 8]
  // CHECK: %[[W0:.*]] = weft.reshape %[[ROW0]]
  // CHECK: %[[X1:.*]] = arith.mulf %[[X]], %[[W0]]
  // CHECK: %[[ROW1:.*]] = weft.slice %[[W]] starts = [1, 0] limits = [2, 8]
  // CHECK: %[[W1:.*]] = weft.reshape %[[ROW1]]
  // CHECK: %[[X2:.*]] = arith.mulf %[[X1]], %[[W1]]
  // CHECK: %[[Y1:.*]] = arith.addf %[[X2]], %[[X1]]
  // CHECK: %[[Y0:.*]] = arith.addf %[[Y1]], %[[X]]
  // CHECK: return %[[Y0]]
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %stack = "stablehlo.constant"() <{value = dense<0.0> : tensor<2x8xf32>}> : () -> tensor<2x8xf32>
  %f:3 = "stablehlo.while"(%zero, %x, %stack) ({
  ^bb0(%i: tensor<i32>, %v: tensor<8xf32>, %s: tensor<2x8xf32>):
    %two = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %more = "stablehlo.compare"(%i, %two) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%more) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<8xf32>, %s: tensor<2x8xf32>):
    %c0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %row = "stablehlo.dynamic_slice"(%w, %i, %c0) <{slice_sizes = array<i64: 1, 8>}> : (tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %wi = "stablehlo.reshape"(%row) : (tensor<1x8xf32>) -> tensor<8xf32>
    %kept = "stablehlo.broadcast_in_dim"(%v) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>) -> tensor<1x8xf32>
    %s2 = "stablehlo.dynamic_update_slice"(%s, %kept, %i, %c0) : (tensor<2x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
    %v2 = "stablehlo.multiply"(%v, %wi) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %i2 = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%i2, %v2, %s2) : (tensor<i32>, tensor<8xf32>, tensor<2x8xf32>) -> ()
  }) : (tensor<i32>, tensor<8xf32>, tensor<2x8xf32>) -> (tensor<i32>, tensor<8xf32>, tensor<2x8xf32>)
  %b:2 = "stablehlo.while"(%zero, %f#1) ({
  ^bb0(%i: tensor<i32>, %v: tensor<8xf32>):
    %two = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %more = "stablehlo.compare"(%i, %two) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%more) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<8xf32>):
    %c0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %last = "stablehlo.subtract"(%one, %i) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %row = "stablehlo.dynamic_slice"(%f#2, %last, %c0) <{slice_sizes = array<i64: 1, 8>}> : (tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %kept = "stablehlo.reshape"(%row) : (tensor<1x8xf32>) -> tensor<8xf32>
    %v2 = "stablehlo.add"(%v, %kept) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %i2 = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%i2, %v2) : (tensor<i32>, tensor<8xf32>) -> ()
  }) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>)
  return %b#1 : tensor<8xf32>
}

// A stack that is used as a whole is written once.

// CHECK-LABEL: func.func @stack
func.func @stack(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>, %old: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-DAG: %[[FIRST:.*]] = weft.slice %arg2 starts = [0, 0] limits = [1, 4]
  // CHECK-DAG: %[[LAST:.*]] = weft.slice %arg2 starts = [3, 0] limits = [4, 4]
  // CHECK: %[[ALL:.*]] = weft.concat %[[FIRST]], %arg1, %arg0, %[[LAST]] dim = 0
  // CHECK-NOT: weft.concat
  // CHECK: return %[[ALL]]
  %c0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %c1 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %c2 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
  %0 = "stablehlo.dynamic_update_slice"(%old, %x, %c1, %c0) : (tensor<4x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
  %1 = "stablehlo.dynamic_update_slice"(%0, %x, %c2, %c0) : (tensor<4x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
  // Written over.
  %2 = "stablehlo.dynamic_update_slice"(%1, %y, %c1, %c0) : (tensor<4x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @branches
func.func @branches(%p: tensor<i1>, %n: tensor<i32>, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // A branch on a constant is taken.
  // CHECK: %[[SIN:.*]] = math.sin %arg2
  // CHECK-NOT: arith.select
  %c1 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %0 = "stablehlo.case"(%c1) ({
    %a = "stablehlo.cosine"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    "stablehlo.return"(%a) : (tensor<8xf32>) -> ()
  }, {
    %a = "stablehlo.sine"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    "stablehlo.return"(%a) : (tensor<8xf32>) -> ()
  }) : (tensor<i32>) -> tensor<8xf32>
  // Another is computed on both sides.
  // CHECK: %[[EXP:.*]] = math.exp %arg2
  // CHECK: %[[P:.*]] = weft.broadcast %arg0
  // CHECK: %[[IF:.*]] = arith.select %[[P]], %[[EXP]], %arg2
  %1 = "stablehlo.if"(%p) ({
    %a = "stablehlo.exponential"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    "stablehlo.return"(%a) : (tensor<8xf32>) -> ()
  }, {
    "stablehlo.return"(%x) : (tensor<8xf32>) -> ()
  }) : (tensor<i1>) -> tensor<8xf32>
  // CHECK: %[[TANH:.*]] = math.tanh %arg2
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %arg1
  // CHECK: %[[N:.*]] = weft.broadcast %[[FIRST]]
  // CHECK: %[[CASE:.*]] = arith.select %[[N]], %arg2, %[[TANH]]
  %2 = "stablehlo.case"(%n) ({
    "stablehlo.return"(%x) : (tensor<8xf32>) -> ()
  }, {
    %a = "stablehlo.tanh"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    "stablehlo.return"(%a) : (tensor<8xf32>) -> ()
  }) : (tensor<i32>) -> tensor<8xf32>
  // CHECK: return %[[SIN]], %[[IF]], %[[CASE]]
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// What is behind a barrier is there after the operand that is computed last;
// constants always are.

// CHECK-LABEL: func.func @barrier
func.func @barrier(%x: tensor<8xf32>, %w: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[FIRST:.*]] = math.absf %arg0
  // CHECK: %[[LAST:.*]] = math.tanh %[[FIRST]]
  // CHECK: %[[W:.*]] = weft.barrier %arg1 after %[[LAST]]
  // CHECK: %[[F:.*]] = weft.barrier %[[FIRST]] after %[[LAST]]
  // CHECK-NOT: weft.barrier
  // CHECK: %[[SUM:.*]] = arith.addf %[[W]], %[[F]]
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %[[LAST]], %{{.*}}
  // CHECK: return %[[SUM]], %[[PRODUCT]]
  %c = "stablehlo.constant"() <{value = dense<2.0> : tensor<8xf32>}> : () -> tensor<8xf32>
  %first = "stablehlo.abs"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %last = "stablehlo.tanh"(%first) : (tensor<8xf32>) -> tensor<8xf32>
  %0:4 = "stablehlo.optimization_barrier"(%w, %last, %first, %c) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %1 = "stablehlo.add"(%0#0, %0#2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = "stablehlo.multiply"(%0#1, %0#3) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// Where the Python package cuts a model into stages, on the way forward and back.

// CHECK-LABEL: func.func @boundaries
func.func @boundaries(%x: tensor<8xf32>, %c: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[Y:.*]] = weft.stage_boundary %arg0 : tensor<8xf32>
  // CHECK-NEXT: %[[D:.*]] = weft.stage_boundary %arg1 of %[[Y]] : tensor<8xf32> of tensor<8xf32>
  // CHECK-NEXT: return %[[Y]], %[[D]]
  %y = "stablehlo.composite"(%x) <{name = "weft.stage_boundary", decomposition = @same}> : (tensor<8xf32>) -> tensor<8xf32>
  %d = "stablehlo.composite"(%c, %y) <{name = "weft.stage_boundary_back", decomposition = @first}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y, %d : tensor<8xf32>, tensor<8xf32>
}
func.func private @same(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
func.func private @first(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// What only keeps others from propagating shardings is left out; a composite is
// what its function does.

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[TANH:.*]] = math.tanh %arg0
  // CHECK-NEXT: %[[ABS:.*]] = math.absf %[[TANH]]
  // CHECK-NEXT: return %[[ABS]]
  %0:2 = "stablehlo.optimization_barrier"(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %1 = "stablehlo.composite"(%0#1) <{name = "lib.tanh", decomposition = @tanh_of, version = 1 : i32, composite_attributes = {}}> : (tensor<8xf32>) -> tensor<8xf32>
  %2 = "sdy.named_computation"(%1) <{name = "last"}> ({
  ^bb0(%y: tensor<8xf32>):
    %a = "stablehlo.abs"(%y) : (tensor<8xf32>) -> tensor<8xf32>
    "sdy.return"(%a) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = "sdy.propagation_barrier"(%2) <{allowed_direction = 1 : i32}> : (tensor<8xf32>) -> tensor<8xf32>
  // A device that is a group of its own has nobody to add to.
  %4 = "stablehlo.all_reduce"(%3) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}
func.func private @tanh_of(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.tanh"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
