// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-inline-calls --split-input-file | FileCheck %s
// RUN: shard-opt %s --weft-inline-calls --split-input-file --mlir-print-debuginfo | FileCheck %s --check-prefix=PLACE

// Calls within called functions, and one function called twice.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>)
// PLACE-LABEL: func.func @step(
func.func @step(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = arith.negf %[[X]]
  // CHECK-NEXT: %[[B:.*]] = arith.addf %[[A]], %[[X]]
  // CHECK-NEXT: %[[C:.*]] = arith.negf %[[B]]
  // CHECK-NEXT: return %[[C]], %[[X]]
  // PLACE: arith.negf %{{.*}} loc(#[[NEGATED:.*]])
  %y:2 = call @twice(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %z = call @negate(%y#0) : (tensor<4xf32>) -> tensor<4xf32>
  return %z, %y#1 : tensor<4xf32>, tensor<4xf32>
}
// CHECK: func.func private @twice
func.func private @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = call @negate(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %s = arith.addf %n, %x : tensor<4xf32>
  return %s, %x : tensor<4xf32>, tensor<4xf32>
}
// CHECK: func.func private @negate
func.func private @negate(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = arith.negf %x : tensor<4xf32>
  return %n : tensor<4xf32>
}
// PLACE: #[[NEGATED]] = loc(callsite(

// -----

// Shardings of a private function are constraints where it is called; those of
// an entry stay.

weft.mesh @mesh = <["x"=2]>
// CHECK-LABEL: func.func @entry(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>})
func.func @entry(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  // CHECK-NEXT: %[[IN:.*]] = weft.constraint %[[X]] <@mesh, [{}]>
  // CHECK-NEXT: %[[R:.*]] = arith.negf %[[IN]]
  // CHECK-NEXT: %[[OUT:.*]] = weft.constraint %[[R]] <@mesh, [{"x"}]>
  // CHECK-NEXT: return %[[OUT]]
  %r = call @gathered(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
// CHECK: func.func private @gathered(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
func.func private @gathered(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) {
  %r = arith.negf %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Nothing to do.

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: arith.negf
func.func @plain(%x: tensor<4xf32>) {
  %r = arith.negf %x : tensor<4xf32>
  return
}
