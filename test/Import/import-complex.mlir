// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo | FileCheck %s

// A complex value is two real ones.

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = "stablehlo.complex"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<2.000000e+00>
  // CHECK-DAG: %[[D:.*]] = arith.constant dense<3.000000e+00>
  %c = "stablehlo.constant"() <{value = dense<(2.0, 3.0)> : tensor<4xcomplex<f32>>}> : () -> tensor<4xcomplex<f32>>
  // CHECK-DAG: %[[AC:.*]] = arith.mulf %arg0, %[[C]]
  // CHECK-DAG: %[[BD:.*]] = arith.mulf %arg1, %[[D]]
  // CHECK-DAG: %[[REAL:.*]] = arith.subf %[[AC]], %[[BD]]
  // CHECK-DAG: %[[AD:.*]] = arith.mulf %arg0, %[[D]]
  // CHECK-DAG: %[[BC:.*]] = arith.mulf %arg1, %[[C]]
  // CHECK-DAG: %[[IMAG:.*]] = arith.addf %[[AD]], %[[BC]]
  %p = "stablehlo.multiply"(%z, %c) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  // CHECK-DAG: %[[SIZE:.*]] = math.exp %[[REAL]]
  // CHECK-DAG: %[[COS:.*]] = math.cos %[[IMAG]]
  // CHECK-DAG: %[[X:.*]] = arith.mulf %[[SIZE]], %[[COS]]
  // CHECK-DAG: %[[SIN:.*]] = math.sin %[[IMAG]]
  // CHECK-DAG: %[[Y:.*]] = arith.mulf %[[SIZE]], %[[SIN]]
  %e = "stablehlo.exponential"(%p) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %x = "stablehlo.real"(%e) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %y = "stablehlo.imag"(%e) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  // CHECK: return %[[X]], %[[Y]]
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}

// Calls, loops and branches take and return both.

// CHECK-LABEL: func.func @passed_on
// CHECK-COUNT-2: arith.select
// CHECK: return
func.func private @twice(%z: tensor<4xcomplex<f32>>, %n: tensor<i1>) -> (tensor<4xcomplex<f32>>, tensor<i1>) {
  %s = "stablehlo.add"(%z, %z) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %s, %n : tensor<4xcomplex<f32>>, tensor<i1>
}
func.func @passed_on(%a: tensor<4xf32>, %n: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = "stablehlo.complex"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %t:2 = func.call @twice(%z, %n) : (tensor<4xcomplex<f32>>, tensor<i1>) -> (tensor<4xcomplex<f32>>, tensor<i1>)
  %c = "stablehlo.if"(%t#1) ({
    "stablehlo.return"(%t#0) : (tensor<4xcomplex<f32>>) -> ()
  }, {
    "stablehlo.return"(%z) : (tensor<4xcomplex<f32>>) -> ()
  }) : (tensor<i1>) -> tensor<4xcomplex<f32>>
  %x = "stablehlo.real"(%c) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %y = "stablehlo.imag"(%c) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}

// A sharding is that of both.

// CHECK-LABEL: func.func @sharded
// CHECK-COUNT-2: weft.constraint {{.*}} [{"x"}]
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "mesh"}> : () -> ()
func.func @sharded(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = "stablehlo.complex"(%a, %a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %x = "stablehlo.real"(%z) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %y = "stablehlo.imag"(%z) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}

// A transform is two products with matrices of a real operand, and a slice;
// that of a long dimension is one of its columns, a turn, and one of its rows.

// CHECK-LABEL: func.func @short_transform
// CHECK-COUNT-2: weft.dot_general {{.*}}(tensor<2x6xf32>, tensor<6x6xf32>
// CHECK-NOT: weft.dot_general
func.func @short_transform(%a: tensor<2x6xf32>) -> tensor<2x4xf32> {
  %z = "stablehlo.fft"(%a) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<2x6xf32>) -> tensor<2x4xcomplex<f32>>
  %x = "stablehlo.abs"(%z) : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
  return %x : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @long_transform
// CHECK-COUNT-2: weft.dot_general {{.*}}(tensor<2x10x12xf32>, tensor<10x10xf32>
// CHECK-COUNT-4: weft.dot_general {{.*}}(tensor<2x10x12xf32>, tensor<12x12xf32>
// CHECK-NOT: weft.dot_general
func.func @long_transform(%a: tensor<2x120xf32>) -> tensor<2x61xf32> {
  %z = "stablehlo.fft"(%a) <{fft_length = array<i64: 120>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<2x120xf32>) -> tensor<2x61xcomplex<f32>>
  %x = "stablehlo.abs"(%z) : (tensor<2x61xcomplex<f32>>) -> tensor<2x61xf32>
  return %x : tensor<2x61xf32>
}
