// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A collective made of several says so, and the bytes and cause of each; a
// buffer that is mostly gradients counts as gradients.

// RUN: shard-compile %s -o %t.plan --target=none | FileCheck %s --match-full-lines --strict-whitespace
// RUN: shard-compile %s --combine-collectives=false -o %t.plan --target=none | FileCheck %s --check-prefix=APART

//      CHECK:entry step: 2 GEMMs, {{.*}}, 1 collective, 1 copy
// CHECK-NEXT:  collective  axes  bytes sent  count  cause
// CHECK-NEXT:  all_reduce  data       102 B      1  2 collectives in one:
// CHECK-NEXT:                                       96 B: partial sums over {"data"} of {{.*}}
// CHECK-NEXT:                                       6 B: partial sums over {"data"} of {{.*}}
// CHECK-NEXT:  102 bytes sent by a rank per call
//      CHECK:  step: 2 collectives in 1 call, which takes {{[0-9.]+}} us instead of {{[0-9.]+}} us

// APART: 2 collectives
// APART: all_reduce data {{.*}} 1 partial sums
// APART: all_reduce data {{.*}} 1 partial sums
// APART-NOT: in 1 call

weft.mesh @mesh = <["data"=4]>

func.func private @loss(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<f32> {
  %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %s = arith.mulf %y, %y : tensor<8x4xf32>
  %l = weft.reduce sum %s dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

func.func @step(
    %x: tensor<8x4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<4x4xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<f32> {weft.name = "loss"}, tensor<4x4xf32> {weft.name = "w"}) {
  %g:2 = weft.value_and_grad @loss(%x, %w) wrt = [1]
      : (tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>)
  %n = arith.subf %w, %g#1 : tensor<4x4xf32>
  return %g#0, %n : tensor<f32>, tensor<4x4xf32>
}
