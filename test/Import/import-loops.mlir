// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// A loop whose condition is computed, and bounded by a counter, is unrolled to
// its bound. What an iteration makes is selected if the loop goes on that far.

// CHECK-LABEL: func.func @bounded
// CHECK-SAME: %[[X0:.*]]: tensor<f32> {{.*}}, %[[LIMIT:.*]]: tensor<f32>
func.func @bounded(%x: tensor<f32>, %limit: tensor<f32>) -> (tensor<i32>, tensor<f32>) {
  // CHECK: %[[P0:.*]] = arith.cmpf olt, %[[X0]], %[[LIMIT]]
  // CHECK: %[[SIN0:.*]] = math.sin %[[X0]]
  // CHECK: %[[N1:.*]] = arith.select %[[P0]], %{{.*}}, %{{.*}} : tensor<i1>, tensor<i32>
  // CHECK: %[[X1:.*]] = arith.select %[[P0]], %[[SIN0]], %[[X0]]
  // CHECK: %[[Q1:.*]] = arith.cmpf olt, %[[X1]], %[[LIMIT]]
  // CHECK: %[[SIN1:.*]] = math.sin %[[X1]]
  // CHECK: %[[P1:.*]] = arith.andi %[[P0]], %[[Q1]]
  // CHECK: %[[N2:.*]] = arith.select %[[P1]], %{{.*}}, %[[N1]]
  // CHECK: %[[X2:.*]] = arith.select %[[P1]], %[[SIN1]], %[[X1]]
  // CHECK-NOT: math.sin
  // CHECK: return %[[N2]], %[[X2]]
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %r:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %v: tensor<f32>):
    %two = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %more = "stablehlo.compare"(%i, %two) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %less = "stablehlo.compare"(%v, %limit) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %both = "stablehlo.and"(%more, %less) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%both) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<f32>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %i2 = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %v2 = "stablehlo.sine"(%v) : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%i2, %v2) : (tensor<i32>, tensor<f32>) -> ()
  }) : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
  return %r#0, %r#1 : tensor<i32>, tensor<f32>
}

// As jax.vmap has it, the loop goes on while any example does: each one counts
// for itself.

// CHECK-LABEL: func.func @examples
// CHECK-SAME: %[[X0:.*]]: tensor<4xf32> {{.*}}, %[[LIMIT:.*]]: tensor<4xf32>
func.func @examples(%x: tensor<4xf32>, %limit: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[SIN0:.*]] = math.sin %[[X0]]
  // CHECK: %[[P0:.*]] = arith.cmpf olt, %[[X0]], %[[LIMIT]]
  // CHECK: %[[X1:.*]] = arith.select %[[P0]], %[[SIN0]], %[[X0]]
  // CHECK: %[[SIN1:.*]] = math.sin %[[X1]]
  // CHECK: %[[Q1:.*]] = arith.cmpf olt, %[[X1]], %[[LIMIT]]
  // CHECK: %[[P1:.*]] = arith.andi %[[P0]], %[[Q1]]
  // CHECK: %[[X2:.*]] = arith.select %[[P1]], %[[SIN1]], %[[X1]]
  // CHECK-NOT: math.sin
  // CHECK: return %[[X2]]
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<4xi32>}> : () -> tensor<4xi32>
  %false = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
  %r:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<4xi32>, %v: tensor<4xf32>):
    %two = "stablehlo.constant"() <{value = dense<2> : tensor<4xi32>}> : () -> tensor<4xi32>
    %more = "stablehlo.compare"(%i, %two) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %less = "stablehlo.compare"(%v, %limit) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %both = "stablehlo.and"(%more, %less) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %any = "stablehlo.reduce"(%both, %false) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %or = "stablehlo.or"(%a, %b) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%or) : (tensor<i1>) -> ()
    }) : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%any) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<4xi32>, %v: tensor<4xf32>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<4xi32>}> : () -> tensor<4xi32>
    %i2 = "stablehlo.add"(%i, %one) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %v2 = "stablehlo.sine"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    %two = "stablehlo.constant"() <{value = dense<2> : tensor<4xi32>}> : () -> tensor<4xi32>
    %more = "stablehlo.compare"(%i, %two) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %less = "stablehlo.compare"(%v, %limit) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %both = "stablehlo.and"(%more, %less) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %i3 = "stablehlo.select"(%both, %i2, %i) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %v3 = "stablehlo.select"(%both, %v2, %v) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%i3, %v3) : (tensor<4xi32>, tensor<4xf32>) -> ()
  }) : (tensor<4xi32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return %r#1 : tensor<4xf32>
}

// A stack that such a loop writes is no copy for each iteration.

// CHECK-LABEL: func.func @history
func.func @history(%x: tensor<1xf32>, %limit: tensor<f32>) -> tensor<2xf32> {
  // CHECK: %[[P:.*]] = arith.cmpf
  // CHECK-COUNT-2: arith.select {{.*}} : tensor<1xi1>, tensor<1xf32>
  // CHECK: weft.concat
  // CHECK-NOT: weft.concat
  // CHECK: return
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %none = "stablehlo.constant"() <{value = dense<0.0> : tensor<2xf32>}> : () -> tensor<2xf32>
  %r:2 = "stablehlo.while"(%zero, %none) ({
  ^bb0(%i: tensor<i32>, %s: tensor<2xf32>):
    %two = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %more = "stablehlo.compare"(%i, %two) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %less = "stablehlo.compare"(%one, %limit) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %both = "stablehlo.and"(%more, %less) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%both) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %s: tensor<2xf32>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %i2 = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %s2 = "stablehlo.dynamic_update_slice"(%s, %x, %i) : (tensor<2xf32>, tensor<1xf32>, tensor<i32>) -> tensor<2xf32>
    "stablehlo.return"(%i2, %s2) : (tensor<i32>, tensor<2xf32>) -> ()
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return %r#1 : tensor<2xf32>
}

// A bound may be computed, if it cannot be large; and both branches may count.

// CHECK-LABEL: func.func @computed_bound
func.func @computed_bound(%n: tensor<i32>, %p: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  // CHECK-COUNT-2: math.sin
  // CHECK-NOT: math.sin
  // CHECK: return
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %two = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
  %most = "stablehlo.minimum"(%n, %two) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %r:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %v: tensor<f32>):
    %more = "stablehlo.compare"(%i, %most) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%more) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<f32>):
    %i2 = "stablehlo.if"(%p) ({
      %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %a = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%a) : (tensor<i32>) -> ()
    }, {
      %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %a = "stablehlo.add"(%one, %i) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%a) : (tensor<i32>) -> ()
    }) : (tensor<i1>) -> tensor<i32>
    %v2 = "stablehlo.sine"(%v) : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%i2, %v2) : (tensor<i32>, tensor<f32>) -> ()
  }) : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
  return %r#1, %r#0 : tensor<f32>, tensor<i32>
}

// The loop ends when it is done or has failed: in the second iteration it has
// failed if it is not done.

// CHECK-LABEL: func.func @done_or_failed
func.func @done_or_failed(%x: tensor<f32>, %limit: tensor<f32>) -> tensor<f32> {
  // CHECK-COUNT-2: math.sin
  // CHECK-NOT: math.sin
  // CHECK: return
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %false = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
  %r:4 = "stablehlo.while"(%zero, %x, %false, %false) ({
  ^bb0(%i: tensor<i32>, %v: tensor<f32>, %done: tensor<i1>, %failed: tensor<i1>):
    %either = "stablehlo.or"(%done, %failed) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %more = "stablehlo.not"(%either) : (tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%more) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<f32>, %done: tensor<i1>, %failed: tensor<i1>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %two = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %i2 = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %v2 = "stablehlo.sine"(%v) : (tensor<f32>) -> tensor<f32>
    %done2 = "stablehlo.compare"(%v2, %limit) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %last = "stablehlo.compare"(%i2, %two) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %not = "stablehlo.not"(%done2) : (tensor<i1>) -> tensor<i1>
    %failed2 = "stablehlo.and"(%last, %not) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%i2, %v2, %done2, %failed2) : (tensor<i32>, tensor<f32>, tensor<i1>, tensor<i1>) -> ()
  }) : (tensor<i32>, tensor<f32>, tensor<i1>, tensor<i1>) -> (tensor<i32>, tensor<f32>, tensor<i1>, tensor<i1>)
  return %r#1 : tensor<f32>
}

// Euclid's algorithm takes at most 14 iterations with numbers of 8 bits; of
// the last one no remainder is used.

// CHECK-LABEL: func.func @common_divisor
// CHECK-SAME: %[[X:.*]]: tensor<i8> {{.*}}, %[[Y:.*]]: tensor<i8>
func.func @common_divisor(%x: tensor<i8>, %y: tensor<i8>) -> tensor<i8> {
  // CHECK: %[[P:.*]] = arith.cmpi ne, %[[Y]], %{{.*}}
  // CHECK: %[[REST:.*]] = arith.remsi %[[X]], %[[Y]]
  // CHECK: %[[X1:.*]] = arith.select %[[P]], %[[Y]], %[[X]]
  // CHECK: %[[Y1:.*]] = arith.select %[[P]], %[[REST]], %[[Y]]
  // CHECK-COUNT-12: arith.remsi
  // CHECK-NOT: arith.remsi
  // CHECK: return
  %r:2 = "stablehlo.while"(%x, %y) ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i8>}> : () -> tensor<i8>
    %more = "stablehlo.compare"(%b, %zero) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<i8>, tensor<i8>) -> tensor<i1>
    "stablehlo.return"(%more) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %rest = "stablehlo.remainder"(%a, %b) : (tensor<i8>, tensor<i8>) -> tensor<i8>
    "stablehlo.return"(%b, %rest) : (tensor<i8>, tensor<i8>) -> ()
  }) : (tensor<i8>, tensor<i8>) -> (tensor<i8>, tensor<i8>)
  return %r#0 : tensor<i8>
}
